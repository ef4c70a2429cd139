"""Which services this process sells."""

import dataclasses
import difflib
import importlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from provider.errors import ConfigurationError, ServiceNotFound
from provider.services.checks import SETTLE_MARGIN_SECONDS
from provider.services.context import Handler
from provider.services.declaration import Service

_H = TypeVar("_H", bound=Handler)
_FIELDS = {field.name: field for field in dataclasses.fields(Service)}
# A required field that is left out becomes None, which `problems` reports with all the others.
_NOTHING_REQUIRED: dict[str, Any] = {
    name: None for name, field in _FIELDS.items() if field.default is dataclasses.MISSING
}


class Registry:
    """Services by name; declarations are collected first and judged together by `check`."""

    def __init__(self) -> None:
        self._declared: list[Service] = []
        self._unusable: list[str] = []

    def add(self, service: Service) -> Service:
        """Offer a service; adding the same object twice is harmless."""
        if service not in self._declared:
            self._declared.append(service)
        return service

    def service(self, *, name: str, **fields: Any) -> Callable[[_H], _H]:
        """Offer the decorated function as a service; it stays an ordinary function.

        Takes the fields of `Service`. A field that is missing or misspelt is reported by `check`.
        """

        def decorate(handler: _H) -> _H:
            self._declare({**fields, "name": name, "handler": handler})
            return handler

        return decorate

    def _declare(self, fields: dict[str, Any]) -> None:
        label = f"service {fields['name']!r:.80}"
        self._unusable.extend(f"{label}: {line}" for line in _misspelt(fields.keys() - _FIELDS.keys()))
        known = {name: value for name, value in fields.items() if name in _FIELDS}
        try:
            self.add(Service(**_NOTHING_REQUIRED | known))
        except Exception as error:  # What converts a foreign schema may raise anything.
            self._unusable.append(f"{label}: cannot be declared: {error!r:.300}")

    def update(self, other: "Registry") -> None:
        """Take over what another registry declares, problems included."""
        for service in other._declared:
            self.add(service)
        self._unusable.extend(line for line in other._unusable if line not in self._unusable)

    def get(self, name: str) -> Service:
        """Return the service of this name. Raises ServiceNotFound."""
        for service in self._declared:
            if service.name == name:
                return service
        raise ServiceNotFound

    def __iter__(self) -> Iterator[Service]:
        return iter(sorted(self._declared, key=lambda service: service.name))

    @property
    def remote_names(self) -> frozenset[str]:
        """Names of the services whose jobs only remote workers run (§11)."""
        return frozenset(service.name for service in self._declared if service.remote)

    def __len__(self) -> int:
        return len(self._declared)

    def __contains__(self, name: object) -> bool:
        return any(service.name == name for service in self._declared)

    def problems(self, settle_margin_seconds: float = SETTLE_MARGIN_SECONDS) -> list[str]:
        """Return everything wrong with every service."""
        lines = [line for service in self._declared for line in service.problems(settle_margin_seconds)]
        counts = Counter(str(service.name) for service in self._declared)
        twice = [f"service {name!r:.80}: name: is declared {n} times" for name, n in counts.items() if n > 1]
        return [*self._unusable, *lines, *twice]

    def advice(self, settle_margin_seconds: float = SETTLE_MARGIN_SECONDS) -> list[str]:
        """Return what is worth changing, one line a service."""
        lines = (service.advice(settle_margin_seconds) for service in self)
        return [line for line in lines if line]

    def check(self, settle_margin_seconds: float = SETTLE_MARGIN_SECONDS) -> None:
        """Raise one ConfigurationError with every problem of every service, if there is any."""
        if problems := self.problems(settle_margin_seconds):
            raise ConfigurationError(problems)


def _misspelt(names: set[str]) -> Iterator[str]:
    for name in sorted(names):
        close = difflib.get_close_matches(name, _FIELDS, n=1)
        yield f"{name}: is no field of a service" + (f"; did you mean {close[0]}?" if close else "")


def load_registry(import_path: str, settle_margin_seconds: float = SETTLE_MARGIN_SECONDS) -> Registry:
    """Import the services that the setting PROVIDER_SERVICES names, checked.

    The path is `package.module` (its attribute `services`) or `package.module:attribute`; several are
    separated by commas. Raises ConfigurationError with every problem of every module.
    """
    merged, problems = Registry(), []
    for path in filter(None, map(str.strip, import_path.split(","))):
        try:
            merged.update(_imported(path))
        except ConfigurationError as error:
            problems.extend(error.problems)
    if not problems and not len(merged) and not merged._unusable:
        problems.append("PROVIDER_SERVICES: names no service; set it to a module such as services")
    if problems := [*problems, *merged.problems(settle_margin_seconds)]:
        raise ConfigurationError(problems)
    return merged


def _imported(path: str) -> Registry:
    module_name, _, attribute = path.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), attribute or "services")
    except Exception as error:
        raise ConfigurationError([f"PROVIDER_SERVICES: {path}: {_advice(module_name, error)}"]) from error
    if not isinstance(found, Registry):
        kind = type(found).__name__
        raise ConfigurationError(
            [f"PROVIDER_SERVICES: {path}: is a {kind}, not a provider.services.Registry"]
        )
    return found


def _advice(module_name: str, error: Exception) -> str:
    reason = f"{type(error).__name__}: {error}"
    if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
        return f"no such module ({reason}); start in the directory that holds it, or set PYTHONPATH"
    if isinstance(error, AttributeError) and error.obj is not None:
        return f"{reason}; write package.module:attribute to name the registry"
    return f"the module failed while it was imported ({reason}); run `python -c 'import {module_name}'`"
