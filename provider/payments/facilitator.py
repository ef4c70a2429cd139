"""The client of an x402 v2 facilitator: `/supported`, `/verify`, `/settle`."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import structlog

from provider import errors, strict_json
from provider.bounded_http import mask_urls, new_session
from provider.payments import reasons, transport
from provider.payments.kept import KeptConnections
from provider.payments.models import X402_VERSION, PaymentPayload, PaymentRequirements, VerifyResponse
from provider.payments.schemas import dump_payload, dump_requirements, load_verify_response
from provider.payments.settlement import FacilitatorAnswer, Failure, SettleOutcome, classify

Observer = Callable[[str, float], None]
"""Called with the name of each call (`supported`, `verify`, `settle`) and its seconds, for metrics; by the
claim desk with `payment_check` and `input_check`."""

SETTLE_TIMEOUT_SECONDS = 120.0
EXTENSIONS = "facilitator_extensions"
REASON = "facilitator_reason"
MOST_LOGGED_CHARS = 1000

log = structlog.get_logger()


@contextmanager
def observed(observer: Observer | None, name: str) -> Iterator[None]:
    """Have an observer note how long a step took, however it ended."""
    began = time.monotonic()
    try:
        yield
    finally:
        if observer is not None:
            observer(name, time.monotonic() - began)


class FacilitatorClient:
    """Talk to one facilitator; may be shared by threads and forked processes.

    `verify_timeout_seconds` and `settle_timeout_seconds` bound a whole call, slow answers included; only
    connecting can take longer (a name look-up has no time-out, each address of a name gets 5 s).
    An answer to `/settle` that takes longer than `settle_timeout_seconds` may still be heard (standard §8).
    """

    def __init__(
        self,
        url: str,
        *,
        verify_timeout_seconds: float = 10.0,
        settle_timeout_seconds: float = SETTLE_TIMEOUT_SECONDS,
        api_key: str | None = None,
        observer: Observer | None = None,
    ) -> None:
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            raise errors.ConfigurationError([f"the facilitator URL {url!r} is not an http(s) URL"])
        self.url = url.rstrip("/")
        self._verify_timeout_seconds = verify_timeout_seconds
        self.settle_timeout_seconds = settle_timeout_seconds
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._kept = KeptConnections(self.url, self._headers)
        self._observer = observer

    def supported(self) -> dict[str, Any]:
        """Return what the facilitator settles: `{kinds, extensions, signers}`.

        Raises:
            errors.FacilitatorUnreachable: no usable answer.
        """
        with observed(self._observer, "supported"):
            answer = self._repeatable("GET", "/supported", b"")
        if answer.status != 200 or answer.body is None or not isinstance(answer.body.get("kinds"), list):
            raise self._unusable("/supported", answer)
        return dict(answer.body)

    def verify(self, payload: PaymentPayload, requirements: PaymentRequirements) -> VerifyResponse:
        """Ask whether a payment would settle now.

        Raises:
            errors.FacilitatorUnreachable: no usable answer; nothing happened, so asking again is harmless.
        """
        with observed(self._observer, "verify"):
            answer = self._repeatable("POST", "/verify", _body(payload, requirements))
        return self._verdict(answer)

    def settle(
        self,
        payload: PaymentPayload,
        requirements: PaymentRequirements,
        *,
        payer: str,
        seconds: float | None = None,
    ) -> SettleOutcome:
        """Have a payment submitted, once (standard S4); network trouble is an outcome, not an exception.

        The connection is fresh: a kept-alive one may be stale, and then "nothing was sent" cannot be told
        from "sent and lost". An answer that names another payer than `payer` is not ours. `seconds` is the
        time for the answer, where that is another than `settle_timeout_seconds`.
        """
        body = _body(payload, requirements)
        with (
            observed(self._observer, "settle"),
            new_session({**self._headers, "Connection": "close"}) as session,
        ):
            seconds = seconds or self.settle_timeout_seconds
            answer = transport.call(session, "POST", f"{self.url}/settle", seconds=seconds, body=body)
        return classify(answer, network=requirements.network, payer=payer)

    def _repeatable(self, method: str, path: str, body: bytes) -> FacilitatorAnswer:
        """Call on a kept-alive connection; once more on a fresh one if it had been closed meanwhile."""
        ends = time.monotonic() + self._verify_timeout_seconds
        answer = FacilitatorAnswer(failure=Failure.TIMED_OUT)
        for fresh in (False, True):
            left = ends - time.monotonic()
            if left <= 0:
                break
            answer = self._kept.call(method, path, body, seconds=left, fresh=fresh)
            if answer.failure is not Failure.BROKEN:
                break
        return answer

    def _verdict(self, answer: FacilitatorAnswer) -> VerifyResponse:
        try:
            verdict = load_verify_response(answer.body)
        except errors.InvalidBody:
            verdict = None
        # Some facilitators refuse with a 4xx; a "valid" counts only as what it should be, a 200. Other
        # statuses (401, 429, 5xx) are about us and them, not about the payment.
        if answer.extensions:
            log.info(EXTENSIONS, said=answer.extensions[:MOST_LOGGED_CHARS])
        if verdict is None or answer.status not in ((200,) if verdict.valid else (200, 400, 402, 422)):
            raise self._unusable("/verify", answer)
        if verdict.reason == reasons.UNEXPECTED_VERIFY_ERROR:
            raise self._unusable("/verify", answer, "it says itself that it failed")
        reason = reasons.as_word(verdict.reason)
        if verdict.reason and reason is None:
            log.warning(REASON, said=mask_urls(verdict.reason[:MOST_LOGGED_CHARS]))
        return replace(verdict, reason=reason)

    def _unusable(self, path: str, answer: FacilitatorAnswer, why: str = "") -> errors.FacilitatorUnreachable:
        """Name facilitator and answer to operators; buyers read the fixed text of the error."""
        return errors.FacilitatorUnreachable(
            f"{mask_urls(self.url)}{path} gave no usable answer: {why or _described(answer)}.",
            answer.retry_after_seconds,
        )


def _body(payload: PaymentPayload, requirements: PaymentRequirements) -> bytes:
    return strict_json.compact(
        {
            "x402Version": X402_VERSION,
            "paymentPayload": dump_payload(payload),
            "paymentRequirements": dump_requirements(requirements),
        }
    )


def _described(answer: FacilitatorAnswer) -> str:
    if answer.redirect is not None:
        return f"status {answer.status}, a redirect: FACILITATOR_URL must name its target"
    if answer.status in (None, 200):
        return str(answer.failure or "no verdict")
    return f"status {answer.status}"
