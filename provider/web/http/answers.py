"""Jobs as answers: the job object, its status, and the headers that go with both (standard H3, H5)."""

from collections.abc import Callable
from typing import Any

from flask import Response

from provider.jobs.model.job import Job, Place
from provider.jobs.model.status import ErrorCode, Status
from provider.jobs.model.wire import dump_job, http_status
from provider.payments.headers import PAYMENT_RESPONSE, encode_payment_response
from provider.payments.schemas import receipt_response, settlement_response
from provider.payments.wire import compact

RUNNING_RETRY_SECONDS = 2
UNCERTAIN_RETRY_SECONDS = 15
"""The sweep's rhythm: nothing changes sooner."""
MAX_RETRY_SECONDS = 60


def job_answer(
    job: Job, place: Place | None, public_url: str, status_of: Callable[[Job], int] = http_status
) -> Response:
    """Answer with the job object. Its output is in it once the job succeeded, never before (J14)."""
    response = Response(compact(dump_job(job, place)), status_of(job), content_type="application/json")
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
