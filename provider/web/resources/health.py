"""Is this process alive, and can it do its work?"""

from flask import Blueprint, Response

from provider.web.parts import parts

blueprint = Blueprint("health", __name__)


@blueprint.get("/healthz")
def healthz() -> Response:
    """Answer whenever the process can answer at all."""
    return _ok()


@blueprint.get("/readyz")
def readyz() -> Response:
    """Answer when Redis does.

    The facilitator is not asked: without it calls are refused one by one, but jobs are still looked up,
    and taking every web process out of rotation would hide them.
    """
    parts().store.ping()
    return _ok()


def _ok() -> Response:
    return Response('{"status":"ok"}', headers={"Cache-Control": "no-store"}, content_type="application/json")
