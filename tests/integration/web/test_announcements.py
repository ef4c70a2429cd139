"""Jobs that wait are announced to the remote workers that may run them (§11)."""

from collections.abc import Iterator
from typing import Any

import pytest

from provider.jobs.store.tokens import Tokens
from provider.services import Registry
from provider.web.streams import announcements
from tests.integration.web.conftest import Shop, sell
from tests.support.sse import Event, events


@pytest.fixture
def registry() -> Registry:
    """Sell three remote services."""
    registry = Registry()
    for name in ("red", "green", "blue"):
        sell(registry, name, "on-success", remote=True, concurrency=1)
    return registry


def listen(shop: Shop, token: str, query: str = "") -> tuple[Any, Iterator[Event]]:
    client = shop.client.application.test_client()
    answer = client.get(f"/worker/events{query}", headers={"Authorization": f"Bearer {token}"})
    return answer, events(answer.iter_encoded())


def test_a_worker_hears_of_the_jobs_it_may_run(shop: Shop) -> None:
    """When it begins to listen, and when another one is queued; of no other services."""
    shop.call("red")
    shop.call("blue")
    answer, stream = listen(shop, Tokens(shop.store).create("bob", ("red", "green")))
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    first = next(stream)
    assert (first.name, first.data) == ("queued", {"waiting": {"red": 1}})
    shop.call("green")
    later = next(event for event in stream if "green" in event.data["waiting"])
    assert later.data == {"waiting": {"green": 1, "red": 1}}


def test_a_worker_may_listen_for_fewer_services(shop: Shop) -> None:
    """Those that it would claim."""
    shop.call("red")
    shop.call("green")
    _, stream = listen(shop, Tokens(shop.store).create("bob", ("red", "green")), "?services=green")
    assert next(stream).data == {"waiting": {"green": 1}}


def test_jobs_are_announced_again_while_they_wait(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """An announcement may be lost, and so may who heard it."""
    monkeypatch.setattr(announcements, "AGAIN_SECONDS", 0.1)
    shop.call("red")
    _, stream = listen(shop, Tokens(shop.store).create("bob", ("red",)))
    assert [next(stream).data for _ in range(3)] == [{"waiting": {"red": 1}}] * 3


def test_a_free_place_is_announced(shop: Shop) -> None:
    """Q6: whoever frees it has the lane looked into."""
    _, waits = shop.call("red").json["id"], shop.call("red").json["id"]
    bob = Tokens(shop.store).create("bob", ("red",))
    headers = {"Authorization": f"Bearer {bob}"}
    job = shop.client.post("/worker/claims", json={}, headers=headers).json["job"]
    shop.client.post(
        f"/worker/jobs/{job['id']}/complete", json={"lease": job["lease"], "output": {}}, headers=headers
    )
    assert shop.wake_ups.handled[-1] == waits


def test_a_revoked_worker_hears_nothing_more(shop: Shop) -> None:
    """Also one that got a new token since."""
    tokens = Tokens(shop.store)
    shop.call("red")
    _, stream = listen(shop, tokens.create("bob", ("red",)))
    next(stream)
    tokens.revoke("bob")
    tokens.create("bob", ("red", "green"))
    shop.call("red")
    assert list(stream) == []


@pytest.mark.parametrize(("query", "status"), [("?services=blue", 403), ("?services=red", 400)])
def test_who_may_not_claim_may_not_listen(shop: Shop, query: str, status: int) -> None:
    """The same rules, before the stream begins."""
    del shop.registry._declared[:1]
    answer, _ = listen(shop, Tokens(shop.store).create("bob", ("red", "green")), query)
    assert answer.status_code == status
    assert shop.client.get("/worker/events").status_code == 401
