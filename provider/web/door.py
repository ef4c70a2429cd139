"""The sockets of the hub's guests, and a bell that wakes the hub from other threads."""

import selectors
import socket
from collections.abc import Iterator
from contextlib import suppress

from provider.web.guests import Guest

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class Door:
    """Tells which clients take more, and which have gone or say more than their request."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._alarm, self._bell = socket.socketpair()
        self._alarm.setblocking(False)
        self._bell.setblocking(False)
        self._selector.register(self._alarm, READ)

    def ring(self) -> None:
        """End the present `wait`, or else the next."""
        with suppress(BlockingIOError):
            self._bell.send(b"\0")

    def wait(self, seconds: float) -> Iterator[tuple[Guest, bool]]:
        """Give those at the door, and whether they take more rather than say something."""
        for key, mask in self._selector.select(seconds):
            if key.data is None:
                self._alarm.recv(4096)
            else:
                yield key.data, bool(mask & WRITE)

    def watch(self, guest: Guest) -> None:
        """Watch for what matters about a guest now."""
        if guest.sock is None:
            return
        wanted = (0 if guest.is_deaf else READ) | (WRITE if guest.unsent else 0)
        known = self._selector.get_map().get(guest.sock)
        if known is None and wanted:
            self._selector.register(guest.sock, wanted, guest)
        elif known is not None and not wanted:
            self._selector.unregister(guest.sock)
        elif known is not None and known.events != wanted:
            self._selector.modify(guest.sock, wanted, guest)

    def forget(self, guest: Guest) -> None:
        """Watch a guest no longer."""
        if guest.sock is not None:
            with suppress(KeyError):
                self._selector.unregister(guest.sock)


def has_gone(guest: Guest) -> bool:
    """Tell whether the client of a socket that can be read has closed it."""
    assert guest.sock is not None
    try:
        return guest.sock.recv(1, socket.MSG_PEEK) == b""
    except OSError:
        return True
