"""Answers that are held until their job has moved on (standard H3)."""

from collections.abc import Callable

from flask import Flask, Response, g

from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.web.http.answers import http_status, job_answer
from provider.web.http.prefer import Preference
from provider.web.parts import parts
from provider.web.streams.stream import held_answer, may_park
from provider.web.streams.waiting import Due


def init_app(app: Flask) -> None:
    """Register the hook; call it after the one that starts the clock."""
    app.before_request(answer_what_is_due)


def held(
    job: Job,
    preference: Preference,
    *,
    is_call: bool = False,
    status_of: Callable[[Job], int] = http_status,
) -> Response:
    """Answer with the job, after the wait that was asked for or that is usual."""
    limit = parts().settings.request_wait_seconds
    seconds = preference.hold_seconds(default=limit if is_call else 0, limit=limit)
    usual = is_call and not preference.is_given
    done = payment_known if usual and job.charge.pays_first else is_final
    applied = preference.applied(limit) if preference.is_given else ""
    due = Due(job.id, applied, g.started, status_of)
    job, waited = parts().room.wait(job, done, seconds, due)
    return _answer(job, applied if waited else "", status_of)


def looked_up(job_id: str, preference: Preference) -> Response:
    """Answer a look-up. Of a job that is waited for no more is read than whether it is final."""
    if may_park() and preference.wait_seconds:
        job = parts().glances.get(job_id)
        if not job.is_final:
            return held(job, preference)
    return held(parts().store.get(job_id), preference)


def answer_what_is_due() -> Response | None:
    """Answer a request that left its thread and comes back, as of now; let every other pass."""
    due: Due | None = held_answer()
    if due is None:
        return None
    g.started = due.started
    return _answer(parts().store.get(due.job_id), due.applied, due.status_of)


def _answer(job: Job, applied: str, status_of: Callable[[Job], int]) -> Response:
    response = job_answer(job, parts().place(job), parts().public_url, status_of)
    if applied:
        response.headers["Preference-Applied"] = applied
    return response


def is_final(job: Job) -> bool:
    return job.is_final


def payment_known(job: Job) -> bool:
    """Tell whether an upfront payment is decided: its answer carries the receipt, the work comes later."""
    return job.status is not Status.PENDING
