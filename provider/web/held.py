"""Answers that are held until their job has moved on (standard H3)."""

import time
from collections.abc import Callable

from flask import Response

from provider.errors import StoreUnavailable
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.store.subscription import Waiter
from provider.web.http.answers import http_status, job_answer
from provider.web.http.prefer import Preference
from provider.web.parts import parts
from provider.web.streams.stream import AGAIN_SECONDS, NEVER
from provider.web.views import View


def held(
    view: View,
    preference: Preference,
    *,
    call_began: float | None = None,
    status_of: Callable[[Job], int] = http_status,
) -> Response:
    """Answer with the job, after the wait that was asked for or that is usual.

    What is usual for a call counts from when it began (`time.monotonic`), before its payment was verified.
    A process that holds as many clients as it may answers at once, and does not say that it waited.
    """
    settings = parts().settings
    limit = settings.request_wait_seconds
    usual = call_began is not None and not preference.is_given
    default = 0.0 if call_began is None else call_began + settings.call_wait_seconds - time.monotonic()
    seconds = preference.hold_seconds(default=default, limit=limit)
    done = payment_known if usual and view.job.charge.pays_first else is_final
    applied = preference.applied(limit) if preference.is_given else ""
    shown = hold(view, done, seconds)
    if shown is None:
        applied = ""
    response = job_answer(shown or view, parts().public_url, status_of)
    if applied:
        response.headers["Preference-Applied"] = applied
    return response


def hold(view: View, done: Callable[[Job], bool], seconds: float) -> View | None:
    """Return the job once it is `done` or the time is over; None where no more clients may be held."""
    if seconds <= 0 or done(view.job):
        return view
    return None if parts().places.is_full() else _wait(view, done, seconds)


def _wait(view: View, done: Callable[[Job], bool], seconds: float) -> View:
    """Return the job once it is `done`, or as it is after `seconds` or when the process stops."""
    ends_at = time.monotonic() + seconds
    with parts().places.taken(), parts().events.waking(Waiter(view.job.id)) as waiter:
        while True:
            pause = NEVER
            try:
                view = parts().views.get(view.job.id)
            except StoreUnavailable:
                pause = AGAIN_SECONDS
            left = ends_at - time.monotonic()
            if left <= 0 or waiter.is_stopped or done(view.job):
                return view
            waiter.wait(min(left, pause))


def is_final(job: Job) -> bool:
    return job.is_final


def payment_known(job: Job) -> bool:
    """Check whether an upfront payment is decided: its answer carries the receipt, the work comes later."""
    return job.status is not Status.PENDING
