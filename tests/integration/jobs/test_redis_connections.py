"""Connections to Redis come from a pool that has an end (`provider.jobs.store.client`)."""

import time
from typing import Any

import pytest

from provider.errors import StoreUnavailable
from provider.jobs.store.client import connect
from provider.jobs.store.jobs import JobStore
from tests.support.racing import race


def test_many_threads_share_few_connections(redis_url: str) -> None:
    """Those that find all in use wait for their turn. Red while each thread opened one of its own."""
    store = JobStore(connect(redis_url, most_connections=3, client_name="few"))
    for _ in range(20):
        assert race(24, lambda _: store.ping()) == [None] * 24
    others: Any = store.client.client_list()
    assert 1 <= sum(client["name"] == "few" for client in others) <= 3


def test_a_thread_waits_for_a_connection_no_longer_than_for_an_answer(redis_url: str) -> None:
    """C5: an error, and soon."""
    store = JobStore(connect(redis_url, most_connections=1, timeout_seconds=0.3))
    taken = store.client.connection_pool.get_connection()
    began = time.monotonic()
    with pytest.raises(StoreUnavailable):
        store.ping()
    assert 0.2 < time.monotonic() - began < 2
    store.client.connection_pool.release(taken)
    store.ping()
