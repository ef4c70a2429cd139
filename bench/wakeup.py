"""From a published wake-up to the handler's first line, against a bare Celery task on an equal Redis.

Both have a worker of one prefork process, both wait idle between two messages, and they take turns. Ours
reads the lane, leases the job, reads its checkpoints and hands it to the handler's process first.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from itertools import count

from bench import servers
from bench.report import table
from provider.jobs.model.job import Draft, Terms
from provider.jobs.model.job_id import place_for
from provider.jobs.model.status import Status
from provider.jobs.store import keys
from provider.jobs.store.jobs import JobStore
from provider.services import ChargePolicy
from provider.settings import Settings

MOST = 2.0
WARM_UP = 20
PAUSE_SECONDS = 0.02


def worker(app: str, queue: str, settings: Settings) -> AbstractContextManager[int]:
    """Run a worker with one process, as the Procfile does."""
    command = [sys.executable, "-m", "celery", "-A", app, "worker", "-Q", queue, "-P", "prefork", "-c", "1"]
    command += ["--without-gossip", "--without-mingle", "-n", f"{queue}@bench", "--loglevel", "warning"]
    return servers.process(*command, env=servers.environment(settings))


def ours(settings: Settings) -> Callable[[], float]:
    """Give a call that wakes a worker for one queued job, and tells how long its handler took to start."""
    platform = servers.platform_of(settings)
    store, dispatcher = platform.store, platform.dispatcher
    numbers = count(1)

    def once() -> float:
        job_id = queue_a_job(store, settings.pay_to, next(numbers))
        time.sleep(PAUSE_SECONDS)
        published = time.monotonic()
        dispatcher.handle(job_id)
        return float(json.loads(_until(lambda: store.get(job_id).output))["at"]) - published

    return once


def queue_a_job(store: JobStore, pay_to: str, number: int, service: str = "instant") -> str:
    """Store a queued job and wake nobody."""
    job_id = f"{service}.{number:032x}"
    terms = Terms(ChargePolicy.ON_SUCCESS, "stellar:testnet", pay_to, pay_to, pay_to, 1, number, 9, None, 60)
    store.client.zadd(keys.reserved(service), {place_for(job_id, terms.claim): 2**52})
    store.create(job_id, Draft(Status.QUEUED, terms, "{}", "[]", 3500, 3600, 60))
    return job_id


def bare(settings: Settings) -> Callable[[], float]:
    """Give a call that sends a task, and tells how long its first line took."""
    platform = servers.platform_of(settings)
    app, client = platform.celery, platform.client
    app.conf.update(task_create_missing_queues=True)

    def once() -> float:
        time.sleep(PAUSE_SECONDS)
        published = time.monotonic()
        app.send_task("bench.started", queue="bare", ignore_result=True, retry=False)
        return float(_until(lambda: client.lpop("bench:started"))) - published

    return once


def _until(read: Callable[[], str | None]) -> str:
    """Wait until there is something to read, without keeping the machine busy."""
    ends = time.monotonic() + 30
    while (found := read()) is None:
        if time.monotonic() > ends:
            raise SystemExit("a worker of the bench did not start its work within 30 s")
        time.sleep(0.02)
    return found


def run(quick: bool = False) -> None:
    """Measure both in turn."""
    rounds = 100 if quick else 500
    with ExitStack() as stack:
        first, second = (
            servers.settings_for(stack.enter_context(servers.redis_server()), "http://127.0.0.1:9")
            for _ in range(2)
        )
        first = replace(first, provider_services="bench.instant")
        stack.enter_context(worker("provider.workers.celery", "handle.instant", first))
        stack.enter_context(worker("bench.bare", "bare", second))
        calls = {"ours": ours(first), "bare Celery task": bare(second)}
        took: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(WARM_UP + rounds):
            for name, call in calls.items():
                took[name].append(call())
    rows = [_row(name, times[WARM_UP:], took["bare Celery task"][WARM_UP:]) for name, times in took.items()]
    table(
        f"From wake-up to the handler's first line, {rounds} each",
        ("worker", "p50 ms", "p99 ms", "ratio of p50", "most", "holds"),
        rows,
    )


def _row(name: str, times: list[float], rival: list[float]) -> tuple[str, ...]:
    p50, p99 = statistics.median(times), statistics.quantiles(times, n=100)[-1]
    shown = (name, f"{p50 * 1000:.1f}", f"{p99 * 1000:.1f}")
    if times == rival:
        return (*shown, "", "", "")
    ratio = p50 / statistics.median(rival)
    return (*shown, f"{ratio:.2f}", f"{MOST:.0f}", "yes" if ratio <= MOST else "NO")
