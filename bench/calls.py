"""Paid calls: our `/run`, the same service behind the x402 Flask middleware, and a bare Flask route.

All three run under the same gunicorn settings: one process, 16 threads.
"""

import json
from collections.abc import Iterator

from bench import load, servers
from bench.load import Measured, request_bytes
from bench.payments import header, payments
from bench.report import table
from bench.services import services
from provider.jobs.claims import ClaimDesk

BODY = json.dumps({"text": "x" * 180}).encode()
CONNECTIONS = 16


def requests(desk: ClaimDesk, count: int, *, prefer: str = "respond-async") -> list[bytes]:
    """Prepare paid calls."""
    offer = desk.quote(services.get("echo"))
    common = {"Content-Type": "application/json", "Prefer": prefer}
    return [
        request_bytes("/run/echo", {**common, "PAYMENT-SIGNATURE": header(payment)}, BODY)
        for payment in payments(offer, count)
    ]


def measure(settle_seconds: float, count: int, most_seconds: float) -> dict[str, Measured]:
    """Measure the three servers one after the other, over the same Redis and facilitator."""
    found = {}
    for name, app in (
        ("ours", "provider.web.wsgi:app"),
        ("middleware", "bench.rivals:middleware()"),
        ("bare", "bench.rivals:bare()"),
    ):
        with servers.redis_server() as redis_url, servers.facilitator(settle_seconds) as url:
            settings = servers.settings_for(redis_url, url)
            env = {**servers.environment(settings), "BENCH_AMOUNT": str(services.get("echo").amount)}
            desk = ClaimDesk(servers.store_of(settings), None, None, None, settings)  # type: ignore[arg-type]
            with servers.web_server(app, env) as port:
                load.fire(port, requests(desk, 50), connections=CONNECTIONS, most_seconds=30)
                calls = requests(desk, count)
                found[name] = load.fire(port, calls, connections=CONNECTIONS, most_seconds=most_seconds)
    return found


def rows(found: dict[str, Measured]) -> Iterator[tuple[str, ...]]:
    """Give a row for each server."""
    for name, measured in found.items():
        statuses = " ".join(f"{count}×{status}" for status, count in sorted(measured.statuses.items()))
        yield (
            name,
            f"{measured.per_second:.1f}",
            f"{measured.p50_ms:.1f}",
            f"{measured.p99_ms:.1f}",
            f"{found['ours'].per_second / measured.per_second:.2f}×",
            statuses,
        )


def run(quick: bool = False) -> None:
    """Measure with a settlement that takes no time, and with one that takes a ledger."""
    count = 400 if quick else 2000
    heads = ("server", "calls/s", "p50 ms", "p99 ms", "ours is", "answers")
    for seconds in (0.0, 5.0):
        most = 60 if seconds == 0 else 20
        found = measure(seconds, count, most)
        table(f"Paid calls, settlement takes {seconds:g} s, {CONNECTIONS} connections", heads, rows(found))
