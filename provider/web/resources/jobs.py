"""Looking a job up, and cancelling it; its id is the capability, so there is no list (standard H9)."""

from http import HTTPStatus

from flask import Blueprint, Response, request

from provider.errors import JobNotFound, OutputNotReady
from provider.jobs.model.job_id import service_of
from provider.jobs.model.status import Status
from provider.web.held import held
from provider.web.http.answers import cancel_status
from provider.web.http.prefer import parse_prefer
from provider.web.http.problems import own_error
from provider.web.parts import parts
from provider.web.resources.page import job_page, missing_page
from provider.web.streams.live import JobFeed
from provider.web.streams.stream import event_stream, last_event_id
from provider.web.views import event_id, view_of

blueprint = Blueprint("jobs", __name__)


@blueprint.get("/jobs/<job_id>")
def show(job_id: str) -> Response:
    """Show the job, to people as a page; `Prefer: wait=N` holds the answer until it is final."""
    if wants_page():
        return page(job_id)
    return held(parts().views.get(job_id), parse_prefer(request.headers.get("Prefer", "")))


def page(job_id: str) -> Response:
    """Show the job to people; the stream of its events keeps the page up to date."""
    job, listing = parts().store.get(job_id), parts().listings.get(service_of(job_id))
    service = listing.service if listing else None
    return job_page(job, parts().place(job), service, parts().settings)


def wants_page() -> bool:
    """Return whether a browser asks; programs that take anything get JSON."""
    kinds = ["application/json", "text/html"]
    return request.method in ("GET", "HEAD") and request.accept_mimetypes.best_match(kinds) == "text/html"


@blueprint.errorhandler(JobNotFound)
def no_job(error: JobNotFound) -> Response:
    """Answer browsers with a page, programs with a problem."""
    return missing_page(error.detail) if wants_page() else own_error(error)


@blueprint.after_request
def vary(response: Response) -> Response:
    """Mark an answer for caches: its address has two forms."""
    response.headers["Vary"] = "Accept"
    return response


@blueprint.delete("/jobs/<job_id>")
def cancel(job_id: str) -> Response:
    """Cancel the job, a paid one only with `?forfeit=true` (R7); `Prefer: wait=N` waits for its handler."""
    job = parts().canceller.cancel(job_id, forfeit=request.args.get("forfeit") == "true", by_payer=True)
    view = view_of(job, parts().place(job))
    return held(view, parse_prefer(request.headers.get("Prefer", "")), status_of=cancel_status)


@blueprint.get("/jobs/<job_id>/events")
def events(job_id: str) -> Response:
    """Stream the changes of a job until it is final; 204 stops a client that saw the end from returning."""
    job = parts().views.get(job_id).job
    if job.is_final and last_event_id() == event_id(job, None):
        return Response(status=HTTPStatus.NO_CONTENT, headers={"Cache-Control": "no-store"})
    return event_stream(parts().places, parts().events, JobFeed(parts().views, job_id, last_event_id()))


@blueprint.get("/jobs/<job_id>/output")
def output(job_id: str) -> Response:
    """Give the output alone, once the job succeeded and not before (J14)."""
    job = parts().store.get(job_id)
    if job.status is not Status.SUCCEEDED or job.output is None:
        raise OutputNotReady
    return Response(job.output, headers={"Cache-Control": "no-store"}, content_type="application/json")
