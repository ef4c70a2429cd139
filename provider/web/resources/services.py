"""What is for sale: /services, and the page for people at /."""

import json
from typing import Any

from flask import Blueprint, Response, render_template, request

from provider.jobs.store.stats import LaneStats, read_stats
from provider.web.parts import Listing, parts
from provider.web.resources.catalogue import currency, describe

blueprint = Blueprint("services", __name__)


@blueprint.get("/")
def home() -> Response:
    """Show the services: a page for people, JSON for programs that ask for it."""
    offered = ["text/html", "application/json"]
    if request.accept_mimetypes.best_match(offered, "text/html") == "application/json":
        response = index()
    else:
        response = Response(_page(), content_type="text/html; charset=utf-8")
        response.headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    response.headers["Vary"] = "Accept"
    return response


@blueprint.get("/services")
def index() -> Response:
    """Describe every service, with the wait now."""
    listings = list(parts().listings.values())
    lanes = read_stats(parts().store, [listing.service for listing in listings])
    return _json({"services": [_live(listing, lanes[listing.service.name]) for listing in listings]})


@blueprint.get("/services/<name>")
def show(name: str) -> Response:
    """Describe one service, with the wait now."""
    listing = parts().listing(name)
    return _json(_live(listing, read_stats(parts().store, [listing.service])[name]))


def _live(listing: Listing, lane: LaneStats) -> dict[str, Any]:
    queue = {"depth": lane.depth, "running": lane.busy, "estimatedWaitSeconds": lane.wait_seconds}
    return {**describe(listing, parts().settings), "queue": queue}


def _json(value: Any) -> Response:
    body = json.dumps(value, ensure_ascii=False)
    return Response(body, headers={"Cache-Control": "no-cache"}, content_type="application/json")


def _page() -> str:
    settings = parts().settings
    listings = parts().listings.values()
    return render_template(
        "home.html",
        services=[describe(listing, settings) for listing in listings],
        paying_first={listing.service.name for listing in listings if listing.service.charge.pays_first},
        currency=currency(settings),
        network=settings.network,
        asset=settings.asset,
        public_url=parts().public_url,
    )
