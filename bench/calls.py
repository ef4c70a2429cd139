"""Paid calls: our `/run`, the same service behind the x402 Flask middleware, and a bare Flask route.

All run under gunicorn in one process: ours in greenlets, the others in 16 threads, the middleware a second
time in greenlets. Ours runs a second time on a Redis that syncs its file once a second: the difference is
what durable claims cost (C4).
"""

import json
import statistics
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

from bench import load, servers
from bench.load import Measured, request_bytes, together
from bench.payments import header, payments
from bench.report import table
from bench.services import services
from provider.jobs.claim.desk import ClaimDesk

BODY = json.dumps({"text": "x" * 180}).encode()
CONNECTIONS = 16
ROUNDS = 5
THREADS = ("--worker-class", "gthread", "--threads", "16")
SERVERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "ours": ("provider.web.wsgi:app", "always", ()),
    "ours, everysec": ("provider.web.wsgi:app", "everysec", ()),
    "middleware": ("bench.rivals:middleware()", "always", THREADS),
    "middleware, greenlets": ("bench.rivals:middleware()", "always", ()),
    "bare": ("bench.rivals:bare()", "always", THREADS),
}
"""Application, how often its Redis syncs its file, and options of gunicorn above ours."""


def requests(desk: ClaimDesk, count: int, *, prefer: str = "respond-async") -> list[bytes]:
    """Prepare paid calls."""
    offer = desk.quote(services.get("echo"))
    common = {"Content-Type": "application/json", "Prefer": prefer}
    return [
        request_bytes("/run/echo", {**common, "PAYMENT-SIGNATURE": header(payment)}, BODY)
        for payment in payments(offer, count)
    ]


def measure(settle_seconds: float, count: int, most_seconds: float) -> dict[str, list[Measured]]:
    """Fire at the servers in turn, so that whatever else this machine does meets all alike.

    Each has a Redis and a facilitator of its own; a server that is not asked costs nothing.
    """
    found: dict[str, list[Measured]] = {name: [] for name in SERVERS}
    with ExitStack() as stack:
        running = {name: start(*server, settle_seconds, stack) for name, server in SERVERS.items()}
        for port, _, desk in running.values():
            load.fire(port, requests(desk, 50), connections=CONNECTIONS, most_seconds=30)
        for _ in range(ROUNDS):
            for name, (port, master, desk) in running.items():
                calls, pid = requests(desk, count // ROUNDS), servers.worker_of(master)
                before = servers.processor_seconds(pid)
                seconds = most_seconds / ROUNDS
                measured = load.fire(port, calls, connections=CONNECTIONS, most_seconds=seconds)
                computed = servers.processor_seconds(pid) - before
                found[name].append(replace(measured, processor_seconds=computed))
    return found


def start(
    app: str, appendfsync: str, options: tuple[str, ...], settle_seconds: float, stack: ExitStack
) -> tuple[int, int, ClaimDesk]:
    """Start a server with all it needs: its port, the pid of its master, the desk that quotes its price."""
    redis_url = stack.enter_context(servers.redis_server())
    settings = servers.settings_for(redis_url, stack.enter_context(servers.facilitator(settle_seconds)))
    env = {**servers.environment(settings), "BENCH_AMOUNT": str(services.get("echo").amount)}
    platform = servers.platform_of(settings)
    platform.client.config_set("appendfsync", appendfsync)
    port, master = stack.enter_context(servers.gunicorn(app, env, *options))
    return port, master, platform.desk


def rows(found: dict[str, list[Measured]]) -> Iterator[tuple[str, ...]]:
    """Give a row for each server; the ratio is the median of the rounds'."""
    for name, rounds in found.items():
        measured = together(rounds)
        pairs = zip(found["ours"], rounds, strict=True)
        ratio = statistics.median(ours.per_second / other.per_second for ours, other in pairs)
        yield (
            name,
            f"{measured.per_second:.1f}",
            f"{measured.percentile_ms(50):.1f}",
            f"{measured.percentile_ms(99):.1f}",
            f"{measured.processor_ms:.2f}",
            f"{ratio:.2f}×",
            " ".join(f"{count}×{status}" for status, count in sorted(measured.statuses.items())),
        )


def run(quick: bool = False) -> None:
    """Measure with a settlement that takes no time, and with one that takes a ledger."""
    count = 400 if quick else 2000
    heads = ("server", "calls/s", "p50 ms", "p99 ms", "CPU ms", "ours is", "answers")
    for seconds in (0.0, 5.0):
        most = 60 if seconds == 0 else 20
        found = measure(seconds, count, most)
        table(f"Paid calls, settlement takes {seconds:g} s, {CONNECTIONS} connections", heads, rows(found))
