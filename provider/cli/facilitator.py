"""`provider facilitator`: verify and settle payments over any Stellar RPC."""

import os
from pathlib import Path
from typing import Any

import click

from provider.cli._secrets import read_secret
from provider.errors import ConfigurationError, RpcError
from provider.facilitator.config import FacilitatorConfig
from provider.facilitator.doctor import check_accounts
from provider.facilitator.server import serve
from provider.networks import PASSPHRASES

API_KEY_ENV = "FACILITATOR_API_KEY"
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@click.command("facilitator")
@click.option("--rpc", "rpc_url", required=True, help="URL of a Stellar RPC of the network.")
@click.option("--network", default="stellar:testnet", show_default=True, type=click.Choice(list(PASSPHRASES)))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8200, show_default=True, help="Port to listen on; 0 takes a free one.")
@click.option(
    "--secret-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with the secret seed (S…) of the account that pays the fees.",
)
@click.option(
    "--secret-env",
    default="FACILITATOR_SECRET",
    show_default=True,
    help="Variable with the seed, if no file.",
)
@click.option(
    "--payee", "payees", multiple=True, metavar="ID", help="Serve this payee; repeatable. Default: all."
)
@click.option(
    "--asset", "assets", multiple=True, metavar="ID", help="Serve this asset; repeatable. Default: all."
)
@click.option(
    "--open",
    "is_open",
    is_flag=True,
    help="Serve other machines without an API key, for --payee and --asset.",
)
@click.option("--channels", default=1, show_default=True, help="Accounts that submit, one transaction each.")
@click.option("--max-fee", default=50_000, show_default=True, help="Most stroops a transaction may cost.")
@click.option(
    "--state",
    "state_dir",
    default=Path(".provider/facilitator"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory that remembers what was sent; keep it.",
)
@click.option("--ledger-seconds", default=5.0, show_default=True, help="Seconds from one ledger to the next.")
@click.option("--wait", "wait_seconds", default=75.0, show_default=True, help="Longest time /settle waits.")
@click.option(
    "--poll", "poll_seconds", default=0.5, show_default=True, help="Seconds from one look to the next."
)
@click.option("--print-accounts", is_flag=True, help="Print the accounts to fund, and end.")
def command(
    host: str,
    port: int,
    secret_file: Path | None,
    secret_env: str,
    is_open: bool,
    print_accounts: bool,
    **given: Any,
) -> None:
    """Run an x402 facilitator.

    The secret is read from a file or the environment. FACILITATOR_API_KEY, if set, is wanted from callers
    as a bearer token. Accounts are not created: fund each that --print-accounts names with some XLM.
    """
    api_key = os.environ.get(API_KEY_ENV, "")
    if not api_key and host not in LOOPBACK and not (is_open and given["payees"] and given["assets"]):
        raise click.UsageError(
            f"on {host} anyone could spend the fees of this account: set {API_KEY_ENV}, "
            "or give --open, a --payee and an --asset"
        )
    config = FacilitatorConfig(secret=read_secret(secret_file, secret_env, "--secret-file"), **given)
    if config.problems():
        raise ConfigurationError(config.problems())
    addresses = [keypair.public_key for keypair in config.keypairs()]
    if print_accounts:
        click.echo("\n".join(addresses))
        return
    _check(config)

    def print_ready(port: int) -> None:
        click.echo(f"facilitator ready: http://{host}:{port} {config.network} {' '.join(addresses)}")

    serve(config, host, port, api_key=api_key, when_ready=print_ready)


def _check(config: FacilitatorConfig) -> None:
    """Refuse to start where nothing could settle; a node that is away for now is no reason."""
    try:
        check_accounts(config)
    except RpcError as error:
        click.echo(f"warning: the RPC does not answer now: {error}", err=True)
