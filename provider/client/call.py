"""One call of a service: without payment first, then with always the same one."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

import requests

from provider.client.errors import CallRefused, NoAnswer, PaymentRefused, problem_text
from provider.client.purchase import Purchase
from provider.errors import CallError
from provider.payments.headers import MAX_ANSWER_CHARS, PAYMENT_RESPONSE, PAYMENT_SIGNATURE, decode_object
from provider.payments.models import PaymentRequirements, SettlementResponse
from provider.payments.schemas import load_settlement_response

HOLD_SECONDS = 25
"""Longest `Prefer: wait` of one request; routers cut at 30 s."""
CONNECT_SECONDS, READ_MARGIN_SECONDS = 5, 15
SHORTEST_PAUSE, LONGEST_PAUSE = 0.2, 15.0
MOST_UNANSWERED = 5
"""Calls without payment that nobody answers, before the buyer gives up: there is nothing to hold on to."""
NOT_FOUND = 404
FOR_NOW = (408, 425, 429, 500, 502, 503, 504)
"""Without a job in the body these say nothing about the payment: the same call is sent again."""


@dataclass
class Waiting:
    """How long to go on, and how to wait. Times as `clock` gives them."""

    seconds: float
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._end = self.clock() + self.seconds

    @property
    def left(self) -> float:
        return self._end - self.clock()

    def pause(self, seconds: float) -> bool:
        """Wait for as long as there is time; False when it is up."""
        if self.left <= 0:
            return False
        self.sleep(min(max(seconds, SHORTEST_PAUSE), LONGEST_PAUSE, max(self.left, 0)))
        return True


class Call:
    """The request of one purchase. `None` as JSON makes it a GET."""

    def __init__(self, session: requests.Session, url: str, json: Any, waiting: Waiting) -> None:
        self._session, self._url, self._json, self._waiting = session, url, json, waiting
        self._settlement: SettlementResponse | None = None
        self._location: str | None = None

    def ask(self) -> requests.Response:
        """Call without payment; a full lane is asked again, since nothing was signed yet.

        Raises:
            CallRefused: if the service wants no payment for what it refuses, or does not answer.
        """
        unanswered = 0
        while True:
            try:
                answer, problem = self._send({}), ""
                if answer.status_code not in FOR_NOW:
                    return answer
                problem = problem_text(_json(answer), answer.status_code)
            except requests.RequestException as error:
                answer, problem = None, f"nobody answers ({type(error).__name__})"
                unanswered += 1
            if unanswered == MOST_UNANSWERED or not self._waiting.pause(_retry_after(answer)):
                raise CallRefused(f"{self._url} cannot be called now: {problem}")

    def without_payment(self, answer: requests.Response) -> Purchase:
        """Read the answer of a service that asked for no money."""
        body = _json(answer)
        if not 200 <= answer.status_code < 300:
            raise CallRefused(problem_text(body, answer.status_code))
        return Purchase(answer.status_code, body)

    def pay(self, header: str, offer: PaymentRequirements | None) -> Purchase:
        """Send the payment until there is a job, then follow the job until it is final or time is up."""
        purchase, location = None, None
        while True:
            answer = self._try(header, location)
            if answer is not None:
                purchase = self._purchase(answer, header, offer) or purchase
                location = purchase.location if purchase else None
            if purchase is not None and purchase.final:
                return purchase
            if not self._waiting.pause(_retry_after(answer)):
                break
        if purchase is None:
            raise NoAnswer(f"{self._url} did not answer the paid call in time.", header)
        return purchase

    def _try(self, header: str, location: str | None) -> requests.Response | None:
        """Ask for the job where it is, or send the payment (again); None when the answer was lost."""
        try:
            answer = self._get_job(location) if location else None
            if answer is not None and answer.status_code != NOT_FOUND:
                return answer
            # A job that is not where it was said to be is found by its payment.
            return self._send({PAYMENT_SIGNATURE: header})
        except requests.RequestException:
            return None

    def _purchase(
        self, answer: requests.Response, header: str, offer: PaymentRequirements | None
    ) -> Purchase | None:
        """Read a job; None when the answer holds none and may be another one next time."""
        body, status = _json(answer), answer.status_code
        self._remember_settlement(answer)
        if isinstance(body, dict) and isinstance(body.get("status"), str) and isinstance(body.get("id"), str):
            self._location = answer.headers.get("Location", self._location)
            where = urljoin(self._url, self._location) if self._location else None
            return Purchase(status, body, offer, header, self._settlement, where)
        if status == 402:
            raise PaymentRefused(problem_text(body, status))
        if status not in FOR_NOW and not 200 <= status < 300:
            raise CallRefused(problem_text(body, status))
        return None

    def _remember_settlement(self, answer: requests.Response) -> None:
        text = answer.headers.get(PAYMENT_RESPONSE)
        if text:
            with contextlib.suppress(CallError):
                self._settlement = load_settlement_response(decode_object(text, max_chars=MAX_ANSWER_CHARS))

    def _send(self, headers: dict[str, str]) -> requests.Response:
        method = "GET" if self._json is None else "POST"
        return self._request(method, self._url, headers, json=self._json)

    def _get_job(self, url: str) -> requests.Response:
        return self._request("GET", url, {})

    def _request(self, method: str, url: str, headers: dict[str, str], **body: Any) -> requests.Response:
        """Redirects are not followed: a payment is for the service that was named."""
        hold = int(max(0, min(HOLD_SECONDS, self._waiting.left)))
        headers = {**headers, "Accept": "application/json", "Prefer": f"wait={hold}"}
        timeout = (CONNECT_SECONDS, hold + READ_MARGIN_SECONDS)
        return self._session.request(
            method, url, headers=headers, timeout=timeout, allow_redirects=False, **body
        )


def _json(answer: requests.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        return None


def _retry_after(answer: requests.Response | None) -> float:
    text = answer.headers.get("Retry-After", "") if answer is not None else ""
    return float(text) if text.isdigit() else 1.0
