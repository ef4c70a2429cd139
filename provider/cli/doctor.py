"""`provider doctor`: is everything there that a deployment needs, and what is to be done where it is not?"""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from provider.chain.rpc import StellarRpc
from provider.doctor.examine import Queues, check_facilitator, check_payee, check_rpc, no_rpc
from provider.doctor.redis import Finding, Level, check_redis, fail, ok
from provider.errors import ConfigurationError
from provider.jobs.store.client import connect
from provider.jobs.store.jobs import JobStore
from provider.logs import configure_logging
from provider.payments.facilitator import FacilitatorClient
from provider.services import load_registry
from provider.services.registry import Registry
from provider.settings import Settings, SettingsError

STYLES = {Level.OK: "green", Level.ADVICE: "yellow", Level.FAIL: "bold red", Level.SKIPPED: "dim"}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Check settings, services, Redis, queues, facilitator, RPCs and the account that is paid.

    It changes nothing. Exit status 1: a check failed; its line says what to do.
    """
    configure_logging("ERROR")
    findings = list(examine())
    failed = any(finding.level is Level.FAIL for finding in findings)
    if as_json:
        click.echo(json.dumps({"ok": not failed, "checks": [asdict(finding) for finding in findings]}))
    else:
        _show(findings)
    if failed:
        ctx.exit(1)


def examine() -> Iterator[Finding]:
    """Make all checks; without readable settings there is only one."""
    try:
        settings = Settings.from_env()
    except SettingsError as error:
        yield fail(
            "settings", "; ".join(error.problems), "mend these variables: `provider settings` lists all"
        )
        return
    yield ok("settings", "readable")
    registry = None
    try:
        registry = load_registry(settings.provider_services, settings.settle_margin_seconds)
        yield ok("services", ", ".join(service.name for service in registry))
    except ConfigurationError as error:
        yield fail("services", "; ".join(error.problems), "mend the declarations, or PROVIDER_SERVICES")
    yield from _storage(settings, registry)
    yield from _outside(settings)


def _storage(settings: Settings, registry: Registry | None) -> Iterator[Finding]:
    client = connect(settings.redis_url, timeout_seconds=settings.redis_timeout_seconds)
    yield from check_redis(client)
    if registry is not None:
        yield from Queues(JobStore(client), settings).check(registry)


def _outside(settings: Settings) -> Iterator[Finding]:
    facilitator = FacilitatorClient(
        settings.facilitator_url,
        verify_timeout_seconds=settings.verify_timeout_seconds,
        api_key=settings.facilitator_api_key or None,
    )
    yield check_facilitator(facilitator, settings.network)
    rpcs = [StellarRpc(url) for url in settings.stellar_rpc_urls]
    if not rpcs:
        yield no_rpc()
        return
    for rpc in rpcs:
        yield check_rpc(rpc, settings.network, time.time())
    yield from check_payee(rpcs[0], settings.pay_to, settings.asset)


def _show(findings: list[Finding]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    for one in findings:
        told = Text(one.seen, overflow="fold")
        if one.advice:
            told.append(f"\n→ {one.advice}", style=STYLES[one.level])
        table.add_row(Text(one.level.value, style=STYLES[one.level]), Text(one.check, overflow="fold"), told)
    Console(highlight=False).print(table)
