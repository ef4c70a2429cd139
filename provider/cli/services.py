"""`provider services`: what is for sale, read and checked as every process does at its start."""

import json

import click
from rich.console import Console
from rich.table import Table

from provider.cli._services import named_services
from provider.services import Service
from provider.services.registry import load_registry


@click.command("services")
@click.option("--services", help="Import paths of registries. Default: PROVIDER_SERVICES, or services.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(services: str | None, as_json: bool) -> None:
    """List what is for sale, or all that is wrong with it.

    Starts nothing. Exit status 2: a declaration is wrong.
    """
    found = list(load_registry(named_services(services)))
    if as_json:
        click.echo(json.dumps([_as_json(service) for service in found], indent=2))
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("Service", "USDC", "Charged", "Work", "Description"):
        table.add_column(heading, justify="right" if heading in ("USDC", "Work") else "left")
    for service in found:
        row = (service.name, service.price, service.charge, f"{service.timeout_seconds:g} s")
        table.add_row(*row, service.description)
    Console(highlight=False, markup=False).print(table)


def _as_json(service: Service) -> dict[str, object]:
    return {
        "name": service.name,
        "price": service.price,
        "charge": service.charge,
        "timeoutSeconds": service.timeout_seconds,
        "description": service.description,
    }
