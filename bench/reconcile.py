"""Reconciling 500 uncertain jobs: the RPC calls it takes, counted, and its time, on the local chain.

The reference point is one call a job: that is what asking `getTransaction` for each costs.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import servers
from bench.report import table
from provider.logs import configure_logging
from provider.services import ChargePolicy
from tests.support.reconciling import WINDOW, Claim, Scene, running_scene

JOBS = 500
FIXED = 6


@dataclass(frozen=True)
class Case:
    """What became of the payments, and how many of them landed."""

    name: str
    prepare: Callable[[Scene, Sequence[Claim]], int]
    searched: bool = False
    """The entries of the nonces have gone, so that the history decides."""


def still_valid(scene: Scene, claims: Sequence[Claim]) -> int:
    """Nothing has happened yet."""
    return 0


def expired(scene: Scene, claims: Sequence[Claim]) -> int:
    """None landed in its time."""
    scene.expire()
    return 0


def some_paid(scene: Scene, claims: Sequence[Claim]) -> int:
    """50 landed, five in a ledger."""
    paid = claims[:: len(claims) // 50]
    for start in range(0, len(paid), 5):
        scene.land_all([claim.payment for claim in paid[start : start + 5]])
    scene.expire()
    return len(paid)


def all_paid(scene: Scene, claims: Sequence[Claim]) -> int:
    """All landed, in ten ledgers."""
    for start in range(0, len(claims), len(claims) // 10):
        scene.land_all([claim.payment for claim in claims[start : start + len(claims) // 10]])
    scene.expire()
    return len(claims)


def long_gone(scene: Scene, claims: Sequence[Claim]) -> int:
    """None landed, and the entries of any that had would have gone."""
    scene.state.close(WINDOW + 20)
    return 0


CASES = (
    Case("none can be decided yet", still_valid),
    Case("none was paid", expired),
    Case("50 were paid", some_paid),
    Case("all were paid", all_paid),
    Case("none was paid, and entries would have gone", long_gone, searched=True),
)


def measure(case: Case, jobs: int) -> tuple[str, ...]:
    """Run one case on a chain and a Redis of its own."""
    with (
        servers.redis_server() as url,
        tempfile.TemporaryDirectory() as home,
        running_scene(url, Path(home)) as scene,
    ):
        charges = (ChargePolicy.ON_SUCCESS, ChargePolicy.UPFRONT)
        claims = [scene.claim(charges[number % 2]) for number in range(jobs)]
        paid = case.prepare(scene, claims)
        began = time.perf_counter()
        report = scene.reconcile()
        took = time.perf_counter() - began
    assert report.counts.total() == jobs, report.counts
    assert report.counts["paid"] == paid, report.counts
    decided = ", ".join(f"{count} {verdict}" for verdict, count in sorted(report.counts.items()))
    most = "" if case.searched else str(FIXED + 2 * paid)
    holds = "" if case.searched else "yes" if report.rpc_calls <= FIXED + 2 * paid else "NO"
    return case.name, decided, str(report.rpc_calls), most, holds, str(jobs), f"{took:.2f}"


def run(quick: bool = False) -> None:
    """Measure each case."""
    configure_logging("ERROR")
    jobs = 100 if quick else JOBS
    heads = ("payments", "decided", "RPC calls", "most", "holds", "one a job", "seconds")
    table(f"Reconciling {jobs} uncertain jobs", heads, [measure(case, jobs) for case in CASES])
