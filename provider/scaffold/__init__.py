"""The project of a seller, as `provider init` writes it."""

from provider.scaffold.project import DirectoryInUse, write_project

__all__ = ["DirectoryInUse", "write_project"]
