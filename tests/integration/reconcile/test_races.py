"""Sweeps, reconcilers, a late answer and a renewal at the same jobs at once: one decision each (J4)."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pytest

from provider.chain.clock import LedgerClock
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.model.wire import dump_job
from provider.jobs.reconcile.run import Reconciler
from provider.jobs.recover.sweep import Sweep
from provider.jobs.run.transitions import Outcomes
from provider.jobs.settle.settler import Settler
from provider.jobs.store import keys
from provider.jobs.store.client import connect
from provider.jobs.store.durability import Durability
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.jobs.store.ledger_cache import LedgerCache
from provider.networks import TESTNET, USDC
from provider.payments.facilitator import FacilitatorClient
from provider.services import ChargePolicy, Registry
from provider.settings import Settings
from tests.support.invariants import Evidence, check_invariants
from tests.support.jobs import service
from tests.support.racing import race_rounds
from tests.support.reconciling import Claim, Scene

ROUNDS = 100
LATE_SECONDS = 0.004
"""What the answer and the renewal gain every other round, in twenty rounds; then it starts over."""
UPFRONT, ON_SUCCESS = ChargePolicy.UPFRONT, ChargePolicy.ON_SUCCESS


@dataclass
class Racer:
    """The domain objects of one process, on connections of its own."""

    scene: Scene

    @cached_property
    def settings(self) -> Settings:
        given: Any = {"settle_timeout_seconds": 0.001, "orphan_margin_seconds": 0.001, "asset": USDC[TESTNET]}
        return Settings(pay_to=self.scene.seller.public_key, redis_url=self.scene.redis_url, **given)

    @cached_property
    def store(self) -> JobStore:
        return JobStore(connect(self.scene.redis_url))

    @cached_property
    def registry(self) -> Registry:
        registry = Registry()
        for name, charge in (("after", ON_SUCCESS), ("before", UPFRONT)):
            registry.add(service(name, charge=charge, concurrency=100))
        return registry

    @cached_property
    def settler(self) -> Settler:
        client, durability = (
            FacilitatorClient("http://127.0.0.1:9"),
            Durability(self.store.client, timeout_ms=1),
        )
        return Settler(self.store, client, durability, self.scene.wakeups, self.settings)

    @cached_property
    def lanes(self) -> Lanes:
        return Lanes(self.store)

    def sweep(self) -> Counter[str]:
        clock = LedgerClock(self.scene.rpcs[0], LedgerCache(self.store))
        report = Sweep(
            self.store, self.registry, self.settler, clock, self.scene.wakeups, self.settings
        ).run()
        return report.actions

    def reconcile(self) -> Counter[str]:
        decisions = Reconciler(self.store, self.scene.rpcs[:1], self.settler, self.settings).run().decisions
        return Counter(f"reconciled, {'first' if found.recorded else 'too late'}" for found in decisions)

    def lease(self, job_id: str, owner: str, seconds: float = 30) -> Job:
        lease = self.lanes.lease(self.registry.get("before"), job_id, owner, lease_seconds=seconds)
        assert not isinstance(lease, str), lease
        return lease.job

    def finish(self, job: Job) -> None:
        """Store the output of a paid job."""
        assert Outcomes(self.store, self.scene.wakeups, self.settings).output(job, "{}", {})


@dataclass
class Round:
    """What is raced for, all of it at once."""

    landed: dict[str, str]
    """Jobs whose payment is on chain, by id, with its transaction."""
    expired: list[str]
    """Jobs whose payment can never land any more."""
    leased: str
    """A paid job whose lease has just run out."""
    late: float
    is_renewed: bool = False


class Race:
    """The racers, and an umpire who makes what they race for and hears of each change of a record."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.umpire = scene, Racer(scene)
        self.told: Counter[str] = Counter()
        self.read_unpaid: list[str] = []
        self.rounds: list[Round] = []
        self.news: Any = self.umpire.store.client.pubsub(ignore_subscribe_messages=True)
        self.news.psubscribe(keys.EVENTS)
        acts = [self.sweep] * 3 + [self.reconcile] * 2 + [self.answer, self.renew, self.look]
        self.acts: list[Callable[[Round], None]] = [partial(act, Racer(scene)) for act in acts]

    # Who races

    def sweep(self, racer: Racer, now: Round) -> None:
        self.told += racer.sweep()

    def reconcile(self, racer: Racer, now: Round) -> None:
        self.told += racer.reconcile()

    def answer(self, racer: Racer, now: Round) -> None:
        """Record what the facilitator says at last."""
        time.sleep(now.late)
        recorded = [racer.settler.record_paid(*pair) for pair in now.landed.items()]
        recorded += [racer.settler.record_unpaid(job_id, "invalid_late") for job_id in now.expired]
        self.told += Counter(f"answered, {'first' if first else 'too late'}" for first in recorded)

    def renew(self, racer: Racer, now: Round) -> None:
        """Go on with the job that was leased."""
        time.sleep(now.late)
        now.is_renewed = racer.lanes.renew(now.leased, "slow", lease_seconds=30) is not None

    def look(self, racer: Racer, now: Round) -> None:
        """Look for an output that nobody paid for (I5)."""
        for _ in range(10):
            seen = racer.store.get_many([job_id for job_id in now.expired if job_id.startswith("after")])
            self.read_unpaid += [job.id for job in seen if "output" in dump_job(job)]

    # What is raced for, and what became of it

    def prepare(self) -> Round:
        """Make what the next round is about: settlements that were given up, and such that will be."""
        scene = self.scene
        one, other = (scene.claim, self.silent)[:: 1 if len(self.rounds) % 2 else -1]
        claims, others = (one(ON_SUCCESS), other(UPFRONT)), (other(ON_SUCCESS), one(UPFRONT))
        leased = scene.settling(UPFRONT)
        *hashes, paid = scene.land_all([claim.payment for claim in (*claims, leased)])
        self.umpire.settler.record_paid(leased.id, paid)
        self.umpire.lease(leased.id, "slow", seconds=0.001)
        scene.expire()
        scene.redis.delete(keys.CLOCK)
        self.heard()
        landed = {claim.id: transaction for claim, transaction in zip(claims, hashes, strict=True)}
        late = len(self.rounds) // 2 % 10 * LATE_SECONDS
        return Round(landed, [claim.id for claim in others], leased.id, late)

    def silent(self, charge: ChargePolicy) -> Claim:
        return self.scene.settling(charge, give_up_seconds=0)

    def heard(self) -> dict[str, list[str]]:
        """Give what each record was said to become since the last time, in order."""
        heard, end = defaultdict(list), keys.job(f"umpire.{0:032x}")
        self.scene.redis.publish(end, "end")
        for message in self.news.listen():
            if message["channel"] == end:
                break
            heard[keys.job_id_of(message["channel"])].append(message["data"])
        return heard

    def next(self) -> Round:
        """Judge the round that is over, and begin another."""
        if self.rounds:
            self.judge(self.rounds[-1])
        self.rounds.append(self.prepare())
        return self.rounds[-1]

    def judge(self, over: Round) -> None:
        """Hold every job to one decision, the one that is true on chain."""
        heard = self.heard()
        for job_id in (*over.landed, *over.expired):
            paid = "queued" if job_id.startswith("before") else "succeeded"
            decision = paid if job_id in over.landed else "failed"
            assert heard[job_id] in ([decision], ["payment_uncertain", decision]), (job_id, heard[job_id])
        assert heard[over.leased] == ([] if over.is_renewed else ["queued"])
        self.told["renewed" if over.is_renewed else "lost its lease"] += 1
        assert self.umpire.store.get(over.leased).interruptions == (0 if over.is_renewed else 1)
        assert self.umpire.lanes.load("before") == (2 - over.is_renewed, over.is_renewed)
        for job_id in (*over.landed, over.leased):
            job = self.umpire.store.get(job_id)
            if not job.is_final:
                job = self.umpire.lease(job_id, "slow" if job.status is Status.RUNNING else "next")
                self.umpire.finish(job)


@pytest.mark.slow
def test_each_job_is_decided_once_whoever_comes_at_the_same_moment(scene: Scene) -> None:
    """Issue 3: 100 rounds with a start line; then all of I1 to I9."""
    race = Race(scene)
    race_rounds(len(race.acts), ROUNDS, race.next, lambda now, number: race.acts[number](now))
    race.judge(race.rounds[-1])
    first, late = ("answered, first", "reconciled, first"), ("answered, too late", "reconciled, too late")
    assert not {*first, *late, "renewed", "lost its lease", "give_up_settlement"} - set(race.told), race.told
    assert sum(race.told[who] for who in first) == 4 * ROUNDS
    pay_to, ledger = scene.seller.public_key, scene.ledger
    store, registry = race.umpire.store, race.umpire.registry
    transfers = scene.state.transfers
    check_invariants(Evidence(store, registry, pay_to, transfers, ledger, read_unpaid=race.read_unpaid))
