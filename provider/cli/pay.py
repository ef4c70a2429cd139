"""`provider pay`: buy a call as an agent would."""

import json
import os
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import click
import requests
from rich.console import Console
from rich.syntax import Syntax
from stellar_sdk import Keypair
from stellar_sdk.exceptions import Ed25519SecretSeedInvalidError

from provider.client import Buyer, Purchase
from provider.client.errors import NoAnswer
from provider.networks import token_units

DEV_JSON = Path(".provider/dev.json")
FAILED, UNDECIDED = 1, 3


class Price(click.ParamType[Decimal]):
    """A decimal amount of USDC."""

    name = "usdc"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        try:
            return Decimal(value)
        except InvalidOperation:
            self.fail(f"{value!r} is not an amount", param, ctx)


@click.command("pay")
@click.argument("url")
@click.option("--data", help="JSON of the call, or @FILE; without it the call is a GET.")
@click.option("--secret-env", metavar="NAME", help="Variable that holds the buyer's secret seed (S…).")
@click.option(
    "--dev-json",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"File that `provider dev` wrote. Default, without --secret-env: {DEV_JSON}.",
)
@click.option("--rpc", "rpc_url", help="Stellar RPC. Default: the one in the file.")
@click.option("--wait", default=120, show_default=True, help="Seconds to wait for the job.")
@click.option("--max-price", type=Price(), default="1", show_default=True, help="Most USDC to pay.")
@click.option("--network", default="stellar:testnet", show_default=True, help="Network to pay on.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    url: str,
    data: str | None,
    secret_env: str | None,
    dev_json: Path | None,
    rpc_url: str | None,
    wait: int,
    max_price: Decimal,
    network: str,
    as_json: bool,
) -> None:
    """Call the service at URL, pay what it asks, and print the output.

    One payment is signed for a call, however often it has to be sent. A URL that starts with "/" is one of
    `provider dev`. Exit status: 0 the job succeeded, 1 it failed or was refused, 3 it is not decided yet.
    """
    given = _dev_settings(dev_json, required=secret_env is None)
    buyer = Buyer(
        _keypair(secret_env, given),
        _rpc_url(rpc_url, given),
        max_price=max_price,
        networks=(network,),
        ledger_seconds=float(given.get("ledger_seconds", 5)),
        session=_session(),
    )
    target = _target(url, given)
    try:
        purchase = buyer.buy(target, _body(data), wait=wait)
    except NoAnswer as error:
        click.echo(f"{error.detail} The payment may be used; send it again with this header:", err=True)
        click.echo(f"PAYMENT-SIGNATURE: {error.header}", err=True)
        ctx.exit(UNDECIDED)
    click.echo(json.dumps(_as_json(purchase), indent=2)) if as_json else _show(purchase)
    ctx.exit(_status(purchase))


def _dev_settings(path: Path | None, *, required: bool) -> dict[str, Any]:
    path = path or DEV_JSON
    if not path.exists():
        if not required:
            return {}
        raise click.UsageError(f"{path} is not there: start `provider dev`, or give --secret-env and --rpc.")
    settings = json.loads(path.read_text(encoding="utf-8"))
    return settings if isinstance(settings, dict) else {}


def _target(url: str, given: dict[str, Any]) -> str:
    if url.startswith("/") and "web_url" in given:
        return str(given["web_url"]) + url
    if not url.startswith(("http://", "https://")):
        raise click.BadParameter(
            f"{url!r} begins with none of http://, https:// and, for `provider dev`, /", param_hint="URL"
        )
    return url


def _keypair(variable: str | None, given: dict[str, Any]) -> Keypair:
    secret = os.environ.get(variable, "") if variable else str(given.get("buyer_secret", ""))
    try:
        return Keypair.from_secret(secret.strip())
    except (Ed25519SecretSeedInvalidError, ValueError):
        raise click.UsageError(f"{variable or 'buyer_secret'} holds no Stellar secret seed (S…).") from None


def _rpc_url(url: str | None, given: dict[str, Any]) -> str:
    found = url or given.get("rpc_url")
    if not found:
        raise click.UsageError("Give --rpc, the URL of a Stellar RPC.")
    return str(found)


def _body(data: str | None) -> Any:
    if data is None:
        return None
    try:
        text = Path(data[1:]).read_text(encoding="utf-8") if data.startswith("@") else data
        return json.loads(text)
    except OSError as error:
        raise click.BadParameter(f"{data[1:]}: {error.strerror}", param_hint="--data") from None
    except ValueError as error:
        raise click.BadParameter(f"not JSON: {error}", param_hint="--data") from None


def _session() -> requests.Session:
    session = requests.Session()
    session.headers["User-Agent"] = "provider-pay"
    return session


def _status(purchase: Purchase) -> int:
    if not purchase.final:
        return UNDECIDED
    return 0 if purchase.succeeded else FAILED


def _as_json(purchase: Purchase) -> dict[str, Any]:
    offer = purchase.offer
    return {
        "status": purchase.status,
        "price": token_units(offer.amount) if offer else None,
        "transaction": purchase.transaction,
        "location": purchase.location,
        "answer": purchase.body,
    }


def _show(purchase: Purchase) -> None:
    """Output to standard output, everything about it to standard error."""
    told = Console(stderr=True, highlight=False)
    job = purchase.job
    if purchase.offer is None:
        told.print("[bold]No payment was asked.[/bold]")
        _print_json(purchase.body)
        return
    state = str(job.get("status", "unknown"))
    told.print(f"[bold]{state}[/bold]  {token_units(purchase.offer.amount)} USDC  job {job.get('id', '?')}")
    told.print(f"transaction {purchase.transaction or ('none' if purchase.final else 'none so far')}")
    if purchase.succeeded:
        _print_json(purchase.output)
        return
    error = job.get("error")
    if isinstance(error, dict):
        charged = "charged" if error.get("charged") else "not charged"
        told.print(f"[red]{error.get('code')}[/red]: {error.get('message')} ({charged})", markup=True)
    elif not purchase.final:
        told.print(f"Not final yet; look at {purchase.location}", soft_wrap=True)


def _print_json(value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False)
    console = Console()
    console.print(Syntax(text, "json", background_color="default")) if console.is_terminal else click.echo(
        text
    )
