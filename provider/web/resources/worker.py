"""The gateway of remote workers over HTTP: /worker (§11)."""

from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, g, request
from marshmallow import Schema

from provider.errors import InvalidToken
from provider.jobs.remote.held_lease import LeaseAnswer
from provider.strict_json import compact
from provider.web.http.body import read_json
from provider.web.parts import parts
from provider.web.resources import worker_schemas as schemas
from provider.web.streams.announcements import WorkerFeed
from provider.web.streams.stream import event_stream

blueprint = Blueprint("worker", __name__, url_prefix="/worker")


@blueprint.before_request
def check_token() -> None:
    """Find out whose request this is; nothing is read of it before."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "bearer":
        raise InvalidToken
    g.worker = parts().tokens.check(token.strip())


@blueprint.after_request
def ask_for_token(response: Response) -> Response:
    """Say how to authenticate, as RFC 9110 wants it of a 401."""
    if response.status_code == InvalidToken.status:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


@blueprint.post("/claims")
def claim() -> Response:
    """Give the next job that the worker may run."""
    body = schemas.load(schemas.ClaimSchema(), read_json(request))
    given = parts().gateway.claim(g.worker, body["services"])
    return _answer(
        {"declined": schemas.NONE_AVAILABLE} if given is None else {"job": schemas.dump_assignment(given)}
    )


@blueprint.get("/events")
def events() -> Response:
    """Announce jobs that wait, as server-sent events; `?services=a,b` names fewer than the token allows."""
    names = [name for name in request.args.get("services", "").split(",") if name]
    services = [service.name for service in parts().gateway.wanted(g.worker, names)]
    feed = WorkerFeed(parts().announcements, g.worker, services)
    return event_stream(parts().places, parts().events, feed)


@blueprint.post("/jobs/<job_id>/renew")
def renew(job_id: str) -> Response:
    """Prolong a lease."""
    return _act(parts().gateway.renew, job_id, schemas.RenewSchema())


@blueprint.post("/jobs/<job_id>/progress")
def progress(job_id: str) -> Response:
    """Note how far the work is."""
    return _act(parts().gateway.progress, job_id, schemas.ToldProgressSchema())


@blueprint.post("/jobs/<job_id>/checkpoint")
def checkpoint(job_id: str) -> Response:
    """Complete units of the work, or note where open ones stand."""
    return _act(parts().gateway.checkpoint, job_id, schemas.CheckpointsSchema())


@blueprint.post("/jobs/<job_id>/complete")
def complete(job_id: str) -> Response:
    """Take the output."""
    return _act(parts().gateway.complete, job_id, schemas.CompleteSchema())


@blueprint.post("/jobs/<job_id>/fail")
def fail(job_id: str) -> Response:
    """Take a failure."""
    return _act(parts().gateway.fail, job_id, schemas.FailSchema())


@blueprint.post("/jobs/<job_id>/release")
def release(job_id: str) -> Response:
    """Take the job back into its lane."""
    return _act(parts().gateway.release, job_id, schemas.RenewSchema())


def _act(action: Callable[..., LeaseAnswer], job_id: str, schema: Schema) -> Response:
    body = schemas.load(schema, read_json(request))
    return _answer(schemas.dump_answer(action(g.worker, job_id, **body)))


def _answer(body: dict[str, Any]) -> Response:
    return Response(compact(body), headers={"Cache-Control": "no-store"}, content_type="application/json")
