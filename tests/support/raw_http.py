"""An HTTP server written with sockets, so that it can answer as no library would."""

import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trustme

Behave = Callable[[socket.socket], None]


@dataclass
class RawServer:
    """What came in, and how to answer it."""

    behave: Behave
    listener: socket.socket
    tls: ssl.SSLContext | None = None
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def run(self) -> None:
        """Serve each connection in a thread of its own until the listener is closed."""
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), self._secured(connection) as connection:
            while request := read_request(connection):
                self.requests.append(request)
                self.behave(connection)

    def _secured(self, connection: socket.socket) -> socket.socket:
        return self.tls.wrap_socket(connection, server_side=True) if self.tls else connection


@contextmanager
def raw_server(behave: Behave, *, tls: ssl.SSLContext | None = None) -> Iterator[RawServer]:
    """Run a server that answers every request with `behave`."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = RawServer(behave, listener, tls)
    threading.Thread(target=server.run, daemon=True).start()
    try:
        yield server
    finally:
        server.stopped.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def read_request(connection: socket.socket) -> bytes:
    """Read one request with its body; empty when the client has gone."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (chunk := connection.recv(65536)):
            return b""
        data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length")
        ),
        0,
    )
    while len(body) < length and (chunk := connection.recv(65536)):
        body += chunk
    return head + b"\r\n\r\n" + body


def answer(status: int, body: Any, *headers: str, keep: bool = True) -> Behave:
    """Answer with a status and a body (text, or anything as JSON)."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(content)}", *headers]
    return send("\r\n".join(lines).encode() + b"\r\n\r\n" + content, keep=keep)


def send(data: bytes, *, keep: bool = False) -> Behave:
    """Send bytes as they are, then close the connection or keep it."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(data)
        if not keep:
            connection.shutdown(socket.SHUT_RDWR)

    return behave


def drip(data: bytes, seconds: float, *, before: bytes = b"") -> Behave:
    """Send `before` at once and then a byte of `data` every `seconds`, until the client has had enough."""
    pause = threading.Event()

    def behave(connection: socket.socket) -> None:
        connection.sendall(before)
        for position in range(len(data)):
            pause.wait(seconds)
            connection.sendall(data[position : position + 1])

    return behave


def flood(before: bytes, data: bytes) -> Behave:
    """Send `before` and then 64 MB made of `data`, and keep the connection: who reads it all has to wait."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(before)
        for _ in range(64):
            connection.sendall(data * (1_000_000 // len(data)))
        silence(connection)

    return behave


def reset(connection: socket.socket) -> None:
    """Close with RST, as a crashed peer does."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def silence(connection: socket.socket) -> None:
    """Say nothing and keep the connection until the client closes it."""
    connection.recv(1)


def localhost_tls(directory: Path) -> tuple[ssl.SSLContext, Path]:
    """Make what a server needs to be localhost, and the file of the authority that says so."""
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    file = directory / "ca.pem"
    authority.cert_pem.write_to_path(file)
    return context, file
