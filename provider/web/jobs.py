"""Looking a job up; its id is the capability, so there is no list (standard H9)."""

from flask import Blueprint, Response, request

from provider.errors import OutputNotReady
from provider.jobs.models import Status
from provider.web.parts import parts
from provider.web.prefer import parse_prefer
from provider.web.run import held

blueprint = Blueprint("jobs", __name__)


@blueprint.get("/jobs/<job_id>")
def show(job_id: str) -> Response:
    """Show the job; `Prefer: wait=N` holds the answer until it is final."""
    job = parts().store.get(job_id)
    return held(job, parse_prefer(request.headers.get("Prefer", "")), is_call=False)


@blueprint.get("/jobs/<job_id>/output")
def output(job_id: str) -> Response:
    """Give the output alone, once the job succeeded and not before (J14)."""
    job = parts().store.get(job_id)
    if job.status is not Status.SUCCEEDED or job.output is None:
        raise OutputNotReady
    return Response(job.output, headers={"Cache-Control": "no-store"}, content_type="application/json")
