"""What operators and descriptors ask of the index: counts of one service, and a page of its jobs."""

import statistics
import time
from collections.abc import Callable

from bench import servers
from bench.memory import finish_jobs
from bench.report import table
from bench.services import services
from provider.jobs.model.status import INDEX_STEP, Status
from provider.jobs.store import keys
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.listing import JobIndex
from provider.jobs.store.stats import read_stats
from provider.logs import configure_logging

STORED = (1_000, 1_000_000)
CHUNK = 10_000
PAGE = 50
FLAT = 1.5


def crowd(store: JobStore, count: int) -> None:
    """Enter so many older jobs into the index, in every status; nobody reads their records."""
    index = keys.index("echo")
    for start in range(0, count, CHUNK):
        numbers = range(start, min(start + CHUNK, count))
        store.client.zadd(index, {f"echo.{n:032x}": (n % len(Status) + 1) * INDEX_STEP + n for n in numbers})


def median_ms(call: Callable[[], object], rounds: int) -> float:
    """Time a call."""
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000


def run(quick: bool = False) -> None:
    """Ask the same of stores of different size."""
    configure_logging("ERROR")
    rounds, sizes = (100, (STORED[0], 100_000)) if quick else (1000, STORED)
    asked = [of_store(size, rounds) for size in sizes]
    rows = []
    for name, first in asked[0].items():
        last = asked[1][name]
        holds = "yes" if last <= first * FLAT else "NO"
        rows.append((name, f"{first:.2f}", f"{last:.2f}", f"{last / first:.2f}", str(FLAT), holds))
    heads = ("asked", *(f"ms of {size:,}" for size in sizes), "ratio", "most", "holds")
    table(f"Counts and lists, {rounds} rounds", heads, rows)


def of_store(size: int, rounds: int) -> dict[str, float]:
    """Time each question to a store of so many jobs."""
    with servers.redis_server() as redis_url, servers.facilitator(0) as url:
        settings = servers.settings_for(redis_url, url)
        store = servers.store_of(settings)
        finish_jobs(store, url, settings, PAGE)
        crowd(store, size - PAGE)
        listing, echo = JobIndex(store), [services.get("echo")]
        questions: dict[str, Callable[[], object]] = {
            "all counts of a service": lambda: read_stats(store, echo),
            f"a page of {PAGE}, any status": lambda: listing.page(["echo"], list(Status), limit=PAGE),
            "a trip to Redis": store.ping,
        }
        return {name: median_ms(ask, rounds) for name, ask in questions.items()}
