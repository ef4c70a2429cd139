"""A seller for tests of the buyer: a small HTTP server that answers what it is told to."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from provider.payments.headers import encode_payment_required
from provider.payments.models import PaymentRequirements
from provider.payments.schemas import payment_required

Answer = tuple[int, dict[str, str], Any]
"""Status, headers, JSON body."""
DROP: Answer = (0, {}, None)
"""Take the request and break the connection."""


def job(status: str, http: int = 200, headers: dict[str, str] | None = None, **more: Any) -> Answer:
    """A job object, as the provider answers it."""
    return http, headers or {}, {"id": "qr-code.1", "status": status, **more}


def problem(status: int, detail: str = "no", **headers: str) -> Answer:
    """A refusal without a job."""
    return status, {"Retry-After": "0", **headers}, {"status": status, "detail": detail}


@dataclass
class Seller:
    """`unpaid` and `paid` are answered in turn, the last one for ever; `seen` has every request."""

    url: str = ""
    unpaid: list[Answer] = field(default_factory=list)
    paid: list[Answer] = field(default_factory=lambda: [job("succeeded", output=42)])
    seen: list[dict[str, Any]] = field(default_factory=list)

    def offer(self, *offers: PaymentRequirements, extensions: dict[str, Any] | None = None) -> None:
        url = f"{self.url}/run/x"
        body = payment_required(url=url, description="x", accepts=offers, extensions=extensions)
        self.unpaid = [(402, {"PAYMENT-REQUIRED": encode_payment_required(body)}, body)]

    @property
    def payments(self) -> list[str]:
        """Every PAYMENT-SIGNATURE that came, in order."""
        return [request["payment"] for request in self.seen if request["payment"]]

    def next(self, request: dict[str, Any]) -> Answer:
        self.seen.append(request)
        answers = self.paid if request["payment"] or request["path"].startswith("/jobs") else self.unpaid
        return answers.pop(0) if len(answers) > 1 else answers[0]


@contextmanager
def running_seller() -> Iterator[Seller]:
    seller = Seller()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {"payment": self.headers.get("PAYMENT-SIGNATURE"), "prefer": self.headers.get("Prefer")}
            request = {"method": self.command, "path": self.path, "body": body, **headers}
            self._give(*seller.next(request))

        do_GET = do_POST  # noqa: N815  The server looks for these names.

        def _give(self, status: int, headers: dict[str, str], body: Any) -> None:
            if not status:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            raw = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(raw))}.items():
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
