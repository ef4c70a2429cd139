"""What a worker takes from its broker: wake-ups in the form in which they are published, nothing else (C1).

A message can name a time limit, an ETA, an expiry, callbacks and more, all of which Celery would obey.
"""

from collections.abc import Callable, Mapping
from typing import Any

import structlog
from celery.worker.consumer import Consumer as CeleryConsumer

from provider.broker.queues import ROUND
from provider.broker.redis_transport import drop

KEPT = ("id", "task", "lang", "argsrepr", "kwargsrepr", "root_id", "origin", "ignore_result", ROUND)
"""Headers of a wake-up. Celery has defaults for all others."""
MOST_ARGUMENTS = 1

log = structlog.get_logger()


class WakeUpConsumer(CeleryConsumer):  # type: ignore[misc]
    """Reduces each message to a wake-up, and drops what is none."""

    def create_task_handler(self, *args: Any, **given: Any) -> Callable[[Any], Any]:
        """Wrap Celery's handler, which trusts what it reads."""
        handle = super().create_task_handler(*args, **given)

        def on_task_received(message: Any) -> Any:
            try:
                message.headers = headers_of(message, self.app.tasks)
            except Exception as error:  # Whatever a forged message leads to ends here.
                drop(repr(error))
                message.reject_log_error(log, self.connection_errors)
                return None
            return handle(message)

        return on_task_received


def headers_of(message: Any, tasks: Mapping[str, Any]) -> dict[str, Any]:
    """Return the headers of a wake-up. Raises ValueError, or what a broken message leads to."""
    headers = {name: message.headers[name] for name in KEPT if name in message.headers}
    if not isinstance(headers.get("id"), str) or headers.get("task") not in tasks:
        raise ValueError("no task of ours")
    arguments, named, embedded = message.decode()
    if named or any(embedded.values()) or len(arguments) > MOST_ARGUMENTS:
        raise ValueError("not the arguments of a wake-up")
    if not all(isinstance(argument, str) for argument in arguments):
        raise ValueError("a wake-up carries an id")
    return headers
