"""Write a project: a service with its test, and what deploys it."""

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePath
from string import Template

from provider import __version__
from provider.errors import ProviderError

FILLED_IN = {"README.md", "requirements.txt"}
"""Files that name the project and the version that it was made with."""


class DirectoryInUse(ProviderError):
    """The directory of a new project holds something already."""


def write_project(directory: Path) -> None:
    """Write the files of a new project. Raises DirectoryInUse before the first one."""
    if directory.exists() and not (directory.is_dir() and not any(directory.iterdir())):
        raise DirectoryInUse(f"{directory} is not an empty directory; name a new one.")
    values = {"name": directory.absolute().name, "version": __version__}
    for path, content in _files():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(Template(content).substitute(values) if target.name in FILLED_IN else content)


def _files() -> Iterator[tuple[PurePath, str]]:
    template = files(__package__) / "template"
    for source, path in _walk(template, PurePath()):
        yield path, source.read_text(encoding="utf-8")
    yield PurePath("config", "redis.conf"), (files("provider.localnet") / "redis.conf").read_text()


def _walk(folder: Traversable, path: PurePath) -> Iterator[tuple[Traversable, PurePath]]:
    """Go through the template, in which a dot at the beginning of a name is written `dot-`."""
    for entry in folder.iterdir():
        name = entry.name.replace("dot-", ".", 1) if entry.name.startswith("dot-") else entry.name
        if entry.is_dir() and name != "__pycache__":  # Installers compile what looks like Python.
            yield from _walk(entry, path / name)
        elif entry.is_file():
            yield entry, path / name
