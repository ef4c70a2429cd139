"""The recovery sweep: nothing due among ever more stored jobs, and 500 due jobs of every kind at once."""

import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack

from bench import servers
from bench.filling import fill
from bench.mixture import KINDS, put_due
from bench.report import table
from bench.store import WRITES
from provider.jobs.recover.sweep import Sweep
from provider.jobs.store.jobs import JobStore
from provider.logs import configure_logging
from provider.platform import Platform

STORED = (1_000, 100_000, 1_000_000)
FLAT = 1.3
DUE, DUE_SECONDS = 500, 0.5


def seconds(call: Callable[[], object]) -> float:
    """Time one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def nothing_due(quick: bool) -> None:
    """Sweep stores of different size in turn, so that whatever else this machine does meets all alike.

    Were there a write, it would show with `always`: the larger a file is, the longer it takes to sync.
    """
    sizes, rounds = (STORED[:2], 100) if quick else (STORED, 500)
    sweeps: dict[int, Sweep] = {}
    with ExitStack() as stack, servers.facilitator(0) as url:
        stores: list[JobStore] = []
        for size in sizes:
            settings = servers.settings_for(stack.enter_context(servers.redis_server()), url)
            stores.append(servers.store_of(settings))
            stores[-1].client.config_set("auto-aof-rewrite-percentage", 0)  # No fork beside the measurement.
            fill(stores[-1], settings, size)
            sweeps[size] = servers.platform_of(settings).sweep
            sweeps[size].run()
        rows = []
        for policy in ("always", "no"):
            for store in stores:
                store.client.config_set("appendfsync", policy)
            rows += flat_rows(policy, _in_turn(sweeps, rounds))
    heads = ("appendfsync", "stored jobs", "ms", "ratio", "most", "holds")
    table(f"Sweep with nothing due, {rounds} rounds", heads, rows)


def _in_turn(sweeps: dict[int, Sweep], rounds: int) -> dict[int, float]:
    """Give the median seconds of a sweep for each size."""
    taken: dict[int, list[float]] = {size: [] for size in sweeps}
    for _ in range(rounds):
        for size, sweep in sweeps.items():
            taken[size].append(seconds(sweep.run))
    return {size: statistics.median(times) for size, times in taken.items()}


def flat_rows(policy: str, medians: dict[int, float]) -> list[tuple[str, ...]]:
    """Compare each size with the smallest."""
    least = min(medians)
    rows = []
    for size, median in medians.items():
        ratio = median / medians[least]
        holds = "yes" if ratio <= FLAT else "NO"
        rows.append((policy, f"{size:,}", f"{median * 1000:.2f}", f"{ratio:.2f}", str(FLAT), holds))
    return rows


def everything_due(quick: bool) -> None:
    """Sweep as many jobs as a run takes, all kinds alike; then do bare what was asked of Redis."""
    rows = []
    for _ in range(1 if quick else 5):
        with servers.redis_server() as redis_url, servers.facilitator(0) as url:
            settings = servers.settings_for(redis_url, url)
            platform = servers.platform_of(settings)
            store = platform.store
            sweep = platform.sweep
            sweep.run()
            put_due(store, settings, DUE)
            scripts: list[str] = []
            store.scripts.after = scripts.append
            began = time.perf_counter()
            report = sweep.run()
            took = time.perf_counter() - began
            messages = report.woken + report.actions["settle_again"]
            floor = bare(platform, len(scripts), messages)
        assert report.actions.total() == DUE, report
        holds = "yes" if took <= DUE_SECONDS else "NO"
        work = f"{len(scripts)} scripts, {messages} messages"
        rows.append((f"{took:.2f}", str(DUE_SECONDS), holds, work, f"{floor:.2f}", f"{took / floor:.1f}"))
    heads = ("seconds", "most", "holds", "what it takes", "the same, bare", "ratio")
    table(f"Sweep of {DUE} due jobs of {len(KINDS)} kinds", heads, rows)


def bare(platform: Platform, scripts: int, messages: int) -> float:
    """Time so many scripts that write one field, and so many messages, without anything else."""
    script, dispatcher = platform.client.register_script(WRITES), platform.dispatcher
    began = time.perf_counter()
    for _ in range(scripts):
        script(keys=["bench"])
    for number in range(messages):
        dispatcher.settle(f"echo.{number:032x}")
    return time.perf_counter() - began


def run(quick: bool = False) -> None:
    """Measure both."""
    configure_logging("ERROR")
    nothing_due(quick)
    everything_due(quick)
