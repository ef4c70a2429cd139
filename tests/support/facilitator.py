"""A facilitator for tests, as the outside world: a small HTTP server that answers what it is told to."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from provider.payments.schemas import load_payload
from provider.payments.stellar.check import identify_payment

Answer = tuple[int, Any]
"""Status and JSON body."""


def valid(body: dict[str, Any]) -> Answer:
    """Find every payment valid."""
    return 200, {"isValid": True}


def settled(body: dict[str, Any]) -> Answer:
    """Settle every payment, each in a transaction of its own."""
    network = body["paymentRequirements"]["network"]
    return 200, {"success": True, "transaction": transaction_of(body["paymentPayload"]), "network": network}


def transaction_of(payload: dict[str, Any]) -> str:
    """Give the transaction that settles a payment."""
    return hashlib.sha256(payload["payload"]["transaction"].encode()).hexdigest()


@dataclass(frozen=True)
class Transfer:
    """A payment on chain."""

    recipient: str
    nonce: int


@dataclass
class FakeFacilitator:
    """What it answers, and what it was asked."""

    url: str = ""
    verify: Callable[[dict[str, Any]], Answer] = valid
    settle: Callable[[dict[str, Any]], Answer] = settled
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def forget(self) -> None:
        """Start over: accept everything, remember nothing."""
        self.verify, self.settle = valid, settled
        self.asked.clear()

    def refuse(self, reason: str) -> None:
        """Find every payment invalid from now on."""
        self.verify = lambda _: (200, {"isValid": False, "invalidReason": reason})

    def calls(self, path: str) -> int:
        return sum(asked == path for asked, _ in self.asked)

    def transfers(self, pay_to: str) -> list[Transfer]:
        """Give what a chain would have, had it settled all that it was asked to."""
        asked = [body["paymentPayload"] for path, body in self.asked if path == "/settle"]
        return [Transfer(pay_to, identify_payment(load_payload(payload)).nonce) for payload in asked]

    def answer(self, path: str, body: dict[str, Any]) -> Answer:
        self.asked.append((path, body))
        return {"/verify": self.verify, "/settle": self.settle}[path](body)


@contextmanager
def running_facilitator() -> Iterator[FakeFacilitator]:
    """Serve a facilitator on a free port."""
    facilitator = FakeFacilitator()
    server = _Server(("127.0.0.1", 0), _handler(facilitator))
    facilitator.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield facilitator
    finally:
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # Races connect all at once; whoever finds the queue full waits a second.


def _handler(facilitator: FakeFacilitator) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._send(*facilitator.answer(self.path, body))

        def do_GET(self) -> None:
            self._send(200, {"kinds": [], "extensions": [], "signers": {}})

        def _send(self, status: int, body: Any) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Keep quiet."""

    return Handler
