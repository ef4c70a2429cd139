"""Clients that begin what they do not end, and how a web process answers meanwhile."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

import requests


def address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


@contextmanager
def connections(
    url: str, count: int, begun: bytes, *, receive_bytes: int = 0
) -> Iterator[list[socket.socket]]:
    """Open connections, send the beginning of a request on each, and keep them."""
    with ExitStack() as stack:
        clients = []
        for _ in range(count):
            client = stack.enter_context(socket.socket())
            if receive_bytes:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
            client.settimeout(30)
            client.connect(address(url))
            client.sendall(begun)
            clients.append(client)
        yield clients


def read_to_end(client: socket.socket) -> bytes:
    """Read what a server sends until it closes the connection, in order or not."""
    data = b""
    with suppress(ConnectionResetError):
        while chunk := client.recv(65_536):
            data += chunk
    return data


def p99_seconds(url: str, probes: int) -> float:
    """Ask `/healthz` again and again, each time on a connection of its own."""
    took = sorted(_probe(url) for _ in range(probes))
    return took[probes * 99 // 100 - 1]


def _probe(url: str) -> float:
    time.sleep(0.01)
    began = time.perf_counter()
    with socket.create_connection(address(url), timeout=30) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert read_to_end(client).startswith(b"HTTP/1.1 200 ")
    return time.perf_counter() - began


def waiting_clients(url: str) -> float:
    """Read how many streams and held answers a process has."""
    text = requests.get(f"{url}/metrics", timeout=5).text
    (line,) = (line for line in text.splitlines() if line.startswith("provider_http_waiting_clients"))
    return float(line.split()[-1])
