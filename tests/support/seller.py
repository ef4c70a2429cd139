"""A seller for tests of the buyer: a small HTTP server that answers what it is told to."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from provider.payments.headers import encode_payment_required, encode_payment_response
from provider.payments.models import PaymentRequirements
from provider.payments.schemas import dump_requirements, payment_required, settlement_response

HASH = "ab" * 32
JOB_ID = "x.1"
MOVED = {"Location": f"/jobs/{JOB_ID}", "Retry-After": "0"}

Answer = tuple[int, dict[str, str], Any]
"""Status, headers, and JSON or bytes for a body."""
DROP: Answer = (0, {}, None)
"""Take the request and break the connection."""


def job(status: str, http: int = 200, headers: dict[str, str] | None = None, **more: Any) -> Answer:
    """A job object, as the provider answers it."""
    return http, headers or {}, job_object(status, **more)


def job_object(status: str, **more: Any) -> dict[str, Any]:
    known = {"id": JOB_ID, "service": "x", "charge": "on-success", "createdAt": "2026-01-31T12:00:00.000Z"}
    return {**known, "status": status, **more}


def problem(status: int, detail: str = "no", **headers: str) -> Answer:
    """A refusal without a job."""
    return status, {"Retry-After": "0", **headers}, {"status": status, "detail": detail}


def settled(success: bool = True, **more: Any) -> dict[str, str]:
    """The header of a settlement that is known."""
    given = {"network": "stellar:testnet", "transaction": HASH if success else "", **more}
    return {"PAYMENT-RESPONSE": encode_payment_response(settlement_response(success=success, **given))}


@dataclass
class Seller:
    """`unpaid` and `paid` are answered in turn, the last one for ever; `seen` has every request.

    `events` are streamed to what follows a job; without any there is no such stream, and what asks for one is
    not in `seen`.
    """

    url: str = ""
    unpaid: list[Answer] = field(default_factory=list)
    paid: list[Answer] = field(default_factory=lambda: [job("succeeded", output=42)])
    events: list[dict[str, Any]] = field(default_factory=list)
    seen: list[dict[str, Any]] = field(default_factory=list)
    on_payment: Callable[[], object] = lambda: None

    def offer(self, *offers: PaymentRequirements, extensions: dict[str, Any] | None = None) -> None:
        self.offer_wire([dump_requirements(offer) for offer in offers], extensions=extensions)

    def offer_wire(self, offers: list[Any], **changes: Any) -> None:
        """Offer JSON, whatever it is."""
        body = payment_required(url=f"{self.url}/run/x", description="x", accepts=[])
        body |= {"accepts": offers, **{name: value for name, value in changes.items() if value is not None}}
        self.unpaid = [(402, {"PAYMENT-REQUIRED": encode_payment_required(body)}, body)]

    @property
    def payments(self) -> list[str]:
        """Every PAYMENT-SIGNATURE that came, in order."""
        return [request["payment"] for request in self.seen if request["payment"]]

    def next(self, request: dict[str, Any]) -> Answer:
        if request["path"].endswith("/events"):
            return self._stream(request)
        self.seen.append(request)
        if request["payment"]:
            self.on_payment()
        answers = self.paid if request["payment"] or request["path"].startswith("/jobs") else self.unpaid
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def _stream(self, request: dict[str, Any]) -> Answer:
        if not self.events:
            return problem(404)
        self.seen.append(request)
        frames = [f"event: status\r\ndata: {json.dumps(event)}\r\n\r\n" for event in self.events]
        return 200, {"Content-Type": "text/event-stream"}, "".join(frames).encode()


@contextmanager
def running_seller() -> Iterator[Seller]:
    seller = Seller()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            names = {"payment": "PAYMENT-SIGNATURE", "prefer": "Prefer", "proof": "PAYER-PROOF"}
            headers = {name: self.headers.get(header) for name, header in names.items()}
            request = {"method": self.command, "path": self.path, "body": body, **headers}
            self._give(*seller.next(request))

        do_GET = do_POST  # noqa: N815  The server looks for these names.

        def _give(self, status: int, headers: dict[str, str], body: Any) -> None:
            if not status:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            given = {"Content-Type": kind, "Content-Length": str(len(raw)), **headers}
            for name, value in given.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    seller.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield seller
    finally:
        server.shutdown()
        server.server_close()
