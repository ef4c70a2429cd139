"""What the commands of an operator work with."""

from dataclasses import dataclass

import click

from config.logging import configure_logging
from config.settings import Settings
from provider.jobs.cancel import Canceller
from provider.jobs.dispatch import Dispatcher
from provider.jobs.nudge import Nudge
from provider.jobs.reconcile import Reconciler
from provider.jobs.store import JobStore
from provider.services import Registry


@dataclass(frozen=True)
class Operator:
    """The parts of a deployment, beside its processes."""

    store: JobStore
    registry: Registry
    dispatcher: Dispatcher
    settings: Settings
    reconciler: Reconciler | None = None

    @property
    def canceller(self) -> Canceller:
        return Canceller(self.store, self.dispatcher, self.settings)

    @property
    def nudge(self) -> Nudge:
        return Nudge(self.store, self.registry, self.dispatcher, self.reconciler)


def operator(ctx: click.Context) -> Operator:
    """Give the parts that this command was called with, or those that the environment describes."""
    return ctx.find_object(Operator) or _from_environment()


def _from_environment() -> Operator:
    from tasks import parts  # Reads the settings and the services.
    from tasks.app import registry, settings

    configure_logging("WARNING")
    return Operator(parts.store(), registry, parts.dispatcher(), settings, parts.reconciler())
