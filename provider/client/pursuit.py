"""A paid call, sent and followed until it ends or time is up: one decision for each answer, and no errors."""

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from provider.client.exchange import HttpReply, HttpRequest, Lost, Pause, Steps, Work
from provider.client.patience import READ_MARGIN_SECONDS, Patience
from provider.client.payment import Payment
from provider.client.reading import FINAL, FOR_NOW, ServiceAddress, job_in, job_of, retry_after, settlement_of
from provider.client.sse import SseEvent
from provider.payments.headers import PAYMENT_SIGNATURE
from provider.payments.models import SettlementResponse

MOST_CONTENT_BYTES = 32 * 1024 * 1024
SILENT_STREAM_SECONDS = 40
"""The provider sends a comment every 15 s."""
STREAM_SECONDS = 300
"""Then the job is looked up, in case something on the way holds the events back."""
MOST_BROKEN = 3
"""Answers, and streams, that break off before their end."""
FAILURE, MOST_FAILURES = 500, 5
"""A seller whose handler fails is asked again so often: each time it may work in vain."""
JSON_FIRST = "application/json, */*;q=0.5"

OnProgress = Callable[[Mapping[str, Any]], Any]


class CallEnd(StrEnum):
    """How a paid call ended."""

    DELIVERED = "delivered"
    JOB_FAILED = "job_failed"
    REFUSED = "refused"
    FAILED_PAID = "failed_paid"
    """An error answer, with a payment that went through."""
    BROKEN = "broken"
    """A good answer that never arrived whole."""
    OPEN = "open"
    """Time is up, and the job goes on."""
    SILENT = "silent"
    """Time is up, without a usable answer."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How it ended, and what is known by then."""

    kind: CallEnd
    reply: HttpReply | None = None
    job: Mapping[str, Any] | None = None
    settlement: SettlementResponse | None = None
    ambiguous: bool = False
    """The payment was sent before, with an answer that was lost or is unusable."""


class Asking(StrEnum):
    """What the next request is."""

    CALL = "call"
    """The call itself, with its payment."""
    JOB = "job"
    EVENTS = "events"


Step = tuple[Ending | None, float | None]
"""The end, or else how long the server advises to wait: None as the buyer likes."""
AT_ONCE = -1.0
"""Ask on without a pause: it is another question."""


class Pursuit:
    """Sends one payment and follows what comes of it."""

    def __init__(
        self,
        payment: Payment,
        patience: Patience,
        *,
        proof: Callable[[], Mapping[str, str]],
        unix_now: Callable[[], float],
        on_progress: OnProgress | None = None,
        again: bool = False,
    ) -> None:
        self._payment, self._patience = payment, patience
        self._proof, self._unix_now, self._on_progress = proof, unix_now, on_progress
        self._address = ServiceAddress.of(payment.url)
        self._asking, self._ambiguous = Asking.CALL, again
        self._proven: Mapping[str, str] = {}
        self._job: Mapping[str, Any] | None = None
        self._settlement: SettlementResponse | None = None
        self._last: HttpReply | None = None
        self._broken_answers = self._broken_streams = self._failures = 0

    def run(self) -> Steps[Ending]:
        """Ask until there is an end, or until time is up."""
        while True:
            if self._ambiguous and self._asking is Asking.CALL:
                self._proven = yield Work(self._proof)
            reply = yield self._request()
            ending, advised = self._take(reply)
            if ending is not None:
                return ending
            if advised == AT_ONCE:
                continue
            pause = self._patience.pause(advised)
            if pause is None:
                return self._given_up()
            yield Pause(pause)

    # What to ask

    def _request(self) -> HttpRequest:
        if self._asking is Asking.EVENTS:
            return self._events()
        hold = min(self._patience.hold, 2) if self._on_progress else self._patience.hold
        if self._asking is Asking.JOB:
            return ask("GET", self._job_url, {}, None, hold)
        payment = self._payment
        headers = {PAYMENT_SIGNATURE: payment.header, **self._proven}
        return ask(payment.method, payment.url, headers, body_of(payment.method, payment.input), hold)

    @property
    def _job_url(self) -> str:
        assert self._address is not None
        assert self._job is not None
        return self._address.job_url(str(self._job["id"]))

    def _events(self) -> HttpRequest:
        return HttpRequest(
            "GET",
            f"{self._job_url}/events",
            {"Accept": "text/event-stream"},
            None,
            seconds=min(STREAM_SECONDS, self._patience.left + 1),
            pause_seconds=SILENT_STREAM_SECONDS,
            most_bytes=MOST_CONTENT_BYTES,
            hear=self._hear,
        )

    # What an answer means

    def _take(self, reply: HttpReply | Lost) -> Step:
        if self._asking is Asking.EVENTS:
            return self._take_events(reply)
        if isinstance(reply, Lost):
            self._ambiguous = self._ambiguous or reply.sent
            return None, None
        self._settlement = settlement_of(reply) or self._settlement
        if (job := job_of(reply, self._address)) is not None:
            return self._take_job(job, reply)
        return self._take_no_job(reply) if self._asking is Asking.JOB else self._take_answer(reply)

    def _take_events(self, reply: HttpReply | Lost) -> Step:
        """A stream that broke off, or never was one, is followed by a look at the job."""
        self._asking = Asking.JOB
        if self._is_final:
            return None, AT_ONCE
        if isinstance(reply, Lost) or reply.complete:
            self._broken_streams += 1
        return None, None

    def _take_job(self, job: Mapping[str, Any], reply: HttpReply) -> Step:
        self._see(job)
        self._patience.answered()
        if self._is_final:
            delivered = job["status"] == "succeeded"
            return self._end(CallEnd.DELIVERED if delivered else CallEnd.JOB_FAILED, reply), None
        if self._broken_streams < MOST_BROKEN:
            self._asking = Asking.EVENTS
            return None, AT_ONCE
        self._asking = Asking.JOB
        return None, self._advised(reply)

    def _take_no_job(self, reply: HttpReply) -> Step:
        """A job that is not where it should be is found by its payment."""
        if reply.status not in FOR_NOW:
            self._asking, self._ambiguous = Asking.CALL, True
        return None, self._advised(reply)

    def _take_answer(self, reply: HttpReply) -> Step:
        """Read an answer to the call that is no job of ours: any seller on x402."""
        paid = self._settlement is not None and self._settlement.success
        if 200 <= reply.status < 300:
            return self._take_content(reply)
        if paid:
            return self._end(CallEnd.FAILED_PAID, reply), None
        if reply.status not in FOR_NOW:
            return self._end(CallEnd.REFUSED, reply), None
        self._ambiguous, self._last = True, reply
        self._failures += reply.status == FAILURE
        return (self._given_up() if self._failures == MOST_FAILURES else None), self._advised(reply)

    def _take_content(self, reply: HttpReply) -> Step:
        if reply.complete:
            return self._end(CallEnd.DELIVERED, reply), None
        self._ambiguous, self._last = True, reply
        self._broken_answers += 1
        return (self._given_up() if self._broken_answers == MOST_BROKEN else None), self._advised(reply)

    def _hear(self, event: SseEvent) -> bool:
        """Take in an event; True once the job is final."""
        with contextlib.suppress(ValueError, RecursionError):
            if (job := job_in(json.loads(event.data), self._address)) is not None:
                self._see(job)
        return self._is_final

    def _see(self, job: Mapping[str, Any]) -> None:
        """Remember the job; a hook that fails is no reason to lose it."""
        self._job = job
        if self._on_progress is not None:
            with contextlib.suppress(Exception):
                self._on_progress(job)

    @property
    def _is_final(self) -> bool:
        return self._job is not None and self._job["status"] in FINAL

    def _advised(self, reply: HttpReply) -> float | None:
        return retry_after(reply, self._unix_now())

    def _given_up(self) -> Ending:
        """Say how far it came by now."""
        if self._job is not None:
            return self._end(CallEnd.OPEN, None)
        was_good = self._last is not None and self._last.status < 300
        return self._end(CallEnd.BROKEN if was_good else CallEnd.SILENT, self._last)

    def _end(self, kind: CallEnd, reply: HttpReply | None) -> Ending:
        return Ending(kind, reply, self._job, self._settlement, self._ambiguous)


def ask(method: str, url: str, headers: Mapping[str, str], body: bytes | None, hold: int) -> HttpRequest:
    """Build a request whose answer may be held for so many seconds."""
    given = {"Accept": JSON_FIRST, "Prefer": f"wait={hold}", **headers}
    if body is not None:
        given["Content-Type"] = "application/json"
    seconds = hold + READ_MARGIN_SECONDS
    return HttpRequest(method, url, given, body, seconds, seconds, MOST_CONTENT_BYTES)


def body_of(method: str, value: Any) -> bytes | None:
    """Spell the input of a call, the same way each time."""
    if value is None or method in ("GET", "HEAD"):
        return None
    return json.dumps(value, allow_nan=False).encode()
