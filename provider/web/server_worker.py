"""gunicorn's gevent worker, and what it lacks: a refusal when it is full, and word of a stop.

The master process imports this module before the worker patches the standard library, so it imports nothing
that keeps a copy of a socket, a lock or a TLS context.
"""

import json
import os
import socket
from contextlib import suppress
from typing import Any

import gevent
from gunicorn import util
from gunicorn.workers.ggevent import GeventWorker

from provider.web.http.deadlines import Deadlines

READ_SECONDS = float(os.environ.get("WEB_READ_SECONDS", "20"))
REFUSED_AT_ONCE = 100
"""Connections above the limit that are refused at a time; yet more of them wait for a moment."""
OWN_ERROR = (
    "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Type: application/problem+json\r\n"
    "Access-Control-Allow-Origin: *\r\nCache-Control: no-store\r\nContent-Length: %d\r\n\r\n"
)
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n"
    b"Content-Type: application/problem+json\r\nAccess-Control-Allow-Origin: *\r\n"
    b"Content-Length: %d\r\n\r\n%b"
)
PROBLEM = (
    b'{"title": "Service Unavailable", "status": 503, "code": "connections_full", '
    b'"detail": "This process has as many connections as it may; try again later."}'
)


class WebWorker(GeventWorker):  # type: ignore[misc]
    """Serves each connection in a greenlet."""

    wsgi: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._connections = 0
        self._most = self.worker_connections
        self.worker_connections += REFUSED_AT_ONCE

    def load_wsgi(self) -> None:
        """Load the application, and put the deadlines around it."""
        super().load_wsgi()
        util.write_error = write_problem  # Which every worker of gunicorn calls, and none lets be replaced.
        self._parts = getattr(self.wsgi, "extensions", {}).get("provider")
        if self._parts is not None:
            self._parts.places.allow(self._most * 2 // 3)
        body_seconds = max(1.0, READ_SECONDS - self.cfg.keepalive)
        self.wsgi = Deadlines(self.wsgi, body_seconds=body_seconds, answer_seconds=READ_SECONDS)

    def handle(self, listener: Any, client: socket.socket, addr: Any) -> None:
        """Serve a connection, or refuse it at once."""
        if self._connections >= self._most:
            refuse(client)
            return
        self._connections += 1
        try:
            super().handle(listener, client, addr)
        finally:
            self._connections -= 1

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> Any:
        """Let the application end the connection with its answer."""
        req.body.close_connection = req.force_close
        return super().handle_request(listener_name, req, sock, addr)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Stop accepting, and end streams and held answers; a signal handler may not wait for a lock."""
        super().handle_exit(sig, frame)
        if self._parts is not None:
            gevent.spawn(self._parts.events.stop)


def write_problem(client: socket.socket, status: int, reason: str, _detail: str) -> None:
    """Answer what the server itself refuses as everything else is answered, without its words (H6, H7)."""
    code = reason.lower().replace(" ", "_")
    detail = f"{reason}: the server could not read the request."
    body = json.dumps({"title": reason, "status": status, "code": code, "detail": detail}).encode()
    head = OWN_ERROR % (status, reason, len(body))
    util.write_nonblock(client, head.encode() + body)


def refuse(client: socket.socket) -> None:
    """Answer 503 to a connection whatever it asks, and close it."""
    with suppress(OSError), client:
        client.settimeout(1.0)
        client.sendall(REFUSAL % (len(PROBLEM), PROBLEM))
        client.shutdown(socket.SHUT_WR)
