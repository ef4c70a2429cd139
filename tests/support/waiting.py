"""What tests know of streams and held answers from outside: that they hear, and that they have read."""

from typing import Any

from provider.jobs.store import keys
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.subscription import JobEvents, Waiter
from tests.support.processes import wait_until

NO_JOB = "nothing." + "f" * 32


def subscribe(events: JobEvents, store: JobStore) -> None:
    """Wait until waiters hear messages."""
    with events.waking(Waiter(NO_JOB)) as waiter:
        assert waiter.wait(10)
        assert wait_until(lambda: [store.client.publish(keys.job(NO_JOB), "x"), waiter.wait(0.1)][1])


def reads(store: JobStore) -> int:
    """Count how often jobs were read since the server began; scripts count too."""
    stats: Any = store.client.info("commandstats")
    return int(stats.get("cmdstat_hmget", {"calls": 0})["calls"])
