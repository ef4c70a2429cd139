"""One HTTP connection to the local chain: RPC, Horizon, admin, and CONNECT that ends in the chain itself."""

from __future__ import annotations

import ipaddress
import json
import logging
import socket
import ssl
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any
from urllib.parse import urlsplit

from provider.localnet.chain import horizon
from provider.localnet.chain.admin import Admin
from provider.localnet.chain.ca import TUNNEL_HOSTS
from provider.localnet.chain.errors import BrokenConnection, ServerDown
from provider.localnet.chain.rpc import Rpc

MAX_BODY_BYTES = 512 * 1024
"""The same as of a Stellar RPC (jsonrpc.go), whose bridge answers 500 to more."""

log = logging.getLogger(__name__)


class Listener(ThreadingHTTPServer):
    """One port. `tls` is for tunnels, and for every connection when `encrypted`."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(
        self, address: tuple[str, int], rpc: Rpc, admin: Admin, tls: ssl.SSLContext, encrypted: bool
    ) -> None:
        self.rpc, self.admin, self.tls, self.encrypted = rpc, admin, tls, encrypted
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(address, Handler)

    def server_bind(self) -> None:
        """Bind without the reverse look-up of the host name, which can hang where there is no DNS."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def track(self, connection: socket.socket) -> None:
        with self._open_lock:
            self._open.add(connection)

    def untrack(self, connection: socket.socket) -> None:
        with self._open_lock:
            self._open.discard(connection)

    def hang_up(self) -> None:
        """End the connections that clients keep alive, so that stopping does not wait for them."""
        with self._open_lock:
            connections = list(self._open)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                log.debug("connection was closed already")

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up or refuses the certificate is no error of the chain."""
        log.debug("connection ended", exc_info=True)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer in several small packets waits 40 ms for a delayed acknowledgement.
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Listener

    def setup(self) -> None:
        if self.server.encrypted:
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()
        self.server.track(self.connection)

    def finish(self) -> None:
        try:
            super().finish()
        finally:
            self.server.untrack(self.connection)
            # The server closes the socket it accepted; one wrapped in TLS is another object.
            self.connection.close()

    def do_CONNECT(self) -> None:
        """Play the end of the tunnel: nothing ever leaves this machine."""
        if self.path.rpartition(":")[0] not in TUNNEL_HOSTS:
            return self._json(403, {"error": f"this proxy only plays {', '.join(TUNNEL_HOSTS)}"})
        self.send_response_only(200, "Connection established")
        self.end_headers()
        self.wfile.flush()
        self.server.untrack(self.connection)
        self.connection = self.server.tls.wrap_socket(self.connection, server_side=True)
        self.server.track(self.connection)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb")
        self.close_connection = False
        return None

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path.startswith("/admin/"):
            return self._admin(url.path, None)
        if url.path != "/ledgers":
            return self._json(404, {"error": "POST JSON-RPC to /, or GET /ledgers"})
        try:
            return self._json(200, horizon.ledgers(self.server.rpc.state, url.query))
        except ValueError as error:
            return self._json(400, {"error": str(error)})

    def do_POST(self) -> None:
        size = self.headers.get("Content-Length", "")
        if not size.isdecimal() or int(size) > MAX_BODY_BYTES:
            self.close_connection = True
            return self._send(500, b"http: request body too large\n", "text/plain; charset=utf-8")
        body, path = self.rfile.read(int(size)), urlsplit(self.path).path
        if path.startswith("/admin/"):
            return self._admin(path, body)
        try:
            return self._send(200, self.server.rpc.answer(body))
        except ServerDown as error:
            return self._send(error.status, b"", "text/plain")
        except BrokenConnection:
            return self._break()

    def _admin(self, path: str, body: bytes | None) -> None:
        if not ipaddress.ip_address(self.client_address[0]).is_loopback:
            return self._json(403, {"error": "admin verbs are for this machine only"})
        verb, admin = path.removeprefix("/admin/"), self.server.admin
        try:
            given = _object(body or b"{}")
            return self._json(200, admin.get(verb) if body is None else admin.post(verb, given))
        except KeyError:
            return self._json(404, {"error": f"no such verb: {self.command} {verb}"})
        except ValueError as error:
            return self._json(400, {"error": str(error)})

    def _json(self, status: int, body: dict[str, Any]) -> None:
        self._send(status, json.dumps(body).encode())

    def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _break(self) -> None:
        """Reset the connection: closing with a zero linger time sends RST."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  The name of the base class.
        log.debug(format, *args)


def _object(body: bytes) -> dict[str, Any]:
    """Read the body of an admin verb. Raises ValueError."""
    try:
        given = json.loads(body)
    except ValueError as error:
        raise ValueError(f"the body is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise ValueError("the body must be a JSON object")
    return given
