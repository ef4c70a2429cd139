"""A hub that hears, for tests that count what wakes it."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass, field

from provider.jobs.store import keys
from provider.jobs.store.jobs import JobStore
from provider.web.guests import Listener
from provider.web.streams.hub import Hub
from provider.web.streams.stream import Feed, News
from tests.support.processes import wait_until

NOBODY = "nobody." + "f" * 32


@dataclass(eq=False, slots=True)
class Ear(Feed):
    """A feed that notes the words it is woken by."""

    heard: set[str] = field(default_factory=set)

    def pause_seconds(self, topic: str, word: str) -> float:
        self.heard.add(word)
        return 0.0


class Silence:
    """A source without news."""

    def news(self, feeds: Sequence[Feed]) -> list[News]:
        return [News() for _ in feeds]


def subscribe(hub: Hub, store: JobStore) -> None:
    """Wait until the hub hears messages, and has forgotten that it could not."""
    near, far = socket.socketpair()
    ear = Ear(frozenset({NOBODY}))
    hub.add(Listener(Silence(), ear, sock=near))
    assert wait_until(lambda: store.client.publish(keys.job(NOBODY), "warm") and "warm" in ear.heard)
    far.close()
    assert wait_until(lambda: len(hub) == 0)
    near.close()


def all_were_asked_for(hub: Hub, count: int) -> bool:
    """Tell whether so many guests are in, and each of them knows how things stand."""
    inside = hub._agenda.guests
    return wait_until(lambda: len(inside) == count and all(guest.asked_at for guest in list(inside)))
