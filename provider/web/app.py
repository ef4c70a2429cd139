"""The web application, put together from parts that its caller made."""

import json
import logging

from flask import Flask

from provider.platform import Platform
from provider.services.checks import MOST_INPUT_BYTES
from provider.web.http import cors, problems
from provider.web.mcp import endpoint as mcp
from provider.web.parts import EXTENSION, Parts, list_services
from provider.web.resources import discovery, health, jobs, llms, metrics, openapi, run, services, worker
from provider.web.resources.discovery import discovery_document
from provider.web.resources.llms import llms_text
from provider.web.resources.metrics import metrics_registry
from provider.web.resources.openapi import openapi_document
from provider.web.streams.announcements import Announcements
from provider.web.streams.places import Places
from provider.web.views import JobViews

CONCERNS = (cors, metrics, problems)
RESOURCES = (run, mcp, jobs, services, discovery, llms, openapi, worker, health, metrics)


def create_app(platform: Platform) -> Flask:
    """Build the application. What never changes while it runs is made here, once."""
    app = Flask("provider.web", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = (
        MOST_INPUT_BYTES + 1
    )  # One more, so that a body that was cut differs from one that fits.
    app.url_map.strict_slashes = False
    app.url_map.merge_slashes = False  # A redirect would be built from the caller's Host.
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    app.extensions[EXTENSION] = _parts(platform)
    for concern in CONCERNS:
        concern.init_app(app)
    for resource in RESOURCES:
        app.register_blueprint(resource.blueprint)
    return app


def _parts(platform: Platform) -> Parts:
    settings, registry, store = platform.settings, platform.registry, platform.store
    listings = list_services(registry, platform.desk, settings.public_url)
    documents = {
        "discovery": discovery_document(listings.values()),
        "openapi": openapi_document(listings.values(), settings),
    }
    return Parts(
        settings=settings,
        store=store,
        lanes=platform.lanes,
        desk=platform.desk,
        canceller=platform.canceller,
        gateway=platform.gateway,
        tokens=platform.tokens,
        events=platform.events,
        places=Places(settings.web_streams),
        announcements=Announcements(platform.lanes, platform.tokens),
        views=JobViews(store, platform.lanes, {service.name: service for service in registry}),
        listings=listings,
        documents={name: json.dumps(document, ensure_ascii=False) for name, document in documents.items()}
        | {"llms": llms_text(listings.values(), settings)},
        metrics=metrics_registry(store, registry),
    )
