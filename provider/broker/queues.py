"""Names of tasks and queues: what a message may ask for, and where it waits (C1)."""

from typing import Any

MAINTENANCE = "maintenance"

HANDLE_JOB = "tasks.handle.handle_job"
SETTLE_JOB = "tasks.settle.settle_job"
SWEEP = "tasks.maintenance.sweep"
RECONCILE = "tasks.maintenance.reconcile"
ROUND = "provider_round"
"""Header of what beat sends: the number of the round (`provider.jobs.store.rounds`)."""


def handle_queue(service: str) -> str:
    """Name the queue whose workers run the handler of a service."""
    return f"handle.{service}"


def settle_queue(service: str) -> str:
    """Name the queue whose workers settle the payments of a service."""
    return f"settle.{service}"


def route_task(name: str, args: Any, *_: Any, **__: Any) -> dict[str, str] | None:
    """Choose the queue of a task: by the service in its job id (`qr-code.6f1c…`), or maintenance."""
    if name in (SWEEP, RECONCILE):
        return {"queue": MAINTENANCE}
    queues = {HANDLE_JOB: handle_queue, SETTLE_JOB: settle_queue}
    if name in queues and args:
        return {"queue": queues[name](str(args[0]).rpartition(".")[0])}
    return None
