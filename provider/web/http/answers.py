"""Jobs as answers: the job object, its status, and the headers that go with both (standard H3, H5)."""

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from flask import Response

from provider.jobs.model.job import Job, Place
from provider.jobs.model.status import ErrorCode, Status
from provider.payments.headers import PAYMENT_RESPONSE, encode_payment_response
from provider.payments.schemas import receipt_response, settlement_response
from provider.web.views import View

RUNNING_RETRY_SECONDS = 2
UNCERTAIN_RETRY_SECONDS = 15
"""The sweep's rhythm: nothing changes sooner."""
MAX_RETRY_SECONDS = 60

NEXT = "Do not pay again: GET the address in Location, with Prefer: wait=25, until the answer is not 202."
"""What a client has to do that knows nothing of jobs."""
_NEXT = f',"next":{json.dumps(NEXT)}}}'.encode()

_ERROR_STATUS = {
    ErrorCode.TIMEOUT: HTTPStatus.GATEWAY_TIMEOUT,
    ErrorCode.SERVICE_FAILED: HTTPStatus.INTERNAL_SERVER_ERROR,
    ErrorCode.OUTPUT_INVALID: HTTPStatus.INTERNAL_SERVER_ERROR,
    ErrorCode.PAYMENT_FAILED: HTTPStatus.PAYMENT_REQUIRED,
    ErrorCode.CANCELLED: HTTPStatus.CONFLICT,
}


def http_status(job: Job) -> int:
    """Give the status of an answer about a job: 202 while it is open, also while its payment is uncertain."""
    if job.status is Status.SUCCEEDED:
        return HTTPStatus.OK
    if job.is_final:
        return _ERROR_STATUS[job.error or ErrorCode.SERVICE_FAILED]
    return HTTPStatus.ACCEPTED


def cancel_status(job: Job) -> int:
    """Give the status of an answer to a cancel: 200 once the job is cancelled, 202 while it is stopped."""
    return HTTPStatus.OK if job.status is Status.CANCELLED else http_status(job)


def job_answer(view: View, public_url: str, status_of: Callable[[Job], int] = http_status) -> Response:
    """Answer with the job object."""
    job, place = view.job, view.place
    status = status_of(job)
    text = view.text[:-1] + _NEXT if status == HTTPStatus.ACCEPTED else view.text
    response = Response(text, status, content_type="application/json")
    response.call_on_close(lambda: view)  # The view is shared for as long as its text is being sent.
    headers = response.headers
    headers["Cache-Control"] = "no-store"
    if not job.is_final:
        headers["Location"] = f"{public_url}/jobs/{job.id}"
        headers["Retry-After"] = str(retry_after_seconds(job, place))
    if settlement := settlement_of(job):
        headers[PAYMENT_RESPONSE] = encode_payment_response(settlement)
    return response


def settlement_of(job: Job) -> dict[str, Any] | None:
    """Build the SettlementResponse of a job whose settlement is known; None while it is not (H5)."""
    if job.receipt is not None:
        return receipt_response(job.receipt)
    if job.error is not ErrorCode.PAYMENT_FAILED:
        return None
    return settlement_response(
        success=False,
        network=job.terms.network,
        payer=job.terms.payer,
        error_reason=job.settlement.get("reason", "payment_failed"),
    )


def retry_after_seconds(job: Job, place: Place | None) -> int:
    """Advise when to look again."""
    if job.status is Status.PAYMENT_UNCERTAIN:
        return UNCERTAIN_RETRY_SECONDS
    expected = place.estimated_start_seconds if place else RUNNING_RETRY_SECONDS
    return max(1, min(expected, MAX_RETRY_SECONDS))
