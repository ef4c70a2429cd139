"""Looking a job up, and cancelling it; its id is the capability, so there is no list (standard H9)."""

from flask import Blueprint, Response, request

from provider.errors import OutputNotReady
from provider.jobs.models import Status
from provider.jobs.schemas import cancel_status
from provider.web.parts import parts
from provider.web.prefer import parse_prefer
from provider.web.run import held

blueprint = Blueprint("jobs", __name__)


@blueprint.get("/jobs/<job_id>")
def show(job_id: str) -> Response:
    """Show the job; `Prefer: wait=N` holds the answer until it is final."""
    job = parts().store.get(job_id)
    return held(job, parse_prefer(request.headers.get("Prefer", "")))


@blueprint.delete("/jobs/<job_id>")
def cancel(job_id: str) -> Response:
    """Cancel the job, a paid one only with `?forfeit=true` (R7); `Prefer: wait=N` waits for its handler."""
    job = parts().canceller.cancel(job_id, forfeit=request.args.get("forfeit") == "true")
    return held(job, parse_prefer(request.headers.get("Prefer", "")), status_of=cancel_status)


@blueprint.get("/jobs/<job_id>/output")
def output(job_id: str) -> Response:
    """Give the output alone, once the job succeeded and not before (J14)."""
    job = parts().store.get(job_id)
    if job.status is not Status.SUCCEEDED or job.output is None:
        raise OutputNotReady
    return Response(job.output, headers={"Cache-Control": "no-store"}, content_type="application/json")
