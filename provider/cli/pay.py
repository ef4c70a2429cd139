"""`provider pay`: buy a call as an agent would."""

import json
import os
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import click
from stellar_sdk import Keypair
from stellar_sdk.exceptions import Ed25519SecretSeedInvalidError

from provider.cli import _bought
from provider.client import Buyer, BuyerError, Delivery, Limits, Payment, Quote, Undecided
from provider.client.limits import origin_of
from provider.client.reading import printable

DEV_JSON = Path(".provider/dev.json")
JOURNAL = "payments.jsonl"


class Price(click.ParamType[Decimal]):
    """A decimal amount of USDC."""

    name = "usdc"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        try:
            amount = Decimal(value)
        except InvalidOperation:
            amount = Decimal("NaN")
        if not amount.is_finite() or amount < 0:
            self.fail(f"{value!r} is not an amount", param, ctx)
        return amount


@click.command("pay")
@click.argument("url", required=False)
@click.option("--data", help="JSON of the call, or @FILE; without it the call is a GET.")
@click.option("--secret-env", metavar="NAME", help="Variable that holds the buyer's secret seed (S…).")
@click.option(
    "--dev-json",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"File that `provider dev` wrote. Default, without --secret-env: {DEV_JSON}.",
)
@click.option("--rpc", "rpc_url", help="Stellar RPC. Default: the one in the file.")
@click.option("--network", default="stellar:testnet", show_default=True, help="Network to pay on.")
@click.option("--wait", default=120, show_default=True, help="Seconds to wait for the result.")
@click.option("--max-price", type=Price(), default="1", show_default=True, help="Most USDC for this call.")
@click.option("--day-budget", type=Price(), help="Most USDC for all payments of the journal within 24 hours.")
@click.option("--budget", type=Price(), help="Most USDC for all payments of the journal together.")
@click.option("--payee", "payees", multiple=True, help="Pay this account or contract only; may be repeated.")
@click.option("--ask", is_flag=True, help="Ask before the payment is signed.")
@click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"File of all payments. Default: {JOURNAL} beside what `provider dev` wrote, or in ~/.local/state.",
)
@click.option(
    "--receipt",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to which receipt and answer are added, as a line of JSON.",
)
@click.option("--resume", is_flag=True, help="Go on with the open payments of the journal; pays nothing new.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    url: str | None,
    data: str | None,
    secret_env: str | None,
    dev_json: Path | None,
    rpc_url: str | None,
    network: str,
    wait: int,
    max_price: Decimal,
    day_budget: Decimal | None,
    budget: Decimal | None,
    payees: tuple[str, ...],
    ask: bool,
    journal: Path | None,
    receipt: Path | None,
    resume: bool,
    as_json: bool,
) -> None:
    """Call the service at URL, pay what it asks, and print what it delivers.

    Any seller on x402 and Stellar will do; a URL that starts with "/" is one of `provider dev`. One payment
    is signed for a call, however often it has to be sent, and is in the journal before it leaves.

    Exit status: 0 delivered; 1 nothing was paid; 2 wrong arguments; 3 not known yet whether it is paid, and 4
    paid, without a result that can be read: --resume asks again, with the same payment.
    """
    if url is None and not resume:
        raise click.UsageError("Give the URL to call, or --resume.")
    given = _dev_settings(dev_json, required=secret_env is None)
    approve = _approve if ask else None
    buyer = Buyer(
        _keypair(secret_env, given),
        _rpc_url(rpc_url, given),
        network=network,
        journal=_journal(journal, given),
        receipts=receipt,
        ledger_seconds=given.get("ledger_seconds"),
        limits=Limits(per_call=max_price, per_day=day_budget, total=budget, payees=payees, approve=approve),
    )
    target = None if url is None else _target(url, given)
    if resume:
        outcomes = [_run(buyer.resume, payment, wait) for payment in _open(buyer, target)]
        click.echo("No payment is open.", err=True) if not outcomes else None
    else:
        outcomes = [_run(buyer.buy, target, wait, input=_input(data))]
    if as_json:
        shown = [_bought.as_json(outcome) for outcome in outcomes]
        click.echo(json.dumps(shown if resume else shown[0], indent=2))
    else:
        for outcome in outcomes:
            _bought.show(outcome)
    ctx.exit(max(map(_bought.exit_status, outcomes), default=0))


def _run(call: Callable[..., Delivery], what: Any, wait: float, **options: Any) -> _bought.Outcome:
    """Buy or resume, with progress shown meanwhile; errors of a purchase are outcomes, too."""
    waiting = _bought.Waiting()
    try:
        return call(what, wait=wait, on_progress=waiting, **options)
    except BuyerError as error:
        return error
    except KeyboardInterrupt:
        return Undecided("Interrupted. What was signed is in the journal, if anything was: see --resume.")
    finally:
        waiting.stop()


def _open(buyer: Buyer, target: str | None) -> Iterator[Payment]:
    for payment in buyer.open_payments():
        if target in (None, payment.url):
            click.echo(f"{payment.method} {payment.url}, {payment.price} USDC, {payment.id}", err=True)
            yield payment


def _approve(quote: Quote) -> bool:
    about = f" ({printable(quote.description, 200)})" if quote.description else ""
    return click.confirm(f"Pay {quote.price} USDC to {quote.offer.pay_to} for {quote.url}{about}?", err=True)


def _dev_settings(path: Path | None, *, required: bool) -> dict[str, Any]:
    path = path or DEV_JSON
    if not path.exists():
        if not required:
            return {}
        raise click.UsageError(f"{path} is not there: start `provider dev`, or give --secret-env and --rpc.")
    settings = json.loads(path.read_text(encoding="utf-8"))
    return {**settings, "journal": path.parent / JOURNAL} if isinstance(settings, dict) else {}


def _journal(path: Path | None, given: dict[str, Any]) -> Path:
    """Choose where payments are written down: without a place nothing may be signed."""
    if path is None:
        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state")
        path = given.get("journal", state / "provider" / JOURNAL)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        raise click.UsageError(f"{path} cannot be written ({error.strerror}): give --journal.") from None
    return path


def _target(url: str, given: dict[str, Any]) -> str:
    if url.startswith("/") and "web_url" in given:
        return str(given["web_url"]) + url
    try:
        origin_of(url)
    except ValueError:
        raise click.BadParameter(
            f"{url!r} begins with none of http://, https:// and, for `provider dev`, /", param_hint="URL"
        ) from None
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


def _input(data: str | None) -> Any:
    if data is None:
        return None
    try:
        text = Path(data[1:]).read_text(encoding="utf-8") if data.startswith("@") else data
        return json.loads(text)
    except OSError as error:
        raise click.BadParameter(f"{data[1:]}: {error.strerror}", param_hint="--data") from None
    except ValueError as error:
        raise click.BadParameter(f"not JSON: {error}", param_hint="--data") from None
