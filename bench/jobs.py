"""Whole jobs: claimed → run → settled, against a bare chain of two Celery tasks on an equal Redis.

Two workers each, one process a worker: ours run `handle.echo` and `settle.echo`, the rival's `first` and
`second`. Timed from the first message until the last job has succeeded (the last task has counted).
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import redis

from bench import servers
from bench.payments import payments
from bench.report import table
from bench.services import services
from provider.jobs.model.status import INDEX_STEP, Status
from provider.settings import Settings

DONE = "bench:done"


class Backlog:
    """Remembers wake-ups until the clock starts."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def handle(self, job_id: str) -> None:
        self.ids.append(job_id)

    def settle(self, job_id: str) -> None:
        raise AssertionError("on-success jobs are settled after their work")


@contextmanager
def workers(app: str, queues: tuple[str, str], env: dict[str, str]) -> Iterator[None]:
    """Run two workers as the Procfile does: one that runs, one that settles."""
    with ExitStack() as stack:
        for queue, pool in zip(queues, ("prefork", "threads"), strict=True):
            command = [
                sys.executable,
                "-m",
                "celery",
                "-A",
                app,
                "worker",
                "-Q",
                queue,
                "-P",
                pool,
                "-c",
                "1",
            ]
            command += ["--without-gossip", "--without-mingle", "--without-heartbeat", "-n", f"{queue}@bench"]
            stack.enter_context(servers.process(*command, "--loglevel", "warning", env=env))
        time.sleep(6)
        yield


def timed(start: Callable[[], None], done: Callable[[], int], count: int) -> float:
    """Give jobs per second from the start until all are done."""
    began = time.perf_counter()
    start()
    while done() < count:
        if time.perf_counter() - began > 300:
            raise SystemExit(f"only {done()} of {count} were done after 300 s")
        time.sleep(0.01)
    return count / (time.perf_counter() - began)


def ours(settings: Settings, count: int) -> float:
    """Claim the jobs, then let two workers run and settle them."""
    backlog = Backlog()
    platform = servers.platform_of(settings, dispatcher=backlog)
    store, desk = platform.store, platform.desk
    service = services.get("echo")
    value = {"text": "x" * 180}
    for payment in payments(desk.quote(service), count):
        desk.call(service, lambda: value, payment)
    with workers("provider.workers.celery", ("handle.echo", "settle.echo"), servers.environment(settings)):
        dispatcher = servers.platform_of(settings).dispatcher
        code = Status.SUCCEEDED.code * INDEX_STEP
        return timed(
            lambda: [dispatcher.handle(job_id) for job_id in backlog.ids] and None,
            lambda: store.client.zcount("provider:{echo}:index", code, code + INDEX_STEP - 1),
            count,
        )


def rival(settings: Settings, count: int) -> float:
    """Send the messages to a bare chain."""
    env = servers.environment(settings)
    client = redis.Redis.from_url(settings.redis_url)
    app = servers.platform_of(settings).celery
    app.conf.update(task_routes={"bench.first": {"queue": "first"}}, task_create_missing_queues=True)
    with workers("bench.chain", ("first", "second"), env):
        return timed(
            lambda: (
                [app.send_task("bench.first", args=[str(n)], queue="first") for n in range(count)] and None
            ),
            lambda: int(client.get(DONE) or 0),
            count,
        )


def run(quick: bool = False) -> None:
    """Measure both, three times in turn, each on an empty Redis."""
    count = 200 if quick else 1000
    rows = []
    for _ in range(1 if quick else 3):
        found = {}
        for name, measure in (("ours", ours), ("bare chain", rival)):
            with servers.redis_server() as redis_url, servers.facilitator(0) as url:
                found[name] = measure(servers.settings_for(redis_url, url), count)
        ratio = found["ours"] / found["bare chain"]
        rows.append((f"{found['ours']:.0f}", f"{found['bare chain']:.0f}", f"{ratio:.2f}"))
    table(
        f"Whole jobs per second ({count} jobs, settlement takes 0 s)", ("ours", "bare chain", "ratio"), rows
    )
