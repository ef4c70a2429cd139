"""A Redis that strangers filled makes room again by itself (issue 9.12, C6).

Red before: the ledger cache's write was refused, with it every sweep, and so neither retention made room, nor
were jobs of dead workers taken up, nor payments that had landed decided.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from provider.errors import StoreUnavailable
from provider.jobs.model.status import Status
from provider.jobs.store.claims import ClaimKeys
from provider.jobs.store.ledger_cache import LedgerCache
from provider.jobs.store.listing import JobIndex
from provider.jobs.store.reconcile_cursor import Cursors
from provider.jobs.store.stats import read_stats
from tests.support.jobs import Platform, running_platform
from tests.support.redis_server import RedisServer
from tests.support.timetravel import pass_time


@pytest.fixture
def platform(own_redis: RedisServer) -> Iterator[Platform]:
    """Give a platform whose Redis is full when the test says so."""
    with running_platform(own_redis.url, retention_seconds=10.0) as parts:
        yield parts
        parts.store.client.config_set("maxmemory", 0)


def full(platform: Platform) -> None:
    platform.store.client.config_set("maxmemory", 1)


def test_the_sweep_makes_room(platform: Platform) -> None:
    """The first thing it does is to read the clock, the last to forget what is old."""
    platform.finish(platform.buy())
    platform.clock.latest_ledger += 61
    pass_time(platform.store.client, 3_700)
    full(platform)
    assert platform.sweep.run().actions == {"forget": 1}


WRITES: dict[str, Callable[[Platform], Any]] = {
    "the ledger cache": lambda p: LedgerCache(p.store).set("[1, 2.0, 5.0]", 5),
    "a later look": lambda p: p.store.look_later("after", ["after." + "0" * 32], 15),
    "a claim that outlives its job": lambda p: ClaimKeys(p.store).outlive("ab" * 32, until_ms=1),
    "the reconciler's cursor": lambda p: Cursors(p.store).confirmed("after", 1),
    "a round of beat": lambda p: p.rounds.begin("sweep", 15),
    "the list of jobs": lambda p: JobIndex(p.store).oldest("after", list(Status), until_ms=2**50, limit=9),
    "the figures of a lane": lambda p: read_stats(p.store, list(p.registry)),
    "a receipt": lambda p: ClaimKeys(p.store).bind_receipt("ab" * 32, "after.1", seconds=9),
}


@pytest.mark.parametrize("name", WRITES)
def test_maintenance_writes_into_a_full_store(platform: Platform, name: str) -> None:
    """Each command of sweep, reconcile, settle, retention and CLI that is no script of its own."""
    full(platform)
    WRITES[name](platform)


def test_new_work_is_still_refused(platform: Platform) -> None:
    """What is refused is refused before its first write."""
    full(platform)
    with pytest.raises(StoreUnavailable):
        platform.buy()
