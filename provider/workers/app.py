"""The Celery application of workers and beat: the publisher's, with tasks and what happens at start."""

from collections.abc import Callable
from typing import Any

from celery import Celery
from celery.signals import beat_init, celeryd_after_setup, setup_logging, worker_init, worker_ready

from provider.broker.queues import SWEEP
from provider.errors import ConfigurationError
from provider.logs import configure_logging
from provider.platform import Platform
from provider.workers.pools import refuse_pools_that_cannot_stop_handlers
from provider.workers.tasks import add_tasks


def create_app(platform: Platform | None = None) -> Celery:
    """Make the application that `celery --app` runs, by default for what the environment describes."""
    platform = platform or Platform.from_env()
    app = platform.celery
    app.set_current()
    add_tasks(app, platform)

    def log_json_lines(**_: object) -> None:
        configure_logging(platform.settings.log_level)

    def refuse_unsafe_redis(**_: object) -> None:
        """End a process that would write claims where they may be evicted (C4)."""
        try:
            platform.refuse_unsafe_redis()
        except ConfigurationError as error:
            raise SystemExit(error.detail) from error  # Celery only logs other errors of a signal.

    def sweep_at_start(**_: object) -> None:
        platform.warn_without_rpc()
        app.send_task(SWEEP, ignore_result=True, retry=False)

    _connect(setup_logging, log_json_lines)
    _connect(worker_init, refuse_unsafe_redis)
    _connect(beat_init, refuse_unsafe_redis)
    _connect(celeryd_after_setup, refuse_pools_that_cannot_stop_handlers)
    _connect(worker_ready, sweep_at_start)
    return app


def _connect(signal: Any, receiver: Callable[..., None]) -> None:
    """Connect a function for the life of the process; Celery keeps weak references by default.

    An application made later takes the place of an earlier one.
    """
    name = f"provider.workers.{receiver.__name__}"
    signal.disconnect(dispatch_uid=name)
    signal.connect(receiver, weak=False, dispatch_uid=name)
