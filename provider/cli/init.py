"""`provider init`: write a project of one's own."""

from pathlib import Path

import click

from provider.scaffold import write_project


@click.command("init")
@click.argument("directory", type=click.Path(path_type=Path))
def command(directory: Path) -> None:
    """Write a new project: a service, its test, and what deploys it.

    DIRECTORY must be new or empty.
    """
    try:
        write_project(directory)
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from error
    click.echo(
        f"{directory} sells word-count, declared in services.py. `provider dev` in it runs everything."
    )
