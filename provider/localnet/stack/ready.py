"""Does a local platform answer? Each process is asked in the way its users would ask it."""

import contextlib
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime

import requests

from provider.errors import StoreUnavailable
from provider.jobs.store.client import REDIS_ERRORS, connect
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.rounds import Rounds
from provider.localnet.stack.plan import Plan

ASK_SECONDS = 2.0
PAUSE_SECONDS = 0.1
WORKERS = frozenset({"handle", "settle", "maintenance"})
ONLINE = re.compile(r'^flower_worker_online\{worker="([^"@]+)@[^"]*"\} 1\.0$', re.MULTILINE)

Check = Callable[[], bool]


def checks(plan: Plan) -> dict[str, Check]:
    """Give a check for each part of the platform."""
    http = requests.Session()
    http.trust_env = False  # A proxy of this machine has no business with its loopback.
    store = connect(plan.redis_url, timeout_seconds=ASK_SECONDS)
    rounds, started = Rounds(JobStore(store)), datetime.now(UTC)

    def answers(url: str) -> bool:
        return http.get(url, timeout=ASK_SECONDS).ok

    def metrics() -> str:
        return http.get(plan.flower_url + "/metrics", timeout=ASK_SECONDS).text

    def chain_is_healthy() -> bool:
        call = {"jsonrpc": "2.0", "id": 1, "method": "getHealth"}
        return "result" in http.post(plan.rpc_url, json=call, timeout=ASK_SECONDS).json()

    def beat_sends() -> bool:
        """Look for a round that began now: kept data holds those of the last run."""
        began = rounds.last("sweep").began
        return began is not None and began >= started

    return {
        "redis": lambda: bool(store.ping()),
        "chain": chain_is_healthy,
        "facilitator": lambda: answers(plan.facilitator_url + "/supported"),
        "web": lambda: answers(plan.web_url + "/readyz"),
        "workers": lambda: online_workers(metrics()) >= WORKERS,
        "beat": beat_sends,
        "flower": lambda: answers(plan.flower_url + "/healthcheck"),
    }


def online_workers(metrics: str) -> set[str]:
    """Name the workers that Flower has heard of. They obey no remote control, so they answer no ping."""
    return set(ONLINE.findall(metrics))


def wait_until_ready(pending: dict[str, Check], seconds: float, stop: Callable[[], bool]) -> list[str]:
    """Ask until all parts answer; return the names of those that did not in time."""
    deadline = time.monotonic() + seconds
    while pending and time.monotonic() < deadline and not stop():
        pending = {name: check for name, check in pending.items() if not _passes(check)}
        time.sleep(PAUSE_SECONDS if pending else 0)
    return list(pending)


def _passes(check: Check) -> bool:
    with contextlib.suppress(requests.RequestException, StoreUnavailable, *REDIS_ERRORS, ValueError):
        return check()
    return False
