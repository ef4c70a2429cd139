"""`provider dev`: the whole platform on this machine."""

import sys
from pathlib import Path

import click

from provider.cli._services import named_services
from provider.localnet.stack.plan import Plan
from provider.localnet.stack.platform import LocalStack
from provider.localnet.stack.ports import Ports
from provider.services.registry import load_registry

HIGHEST_BASE = 65_535 - 555


@click.command("dev")
@click.option(
    "--port-base",
    type=click.IntRange(0, HIGHEST_BASE),
    default=8000,
    show_default=True,
    help="Port of the web server; the others follow at fixed distances. 0 takes free ports.",
)
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=".provider",
    show_default=True,
    help="Where Redis keeps its data, and dev.json and dev.env appear.",
)
@click.option("--services", help="Import paths of registries. Default: PROVIDER_SERVICES, or services.")
@click.option(
    "--ledger-seconds",
    type=click.FloatRange(min=0.1),
    default=5.0,
    show_default=True,
    help="Seconds from one ledger of the local chain to the next; the real network takes 5.",
)
@click.option(
    "--handle-concurrency", type=click.IntRange(min=1), default=4, show_default=True, help="Jobs at once."
)
@click.option("--keep-data", is_flag=True, help="Keep the jobs of the last run, though its chain is gone.")
def command(
    port_base: int,
    data_dir: Path,
    services: str | None,
    ledger_seconds: float,
    handle_concurrency: int,
    keep_data: bool,
) -> None:
    """Run the whole platform on this machine until Ctrl-C.

    Redis, web, workers, beat, Flower, and a local Stellar chain with its facilitator, all on loopback
    ports. Once everything answers, DATA_DIR/dev.json tells every URL, pid and the secret of a buyer
    with play money, and a shell that reads DATA_DIR/dev.env can run the commands of operators.
    REDIS_SERVER names another redis-server than the embedded one, of version 7.2 or newer.
    """
    services = named_services(services)
    load_registry(services)  # Nine processes would report the same mistake.
    plan = Plan(
        ports=Ports.from_base(port_base),
        data_dir=data_dir,
        services=services,
        ledger_seconds=ledger_seconds,
        handle_concurrency=handle_concurrency,
    )
    sys.exit(LocalStack(plan, keep_data).run())
