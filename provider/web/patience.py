"""gunicorn's thread worker, for clients that never finish what they began, and for those that wait.

A thread of gunicorn's own waits for a request as long as the client likes: one that vanished half way through
its headers or its body costs a thread for good, and as many as there are threads stop the whole process. Here
the client has a time in which its request must have arrived; after that it counts as gone.

A client that waits for news leaves its thread (`Parked`): the hub keeps it, and gives it back when its stream
is over or its held answer due. Connections change hands in the main thread alone, which never waits for one.
"""

import errno
import os
import selectors
import socket
import time
from collections import deque
from functools import partial
from typing import Any

from gunicorn import util
from gunicorn.workers import gthread

from provider.web.guests import Guest, Held, Listener
from provider.web.streams.hub import Hub
from provider.web.streams.stream import Parked

READ_SECONDS = float(os.environ.get("WEB_READ_SECONDS", "20"))
LEAVE_SECONDS = 2.0
"""A client that had its last answer may go on sending for so long; closing earlier could take the answer
from it (RFC 9112, 9.6)."""


class PatientWorker(gthread.ThreadWorker):  # type: ignore[misc]
    """Serves requests that arrive in time, and parks those who wait."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._hub: Hub | None = None
        self._answerable: deque[tuple[Any, Parked]] = deque()
        self._answering = 0
        self._leaving: dict[Any, float] = {}

    def handle(self, conn: Any) -> Any:
        """Serve one request of a connection, in a thread of the pool."""
        if not isinstance(conn.sock, TimedSocket):
            conn.sock = TimedSocket(conn.sock)
        conn.sock.begin()
        return super().handle(conn)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Run the application; who is parked is taken over when the thread is done with it."""
        try:
            return super().handle_request(req, conn)
        except Parked as parked:
            conn.sock.parked, conn.sock.request = parked, req
            return False

    def finish_request(self, conn: Any, future: Any) -> None:
        """Take a connection back from its thread."""
        parked = getattr(conn.sock, "parked", None)
        if parked is not None:
            self._park(conn, parked)
        elif future.cancelled() or future.exception() or future.result():
            super().finish_request(conn, future)
        else:
            self._see_off(conn)

    # Who had the last answer. gunicorn would wait here for each to close, and serve nobody meanwhile.

    def _see_off(self, conn: Any) -> None:
        try:
            conn.sock.setblocking(False)
            conn.sock.shutdown(socket.SHUT_WR)
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._hear_out, conn))
        except OSError:
            self._close(conn)
        else:
            self._leaving[conn] = time.monotonic() + LEAVE_SECONDS

    def _hear_out(self, conn: Any, _: Any) -> None:
        """Drop what a client still sends, until it closes."""
        try:
            gone = not conn.sock.bare.recv(65_536)
        except BlockingIOError:
            return
        except OSError:
            gone = True
        if gone:
            self._leave(conn)

    def _leave(self, conn: Any) -> None:
        del self._leaving[conn]
        self.poller.unregister(conn.sock)
        self._close(conn)

    def murder_pending(self) -> None:
        """Close what has had its time (called once a second at least)."""
        super().murder_pending()
        now = time.monotonic()
        for conn in [conn for conn, ends_at in self._leaving.items() if ends_at <= now]:
            self._leave(conn)

    def notify(self) -> None:
        """Show that the worker lives; one that stops lets nobody wait (called once a second and at once)."""
        super().notify()
        if not self.alive and self._hub is not None:
            self._hub.stop()

    def _park(self, conn: Any, parked: Parked) -> None:
        if self._hub is None:
            self._hub = parked.hub
            self._hub.allow(self.worker_connections * 2 // 3)
        conn.sock.parked = None
        guest: Guest
        if parked.held is None:
            chunked = conn.sock.request.version > (1, 0)
            guest = Listener(parked.source, parked.feed, chunked=chunked)
            guest.leave = partial(self.method_queue.defer, self._close, conn)
            conn.parser = conn.sock.request = None
        else:
            guest = Held(parked.source, parked.feed, until=time.monotonic() + parked.seconds)
            guest.leave = partial(self.method_queue.defer, self._answer_later, conn, parked)
        guest.sock = conn.sock.bare
        parked.hub.add(guest)

    def _close(self, conn: Any) -> None:
        self.nr_conns -= 1
        util.close(conn.sock)

    # Held answers, a few at a time: the others find free threads also when thousands are due at once.

    def _answer_later(self, conn: Any, parked: Parked) -> None:
        self._answerable.append((conn, parked))
        self._answer_some()

    def _answer_some(self) -> None:
        while self._answerable and self._answering < max(1, self.cfg.threads // 4):
            conn, parked = self._answerable.popleft()
            self._answering += 1
            future = self.tpool.submit(self._answer, conn, parked)
            future.add_done_callback(partial(self.method_queue.defer, self._answered, conn))

    def _answered(self, conn: Any, future: Any) -> None:
        self._answering -= 1
        self.finish_request(conn, future)
        self._answer_some()

    def _answer(self, conn: Any, parked: Parked) -> bool:
        """Run the application once more for a request that was held, in a thread of the pool."""
        request, conn.sock.held = conn.sock.request, parked.held
        try:
            conn.sock.begin()
            return bool(self._keepalive_after(conn, self.handle_request(request, conn)))
        except (OSError, StopIteration) as error:
            self.log.debug("A held answer was not taken. %s", error)
        except Exception as error:
            self.handle_error(request, conn.sock, conn.client, error)
        finally:
            conn.sock.held = conn.sock.request = None
        return False


class TimedSocket:
    """A client's socket, waited for no longer than allowed: once for a request, once for an answer."""

    may_park = True

    def __init__(self, sock: Any) -> None:
        self.bare = sock
        self._ends_at = 0.0
        self.parked: Parked | None = None
        """Set by a thread that leaves its client to the hub, together with its request."""
        self.request: Any = None
        self.held: Any = None
        """What is left to do for a held answer, while a thread does it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.bare, name)

    def begin(self) -> None:
        """Let a request begin to arrive."""
        self._ends_at = time.monotonic() + READ_SECONDS

    def recv(self, count: int, *flags: int) -> bytes:
        """Read some of the request; nothing, as at its end, once the time is over."""
        left = self._ends_at - time.monotonic()
        if left <= 0:
            return b""
        self.bare.settimeout(left)
        try:
            data: bytes = self.bare.recv(count, *flags)
        except TimeoutError:
            return b""
        return data

    def sendall(self, data: Any) -> None:
        """Send some of the answer, to a client that takes it."""
        self.bare.settimeout(READ_SECONDS)
        try:
            self.bare.sendall(data)
        except TimeoutError:
            raise ConnectionResetError(errno.ECONNRESET, "the client does not take its answer") from None
