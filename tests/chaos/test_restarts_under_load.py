"""Every process is killed and started again in turn while buyers keep calling: nothing is lost in the end.

Real clocks and real recovery: beat, sweep and reconciler are processes here like all others.
`LOAD_SECONDS=120` runs it for as long, and with as many calls, as a release deserves.
"""

import itertools
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import pytest
import requests
from redis.exceptions import RedisError

from provider.errors import StoreUnavailable
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.model.wire import dump_job
from provider.jobs.store import keys
from provider.payments.models import PaymentRequirements
from provider.payments.schemas import load_requirements
from provider.settings import Settings
from tests.chaos.parts import LEDGER_SECONDS
from tests.chaos.stage import Stage, all_up
from tests.support.invariants import check_invariants
from tests.support.localnet import running_localnet
from tests.support.payments import payment_header
from tests.support.redis_server import RedisServer, running_redis

LOAD_SECONDS = float(os.environ.get("LOAD_SECONDS", "18"))
CALLS_PER_SECOND = 20 if "LOAD_SECONDS" in os.environ else 7
KINDS = ("web", "handle", "settle", "maintenance", "beat")
PAUSE_SECONDS = max(2.5, LOAD_SECONDS / 13)
"""From one kill to the next: one round in a short run, two in a long one."""
SWEEP_SECONDS = max(1.0, LOAD_SECONDS / 24)
PATIENCE_SECONDS = 60 + 3 * LOAD_SECONDS
"""How long calls and jobs may take: what queued up while the machine was busy has to drain."""
STILL_SECONDS = 20
"""When nothing moves for so long, what is left waits for its payment to expire."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60 + LOAD_SECONDS + PATIENCE_SECONDS)]


@dataclass
class Crowd(Stage):
    """A platform in all its processes, for many buyers."""

    @cached_property
    def settings(self) -> Settings:
        short = {"settle_timeout_seconds": 5.0, "orphan_margin_seconds": 2.0, "sweep_seconds": SWEEP_SECONDS}
        return replace(super().settings, lease_seconds=3.0, **short)

    @cached_property
    def offers(self) -> dict[str, PaymentRequirements]:
        url = self.settings.public_url
        told = {one: requests.post(f"{url}/run/{one}", timeout=10).json() for one in ("after", "before")}
        return {one: load_requirements(challenge["accepts"][0]) for one, challenge in told.items()}

    def call(self, service: str) -> str:
        """Call with the same payment until there is an answer, with a new one after a 402; the job's id.

        A payment that expired on its way is refused so. Had it been taken before, no 402 might come (H4, I4).
        """
        headers, ends = self.signed(service), time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < ends:
            with suppress(requests.RequestException):
                url = f"{self.settings.public_url}/run/{service}"
                answer = requests.post(url, json={"seconds": 0.02}, headers=headers, timeout=10)
                if answer.status_code == 402:
                    headers = self.signed(service)
                elif answer.status_code != 503:
                    assert answer.status_code < 300, answer.text
                    return str(answer.json()["id"])
            time.sleep(0.3)
        raise AssertionError("nobody answered")

    def signed(self, service: str) -> dict[str, str]:
        payment = self.net.payment(self.offers[service], ledger_seconds=LEDGER_SECONDS * 1.1)
        return {"PAYMENT-SIGNATURE": payment_header(payment), "Prefer": "respond-async"}


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


@pytest.fixture(scope="module")
def stage(server: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    options = {"ledger_seconds": LEDGER_SECONDS, "channels": 16, "wait_seconds": 4}
    with running_localnet(**options) as net:
        net.state.close(2000)
        workers = {"handle": 6, "settle": 8, "maintenance": 2}
        home = tmp_path_factory.mktemp("load")
        stage = Crowd(server.url, net, home, services="tests.chaos.busy", concurrency=workers)
        with all_up(stage, KINDS):
            finished(stage, [stage.call(service) for service in stage.offers])
            yield stage


def keep_calling(stage: Crowd, seconds: float) -> list[str]:
    """Call at a steady rate, whatever becomes of the calls before; the ids of the jobs."""
    services = itertools.cycle(stage.offers)
    began, calls = time.monotonic(), []
    with ThreadPoolExecutor(100) as buyers:
        for number in range(round(seconds * CALLS_PER_SECOND)):
            time.sleep(max(0.0, began + number / CALLS_PER_SECOND - time.monotonic()))
            calls.append(buyers.submit(stage.call, next(services)))
    return [call.result() for call in calls]


def restart_in_turn(stage: Crowd, server: RedisServer, seconds: float) -> Counter[str]:
    """Kill one after the other, Redis included, and start it again a moment later; how often each."""
    restarts: Counter[str] = Counter()
    ends = time.monotonic() + seconds
    for kind in itertools.cycle([*KINDS, "redis"]):
        time.sleep(PAUSE_SECONDS)
        if time.monotonic() > ends:
            return restarts
        if kind == "redis":
            server.kill()
            time.sleep(0.5)
            server.start()
        else:
            stage.stop(kind)
            stage.start(kind)
        restarts[kind] += 1
    return restarts


class Watch:
    """Reads every job that changed, and notes down outputs that come before their payment (I5)."""

    def __init__(self, stage: Crowd) -> None:
        self._stage = stage
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            with suppress(StoreUnavailable, RedisError):  # It is among those that are killed.
                self._listen()

    def _listen(self) -> None:
        news = self._stage.store.client.pubsub(ignore_subscribe_messages=True)
        news.psubscribe(keys.EVENTS)
        while not self._done.is_set():
            if message := news.get_message(timeout=0.2):
                self._look(keys.job_id_of(message["channel"]))

    def _look(self, job_id: str) -> None:
        job = self._stage.store.get(job_id)
        if "output" in dump_job(job) and not self._stage.charges(job):
            self._stage.read_unpaid.append(job.id)


def test_nothing_is_lost_when_every_process_restarts_under_load(stage: Crowd, server: RedisServer) -> None:
    """Issue 3: no claim lost, none charged twice, every job final afterwards, and all of I1 to I9."""
    with ThreadPoolExecutor(1) as pool, Watch(stage):
        calling: Future[list[str]] = pool.submit(keep_calling, stage, LOAD_SECONDS)
        restarts = restart_in_turn(stage, server, LOAD_SECONDS)
        ids = calling.result()
        jobs = finished(stage, ids)
        died_by_themselves = {kind for kind in KINDS if stage.processes[kind].poll() is not None}
    assert set(restarts) == {*KINDS, "redis"}
    assert not died_by_themselves, "they were to live through what happened to the others"
    assert len(set(ids)) == len(ids) == round(LOAD_SECONDS * CALLS_PER_SECOND)
    assert set(ids) <= {job.id for job in jobs}, "a claim was lost"
    assert sum(job.charged for job in jobs) == sum(stage.evidence().charges().values())
    told = Counter((job.service, job.status.value, job.error) for job in jobs)
    print(f"{len(ids)} calls, restarts {dict(restarts)}, ends {dict(told)}")  # noqa: T201  Shown by -s.
    assert sum(job.status is Status.SUCCEEDED for job in jobs) >= 0.9 * len(jobs), told
    check_invariants(stage.evidence())


def finished(stage: Crowd, ids: list[str]) -> list[Job]:
    """Wait until every job is final, payments that never landed having expired first; all jobs there are."""
    ends, moved = time.monotonic() + PATIENCE_SECONDS, time.monotonic()
    while ids:
        waiting = [one for one in ids if not stage.store.get(one).is_final]
        if len(waiting) < len(ids):
            ids, moved = waiting, time.monotonic()
        elif time.monotonic() > moved + STILL_SECONDS:
            stage.expire_payments()
            moved = time.monotonic()
        assert time.monotonic() < ends, [stage.store.get(one) for one in ids]
        time.sleep(0.2)
    return stage.evidence().jobs()
