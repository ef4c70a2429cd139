"""The web process dies after a step of a remote worker's job is stored, and everything ends well (J6)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from provider.chain.clock import LedgerClock
from provider.jobs.model.status import Status
from provider.jobs.recover.sweep import Sweep
from provider.jobs.store.tokens import Tokens
from provider.services import Registry
from tests.integration.web.conftest import PAY_TO, NoCache, Shop, sell
from tests.support.farworker import FarWorker
from tests.support.invariants import Evidence, check_invariants
from tests.support.timetravel import pass_time

OUTPUT = {"said": "hi"}


class Death(BaseException):
    """The process is gone; nothing catches it."""


@pytest.fixture
def registry() -> Registry:
    """Sell a remote service of each policy."""
    registry = Registry()
    sell(registry, "after", "on-success", remote=True)
    sell(registry, "before", "upfront", remote=True)
    return registry


@pytest.fixture
def bob(shop: Shop) -> FarWorker:
    return FarWorker(shop.client, Tokens(shop.store).create("bob", ("after", "before")))


@contextmanager
def dying_after(shop: Shop, step: str) -> Iterator[None]:
    """Have the process die once its next such step is stored."""

    def die(name: str) -> None:
        if name == step:
            shop.store.scripts.after = lambda name: None
            raise Death

    shop.store.scripts.after = die
    with pytest.raises(Death):
        yield


@pytest.mark.parametrize("service", ["after", "before"])
@pytest.mark.parametrize(
    ("step", "what", "said"),
    [
        ("lease", "claim", {}),
        ("renew", "renew", {}),
        ("renew", "progress", {"progress": {"done": 1}}),
        ("checkpoint", "checkpoint", {"checkpoints": [{"unit": "a"}, {"unit": "b"}]}),
        ("move", "complete", {"output": OUTPUT}),
        ("move", "fail", {"class": "interrupted"}),
        ("move", "release", {}),
        ("pace", "complete", {"output": OUTPUT}),
    ],
)
def test_a_web_process_that_dies_in_the_middle_costs_nothing(
    shop: Shop, bob: FarWorker, service: str, step: str, what: str, said: dict[str, Any]
) -> None:
    """J6: the worker asks again, or the sweep finds what lies; one success and one charge."""
    job_id = shop.call(service).json["id"]
    shop.worker.settler.settle(job_id)
    job = None if what == "claim" else bob.claim()
    shop.wake_ups.settled.clear()
    with dying_after(shop, step):
        bob.claim() if job is None else bob.tell(job, what, **said)
    if job is not None:
        bob.tell(job, what, **said)
    finish(shop, bob)
    job = shop.store.get(job_id)
    assert job.status is Status.SUCCEEDED
    assert job.starts <= 2
    transfers = shop.facilitator.transfers(PAY_TO)
    check_invariants(Evidence(shop.store, shop.registry, PAY_TO, transfers, latest_ledger=2000))


def finish(shop: Shop, bob: FarWorker) -> None:
    """Let what the dead process held run out, and have sweep, worker and settler do what they are told to."""
    for _ in range(2):
        pass_time(shop.store.client, 31)
        clock = LedgerClock(None, NoCache())
        Sweep(shop.store, shop.registry, shop.worker.settler, clock, shop.wake_ups, shop.settings).run()
        if (again := bob.claim()) is not None:
            assert bob.tell(again, "complete", output=OUTPUT)["accepted"]
        for told in shop.wake_ups.settled:
            shop.worker.settler.settle(told)
