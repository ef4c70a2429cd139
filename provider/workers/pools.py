"""Which worker pools may run handlers (R2, C2)."""

from typing import Any

from celery.concurrency.prefork import TaskPool

from provider.broker.queues import handle_queue

PREFIX = handle_queue("")


def refuse_pools_that_cannot_stop_handlers(instance: Any, **_: Any) -> None:
    """End a worker that would run handlers in any other pool than prefork.

    A job's watcher forks the handler's process: threads must not fork, green threads cannot be interrupted.
    """
    handles = sorted(name for name in instance.app.amqp.queues.consume_from if name.startswith(PREFIX))
    if handles and not issubclass(instance.pool_cls, TaskPool):
        raise SystemExit(
            f"a worker of {', '.join(handles)} needs the prefork pool, since nothing else can stop a handler "
            "at its budget: start it with -P prefork, or without these queues"
        )
