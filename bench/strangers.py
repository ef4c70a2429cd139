"""Fifty strangers that pay nothing beside ten honest buyers, on the whole platform of `provider dev`.

What is shown: how many honest purchases succeed, how long a price takes, what Redis keeps, and that no output
and no job id goes to a caller that has not paid.
"""

import multiprocessing
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis
import requests
from stellar_sdk import Keypair

from bench.report import table
from bench.stranger_crowd import STRANGERS, crowd
from provider.localnet.demo.background import background_platform
from provider.payments.models import PaymentRequirements
from provider.payments.schemas import load_requirements
from tests.support.payments import payment_header, payment_wire, signed_payment

HONEST = 10
SECONDS, QUICK_SECONDS = 120, 20
PAUSE_SECONDS = 0.5
SUCCESSES, P99_SECONDS, BYTES_A_JOB = 0.99, 0.5, 4096


@dataclass
class Outcome:
    """What was measured."""

    calls: Counter[str] = field(default_factory=Counter)
    price_seconds: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    jobs_before: int = 0
    jobs: int = 0
    strangers: dict[str, int] = field(default_factory=dict)
    leaks: list[str] = field(default_factory=list)

    @property
    def success_rate(self) -> float:
        return self.calls["bought"] / max(1, self.calls.total())

    @property
    def p99_seconds(self) -> float:
        found = sorted(self.price_seconds)
        return found[len(found) * 99 // 100] if found else float("inf")

    @property
    def bytes_a_job(self) -> float:
        """How much Redis grew for each honest purchase, which it keeps."""
        return (self.memory[-1] - self.memory[0]) / max(1, self.jobs - self.jobs_before)


class Buyers:
    """Honest buyers, each with an account of its own."""

    def __init__(
        self, platform: dict[str, Any], offer: PaymentRequirements, seen: Any, into: Outcome
    ) -> None:
        self._platform, self._offer, self._seen, self._into = platform, offer, seen, into
        self._lock = threading.Lock()

    def buy_until(self, ends_at: float) -> None:
        """Buy one after the other, all of them at once."""
        with ThreadPoolExecutor(HONEST) as pool:
            for buying in [pool.submit(self._keep_buying, n, ends_at) for n in range(HONEST)]:
                buying.result()

    def _keep_buying(self, number: int, ends_at: float) -> None:
        keypair, session = Keypair.random(), requests.Session()
        funds = {"account": keypair.public_key, "usdc": "100"}
        session.post(self._platform["rpc_url"] + "/admin/fund", json=funds, timeout=10).raise_for_status()
        while time.monotonic() < ends_at:
            ended = self._buy(session, keypair, number)
            with self._lock:
                self._into.calls[ended] += 1
            time.sleep(PAUSE_SECONDS)

    def _buy(self, session: requests.Session, keypair: Keypair, number: int) -> str:
        url = f"{self._platform['web_url']}/run/{('castor', 'pollux')[number % 2]}"
        try:
            began = time.monotonic()
            priced = session.post(url, json={"n": 1}, timeout=30)
            with self._lock:
                self._into.price_seconds.append(time.monotonic() - began)
            if priced.status_code != 402:
                return f"no price: {priced.status_code}"
            expires = latest_ledger(self._platform) + self._offer.max_timeout_seconds - 10
            payment = signed_payment(self._offer, keypair, expires)
            headers = {"PAYMENT-SIGNATURE": payment_header(payment), "Prefer": "wait=20"}
            answer = session.post(url, json={"n": 1}, headers=headers, timeout=40)
            self._seen.put(payment_wire(payment))
            if answer.status_code == 202:
                answer = self._followed(session, answer.json()["id"])
            bought = answer.status_code == 200 and answer.json()["output"] == {"n": 1}
            return "bought" if bought else f"not bought: {answer.status_code}"
        except requests.RequestException as error:
            return type(error).__name__

    def _followed(self, session: requests.Session, job_id: str) -> requests.Response:
        url = f"{self._platform['web_url']}/jobs/{job_id}"
        return session.get(url, headers={"Prefer": "wait=25"}, timeout=40)


def latest_ledger(platform: dict[str, Any]) -> int:
    """Ask the chain how far it is."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": "getLatestLedger"}
    return int(requests.post(platform["rpc_url"], json=asked, timeout=10).json()["result"]["sequence"])


@contextmanager
def strangers(
    platform: dict[str, Any], offer: PaymentRequirements, into: Outcome, seen: Any
) -> Iterator[None]:
    """Have strangers call meanwhile."""
    context = multiprocessing.get_context("spawn")
    stop, told = context.Event(), context.Queue()
    expires = latest_ledger(platform) + offer.max_timeout_seconds - 10
    given = (platform["web_url"], offer, expires, seen, stop, told)
    process = context.Process(target=crowd, args=given, daemon=True)
    process.start()
    try:
        yield
    finally:
        stop.set()
        into.strangers, into.leaks = told.get(timeout=60)
        process.join(10)


def measure(seconds: float) -> Outcome:
    """Let both call for so long; the first eighth of the time is warm-up for the memory."""
    outcome = Outcome()
    with (
        tempfile.TemporaryDirectory(prefix="crowd-") as home,
        background_platform(Path(home), services="tests.support.twins") as platform,
        redis.Redis.from_url(platform["redis_url"]) as client,
    ):
        quoted = requests.post(platform["web_url"] + "/run/castor", timeout=10).json()
        offer, seen = load_requirements(quoted["accepts"][0]), multiprocessing.get_context("spawn").Queue()
        began = time.monotonic()
        with strangers(platform, offer, outcome, seen):
            buyers = Buyers(platform, offer, seen, outcome)
            buying = threading.Thread(target=buyers.buy_until, args=(began + seconds,))
            buying.start()
            time.sleep(seconds / 8)
            outcome.jobs_before = claims(client)
            while buying.is_alive():
                outcome.memory.append(int(client.info("memory")["used_memory"]))  # type: ignore[index]
                buying.join(1)
        outcome.jobs = claims(client)
        outcome.memory.append(int(client.info("memory")["used_memory"]))  # type: ignore[index]
    return outcome


def claims(client: "redis.Redis") -> int:
    """Count the payments that were taken."""
    return sum(1 for _ in client.scan_iter(match="provider:{claim:*", count=1000))


def run(quick: bool) -> None:
    """Measure and print."""
    found = measure(QUICK_SECONDS if quick else SECONDS)
    others = {ended: count for ended, count in found.calls.items() if ended != "bought"}
    rows = [
        ("honest purchases", f"{found.calls['bought']} of {found.calls.total()}", f"≥ {SUCCESSES:.0%}"),
        ("p99 of their 402", f"{found.p99_seconds * 1000:.0f} ms", f"≤ {P99_SECONDS * 1000:.0f} ms"),
        ("Redis grew for each of them", f"{found.bytes_a_job:.0f} bytes", f"≤ {BYTES_A_JOB}"),
        ("payments taken, honest calls", f"{found.jobs}, {found.calls.total()}", "no more of the first"),
        ("outputs and job ids to strangers", str(len(found.leaks)), "0"),
    ]
    heads = ("measured", "found", "target")
    table(f"{STRANGERS} strangers beside {HONEST} buyers", heads, rows)
    table(
        "What strangers were answered",
        ("call", "times"),
        [(k, str(v)) for k, v in sorted(found.strangers.items())],
    )
    for line in [*map(str, others.items()), *found.leaks[:10]]:
        print(line)
