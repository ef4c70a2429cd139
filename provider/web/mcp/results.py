"""What a tool answers: a job, a price, or a problem. Some clients read the text alone, others never do."""

import json
from collections.abc import Mapping
from typing import Any

from flask import Response

from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.model.wire import wire_time
from provider.jobs.store.jobs import JobStore
from provider.strict_json import compact
from provider.web.http.answers import retry_after_seconds, settlement_of
from provider.web.http.challenge import Challenge
from provider.web.views import View

PAYMENT = "x402/payment"
RECEIPT = "x402/payment-response"
PRICE = "x402/error"
"""Where Cloudflare's client looks for the price."""


def price_result(challenge: Challenge) -> dict[str, Any]:
    """Say what a call costs, in each of the three places where clients look for it."""
    document = challenge.document
    return {**_result(document, is_error=True), "_meta": {PRICE: document}}


def problem_result(problem: Response) -> dict[str, Any]:
    """Give a problem of HTTP as a result; without `accepts`, it asks for no payment."""
    shown = json.loads(problem.get_data())
    if retry_after := problem.headers.get("Retry-After"):
        shown["retryAfterSeconds"] = int(retry_after)
    return _result(shown, is_error=True)


def job_result(view: View, *, is_error: bool | None = None) -> dict[str, Any]:
    """Give the job object, with the receipt once there is one and the next step while there is one."""
    job = view.job
    shown = json.loads(view.text)
    if not job.is_final:
        shown["next"] = next_step(job)
    failed = job.is_final and job.status is not Status.SUCCEEDED
    return _result(shown, is_error=failed if is_error is None else is_error) | _receipt(job)


def next_step(job: Job) -> str:
    """Say how to go on with a job that is not over."""
    paid = " Do not pay again: the payment is being looked for on the chain."
    return f"Call job_status with id {job.id} until the status is final. It is free." + (
        paid if job.status is Status.PAYMENT_UNCERTAIN else ""
    )


def task_of(view: View, store: JobStore) -> dict[str, Any]:
    """Show a job as a task of the extension `io.modelcontextprotocol/tasks`."""
    job = view.job
    changed = job.finished_at_ms or job.started_at_ms or job.created_at_ms
    task: dict[str, Any] = {
        "taskId": job.id,
        "status": _task_status(job),
        "createdAt": wire_time(job.created_at_ms),
        "lastUpdatedAt": wire_time(changed),
        "ttlMs": None,
        "statusMessage": _message(job),
    }
    if job.finished_at_ms is not None:
        kept = store.kept_seconds(job, charged=job.charged)
        task["ttlMs"] = job.finished_at_ms - job.created_at_ms + int(kept * 1000)
    else:
        task["pollIntervalMs"] = retry_after_seconds(job, view.place) * 1000
    return task | _receipt(job)


def _task_status(job: Job) -> str:
    if job.status is Status.CANCELLED:
        return "cancelled"
    return "completed" if job.is_final else "working"


def _message(job: Job) -> str:
    progress = job.progress
    if job.status is not Status.RUNNING or "done" not in progress:
        return job.status.value
    counted = f"{progress['done']} of {progress.get('total', '?')}"
    return f"{counted} {progress.get('message') or ''}".strip()


def _receipt(job: Job) -> dict[str, Any]:
    settlement = settlement_of(job)
    return {} if settlement is None else {"_meta": {RECEIPT: settlement}}


def _result(shown: Mapping[str, Any], *, is_error: bool) -> dict[str, Any]:
    content = [{"type": "text", "text": compact(shown).decode()}]
    return {"content": content, "structuredContent": shown, "isError": is_error}
