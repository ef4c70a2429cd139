"""`provider beat`: become Celery's beat."""

import celery  # noqa: F401 - imported here, so that the command says where it is missing
import click

from provider.cli._processes import app_option, become, python_module


@click.command("beat")
@app_option
@click.argument("arguments", nargs=-1, metavar="[-- BEAT OPTIONS]", type=click.UNPROCESSED)
def command(app: str, arguments: tuple[str, ...]) -> None:
    """Send the recovery sweep and reconciliation on their way, every SWEEP_SECONDS."""
    become(python_module("celery", "--quiet", "--app", app, "beat", *arguments))
