"""`provider chain`: the local chain, for development and tests."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import click

from provider.localnet.chain.model import ChainConfig
from provider.localnet.chain.server import ChainServer
from provider.localnet.chain.settings import LOWEST_TEMPORARY_TTL, MAX_ENTRY_TTL, TESTNET_TEMPORARY_TTL
from provider.localnet.chain.state import CREDENTIALS, ChainState

SHORTEST_LEDGER_SECONDS = 0.1


@click.command("chain")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8100, show_default=True, help="HTTP port; 0 takes a free one.")
@click.option("--tls-port", default=8143, show_default=True, help="HTTPS port; 0 takes a free one.")
@click.option(
    "--ledger-seconds",
    default=5.0,
    show_default=True,
    type=click.FloatRange(min=SHORTEST_LEDGER_SECONDS),
    help="Seconds from one ledger to the next.",
)
@click.option("--manual", is_flag=True, help="Close ledgers only by POST /admin/close.")
@click.option("--start-ledger", default=1_000_000, show_default=True, help="First ledger of the history.")
@click.option(
    "--data-dir", type=click.Path(file_okay=False, path_type=Path), help="Where the certificates are kept."
)
@click.option(
    "--credentials",
    default="v1",
    show_default=True,
    type=click.Choice(CREDENTIALS),
    help="Credentials that a simulation records.",
)
@click.option(
    "--min-temporary-ttl",
    default=TESTNET_TEMPORARY_TTL,
    show_default=True,
    type=click.IntRange(LOWEST_TEMPORARY_TTL, MAX_ENTRY_TTL),
    help="Ledgers that nonce entries live at least: 720 on testnet, 17280 on pubnet.",
)
@click.option("--fund", multiple=True, metavar="ACCOUNT=USDC", help="Create an account with that much USDC.")
def command(
    host: str,
    port: int,
    tls_port: int,
    ledger_seconds: float,
    manual: bool,
    start_ledger: int,
    data_dir: Path | None,
    credentials: str,
    min_temporary_ttl: int,
    fund: tuple[str, ...],
) -> None:
    """Run a local Stellar chain with a funded USDC token."""
    config = ChainConfig(
        start_ledger=start_ledger,
        ledger_seconds=ledger_seconds,
        manual=manual,
        credentials=credentials,
        min_temporary_ttl=min_temporary_ttl,
    )
    state = ChainState(config)
    for item in fund:
        _fund(state, item)
    try:
        server = ChainServer(state, host, port, tls_port, data_dir)
    except (OSError, OverflowError) as error:
        message = f"cannot listen on {host}, ports {port} and {tls_port}: {error}"
        raise click.ClickException(message) from error
    _serve(server)


def _fund(state: ChainState, item: str) -> None:
    account, _, usdc = item.partition("=")
    try:
        state.fund(account, usdc or "0")
    except (ValueError, ArithmeticError) as error:
        raise click.BadParameter(f"{item}: {error}", param_hint="--fund") from error


def _serve(server: ChainServer) -> None:
    """Serve until a signal comes, then end at once."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with server:
        click.echo(f"chain ready: {server.url} {server.tls_url} ca={server.ca_file}")
        ended.wait()
