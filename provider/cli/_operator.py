"""What the commands of an operator work with."""

from dataclasses import dataclass

import click

from provider.jobs.model.dispatcher import Dispatcher
from provider.jobs.reconcile.run import Reconciler
from provider.jobs.recover.cancel import Canceller
from provider.jobs.recover.retry_now import Nudge
from provider.jobs.store.jobs import JobStore
from provider.logs import configure_logging
from provider.services import Registry
from provider.settings import Settings


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
    from provider import platform
    from provider.workers.celery import registry, settings

    configure_logging("WARNING")
    return Operator(platform.store(), registry, platform.dispatcher(), settings, platform.reconciler())
