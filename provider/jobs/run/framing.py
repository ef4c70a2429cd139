"""Frames from a handler's process to its worker: whole messages, each with the number of its order.

`Connection.recv` would wait for the rest of a message for as long as it takes, and it may never come: the
handler was stopped, or one of its threads holds the interpreter while another is half way through a message.
So the worker gathers what has arrived, and never waits past its own clock (R2).
"""

import os
import pickle
import socket
import struct
import time
from multiprocessing.connection import Connection
from typing import Any

_HEADER = struct.Struct("!QQ")
"""Number of the order, bytes that follow."""
_READ_BYTES = 1 << 20


class Outlet:
    """The handler's end. It is not thread-safe."""

    def __init__(self, connection: Connection, order: int) -> None:
        self._fd = connection.fileno()
        self._order = order

    def send(self, message: Any) -> None:
        """Send a message, in one piece if the socket takes it. Raises OSError when the worker is gone."""
        data = pickle.dumps(message)
        left = memoryview(_HEADER.pack(self._order, len(data)) + data)
        while left:
            left = left[os.write(self._fd, left) :]


class Inlet:
    """The worker's end; hears only what belongs to the present order."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._arrived = bytearray()
        self.order = 0

    def next(self, seconds: float) -> Any:
        """Wait for a message; None when there is none in time. Raises EOFError when the other end is gone."""
        ends_at = time.monotonic() + seconds
        while (message := self._whole()) is None:
            if not self._connection.poll(max(0.0, ends_at - time.monotonic())):
                return None
            data = os.read(self._connection.fileno(), _READ_BYTES)
            if not data:
                raise EOFError
            self._arrived += data
            if time.monotonic() >= ends_at:
                return self._whole()
        return message

    def _whole(self) -> Any:
        """Take the next whole message off what arrived, passing over those of other orders."""
        while len(self._arrived) >= _HEADER.size:
            order, count = _HEADER.unpack_from(self._arrived)
            end = _HEADER.size + count
            if len(self._arrived) < end:
                break
            data = bytes(self._arrived[_HEADER.size : end])
            del self._arrived[:end]
            if order == self.order:
                return pickle.loads(data)  # noqa: S301 - The handler is the seller's own code.
        return None


def send_in_time(connection: Connection, seconds: int) -> None:
    """Have writes to a connection fail with an OSError, rather than wait longer than this for its reader."""
    with socket.socket(fileno=os.dup(connection.fileno())) as end:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", seconds, 0))
