"""1 000 clients wait on one web process: its memory, its connections to Redis, and /healthz meanwhile."""

import http.client
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from bench import servers
from bench.report import table
from bench.wakeup import queue_a_job
from provider.jobs.store.jobs import JobStore
from provider.web.streams.places import MOST_A_JOB

CLIENTS = 1000
STIRRED_PER_SECOND = 5
MOST_MB, MOST_CONNECTIONS, MOST_MS = 60, 3, 50
SHAPES = {
    "streams of as many jobs": ("stream", CLIENTS),
    "streams of 20 jobs": ("stream", CLIENTS // MOST_A_JOB),
    "held answers": ("wait", CLIENTS),
}


@dataclass(frozen=True, slots=True)
class State:
    """What a web process takes, and how it answers."""

    megabytes: float
    connections: int
    p50_ms: float
    p99_ms: float


def measure(port: int, pid: int, store: JobStore, probes: int) -> State:
    """Look at the process, and ask it for its health a hundred times a second."""
    client, took = http.client.HTTPConnection("127.0.0.1", port, timeout=30), []
    for _ in range(probes):
        time.sleep(0.01)
        began = time.perf_counter()
        client.request("GET", "/healthz")
        client.getresponse().read()
        took.append((time.perf_counter() - began) * 1000)
    took.sort()
    connections = len(store.client.client_list()) - 1  # type: ignore[arg-type]
    return State(_megabytes(pid), connections, took[len(took) // 2], took[len(took) * 99 // 100])


def _megabytes(pid: int) -> float:
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


@contextmanager
def crowd(port: int, ids: list[str], count: int, kind: str) -> Iterator[None]:
    """Let clients wait, in a process of their own."""
    command = (sys.executable, "-m", "bench.crowd", str(port), str(count), kind)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as clients:
        assert clients.stdin is not None
        assert clients.stdout is not None
        clients.stdin.write("".join(f"{job_id}\n" for job_id in ids) + "\n")
        clients.stdin.flush()
        if clients.stdout.readline() != "open\n":
            raise SystemExit("the clients of the bench did not get through")
        try:
            yield
        finally:
            clients.stdin.close()
            print(f"  ({clients.stdout.readline().strip()} events or answers heard)")


def run(quick: bool = False) -> None:
    """Measure a web process with and without a crowd, at rest and while the lane moves."""
    probes = 300 if quick else 2000
    rows = []
    for name, (kind, jobs) in SHAPES.items():
        rows += _shape(name, kind, jobs, probes)
    head = ("who waits", "lane", "MB more", "Redis connections", "p50 ms", "p99 ms", "holds")
    table(f"{CLIENTS} clients wait on one web process", head, rows)


def _shape(name: str, kind: str, jobs: int, probes: int) -> list[tuple[str, ...]]:
    with servers.redis_server() as redis_url:
        settings = servers.settings_for(redis_url, "http://127.0.0.1:9")
        store = servers.store_of(settings)
        ids = [queue_a_job(store, settings.pay_to, number, "echo") for number in range(CLIENTS)][-jobs:]
        environment = {**servers.environment(settings), "REQUEST_WAIT_SECONDS": "120"}
        with servers.gunicorn("provider.web.wsgi:app", environment) as (port, pid):
            worker = servers.worker_of(pid)
            with crowd(port, ids, 1, kind):
                alone = measure(port, worker, store, probes)
            with crowd(port, ids, CLIENTS, kind):
                resting = measure(port, worker, store, probes)
                with servers.process(sys.executable, "-m", "bench.stir", redis_url, str(STIRRED_PER_SECOND)):
                    stirred = measure(port, worker, store, probes)
                stirred = replace(stirred, connections=stirred.connections - 1)
    states = (("one client", "at rest", alone), (name, "at rest", resting), (name, "moves", stirred))
    return [_row(*state, alone) for state in states]


def _row(name: str, lane: str, state: State, alone: State) -> tuple[str, ...]:
    more = state.megabytes - alone.megabytes
    shown = (f"{more:.0f}", str(state.connections), f"{state.p50_ms:.1f}", f"{state.p99_ms:.1f}")
    holds = more <= MOST_MB and state.connections <= MOST_CONNECTIONS and state.p99_ms <= MOST_MS
    return (name, lane, *shown, "yes" if holds else "NO")
