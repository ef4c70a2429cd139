"""Strangers for `bench.strangers`: callers that pay nothing, each in its own way, in a process of their own.

What they know is what a chain shows: the envelopes of settled payments, without the identifiers beside them.
"""

import base64
import json
import random
import re
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from stellar_sdk import Keypair

from provider.payments.models import PaymentRequirements
from provider.payments.schemas import dump_payload
from tests.support.payments import payment_header, signed_payment

STRANGERS = 50
PAUSE_SECONDS = 0.5
THEIR_ADDRESS = "127.0.0.2"
"""Not that of the buyers, who get their own lost answers again by theirs."""
OF_ONE_JOB = re.compile(r'"(?:id|output)":|\b[a-z-]+\.[0-9a-f]{32}\b')
SERVICES = ("castor", "pollux")


class _FromElsewhere(HTTPAdapter):
    def init_poolmanager(self, *given: Any, **named: Any) -> None:
        super().init_poolmanager(*given, source_address=(THEIR_ADDRESS, 0), **named)


class Crowd:
    """Fifty strangers, ten of each kind."""

    def __init__(self, url: str, offer: PaymentRequirements, expiration_ledger: int, seen: Any) -> None:
        self.url, self.offer, self.expiration_ledger = url, offer, expiration_ledger
        self.answers: Counter[str] = Counter()
        self.leaks: list[str] = []
        self._seen = seen
        self._payments: deque[dict[str, Any]] = deque(maxlen=500)

    def run(self, stop: Any) -> None:
        """Call until told to stop."""
        kinds = (self.unpaid, self.moneyless, self.forging, self.replaying, self.half_sending)
        threading.Thread(target=self._watch_the_chain, daemon=True).start()
        with ThreadPoolExecutor(STRANGERS) as pool:
            calls = [pool.submit(self._keep_calling, kinds[n % len(kinds)], stop) for n in range(STRANGERS)]
            for call in calls:
                call.result()

    def _watch_the_chain(self) -> None:
        while True:
            payment = self._seen.get()
            payment.pop("extensions", None)
            self._payments.append(payment)

    def _keep_calling(self, kind: Callable[[requests.Session, list[str]], None], stop: Any) -> None:
        session, keypair = requests.Session(), Keypair.random()
        session.mount("http://", _FromElsewhere())
        signed = [signed_payment(self.offer, keypair, self.expiration_ledger) for _ in range(5)]
        headers = [payment_header(dict(dump_payload(payment))) for payment in signed]
        while not stop.is_set():
            try:
                kind(session, headers)
            except (OSError, requests.RequestException) as error:
                self.answers[f"{kind.__name__} {type(error).__name__}"] += 1
            time.sleep(PAUSE_SECONDS * random.uniform(0.5, 1.5))

    def _call(
        self, kind: str, session: requests.Session, header: str | None, body: bytes = b'{"n":1}'
    ) -> None:
        headers = {} if header is None else {"PAYMENT-SIGNATURE": header, "Prefer": "respond-async"}
        url = f"{self.url}/run/{random.choice(SERVICES)}"
        answer = session.post(url, data=body, headers=headers, timeout=30)
        self.answers[f"{kind} {answer.status_code}"] += 1
        if header is not None and answer.status_code != 402 and OF_ONE_JOB.search(answer.text):
            self.leaks.append(f"{kind} {answer.status_code}: {answer.text[:200]}")

    # Kinds

    def unpaid(self, session: requests.Session, headers: list[str]) -> None:
        """Ask for the price, or send what is no payment."""
        nonsense = [
            None,
            "",
            base64.b64encode(random.randbytes(3000)).decode(),
            base64.b64encode(b"{}").decode(),
        ]
        self._call("unpaid", session, random.choice(nonsense))

    def moneyless(self, session: requests.Session, headers: list[str]) -> None:
        """Sign with the key of an account that does not exist."""
        self._call("moneyless", session, random.choice(headers), b'{"n":1,"text":"' + b"x" * 50_000 + b'"}')

    def forging(self, session: requests.Session, headers: list[str]) -> None:
        """Change a byte of a payment that was made."""
        if self._payments:
            payment = json.loads(json.dumps(random.choice(self._payments)))
            envelope = bytearray(base64.b64decode(payment["payload"]["transaction"]))
            envelope[random.randrange(len(envelope))] ^= 1 << random.randrange(8)
            payment["payload"]["transaction"] = base64.b64encode(envelope).decode()
            self._call("forging", session, payment_header(payment))

    def replaying(self, session: requests.Session, headers: list[str]) -> None:
        """Send a payment that was made once more, with its input or a guess."""
        if self._payments:
            body = random.choice([b'{"n":1}', b'{"n":2}', b"{}"])
            self._call("replaying", session, payment_header(random.choice(self._payments)), body)

    def half_sending(self, session: requests.Session, headers: list[str]) -> None:
        """Send half of a head, or of a body, and leave after a while."""
        to = urlsplit(self.url)
        head = f"POST /run/castor HTTP/1.1\r\nHost: {to.netloc}\r\nPAYMENT-SIGNATURE: {headers[0]}\r\n"
        sent = random.choice([head[:300], head + 'Content-Length: 60000\r\n\r\n{"n":'])
        with socket.create_connection((to.hostname or "", to.port or 80), 10, (THEIR_ADDRESS, 0)) as half:
            half.sendall(sent.encode())
            time.sleep(random.uniform(0.5, 2))
        self.answers["half_sending -"] += 1


def crowd(
    url: str, offer: PaymentRequirements, expiration_ledger: int, seen: Any, stop: Any, told: Any
) -> None:
    """Run the crowd; the body of its process."""
    strangers = Crowd(url, offer, expiration_ledger, seen)
    strangers.run(stop)
    told.put((dict(strangers.answers), strangers.leaks))
