"""The web application, put together from parts that its caller made."""

import json
import logging

from flask import Flask

from config.settings import Settings
from provider.jobs.cancel import Canceller
from provider.jobs.claims import ClaimDesk
from provider.jobs.events import JobEvents
from provider.jobs.lanes import Lanes
from provider.jobs.remote import Gateway
from provider.jobs.store import JobStore
from provider.jobs.tokens import Tokens
from provider.jobs.watch import Glances
from provider.services import Registry
from provider.web import (
    cors,
    discovery,
    health,
    held,
    jobs,
    metrics,
    openapi,
    problems,
    run,
    services,
    worker,
)
from provider.web.announcements import Announcements
from provider.web.body import MAX_BODY_BYTES
from provider.web.discovery import discovery_document
from provider.web.hub import Hub
from provider.web.live import JobNews
from provider.web.metrics import metrics_registry
from provider.web.openapi import openapi_document
from provider.web.parts import EXTENSION, Parts, list_services
from provider.web.waiting import WaitingRoom

CONCERNS = (cors, metrics, held, problems)
RESOURCES = (run, jobs, services, discovery, openapi, worker, health, metrics)


def create_app(
    settings: Settings,
    *,
    registry: Registry,
    store: JobStore,
    desk: ClaimDesk,
    canceller: Canceller,
    gateway: Gateway,
    events: JobEvents,
) -> Flask:
    """Build the application. What never changes while it runs is made here, once."""
    app = Flask("provider.web", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = (
        MAX_BODY_BYTES + 1
    )  # One more, so that what was cut there is told from what fits.
    app.url_map.strict_slashes = False
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    app.extensions[EXTENSION] = _parts(settings, registry, store, desk, canceller, gateway, events)
    for concern in CONCERNS:
        concern.init_app(app)
    for resource in RESOURCES:
        app.register_blueprint(resource.blueprint)
    return app


def _parts(
    settings: Settings,
    registry: Registry,
    store: JobStore,
    desk: ClaimDesk,
    canceller: Canceller,
    gateway: Gateway,
    events: JobEvents,
) -> Parts:
    listings = list_services(registry, desk, settings.public_url)
    documents = {
        "discovery": discovery_document(listings.values()),
        "openapi": openapi_document(listings.values(), settings),
    }
    lanes, tokens, hub = Lanes(store), Tokens(store), Hub(events, most=settings.web_streams)
    return Parts(
        settings=settings,
        store=store,
        lanes=lanes,
        desk=desk,
        canceller=canceller,
        gateway=gateway,
        tokens=tokens,
        room=WaitingRoom(events, hub, store, settings.web_threads),
        hub=hub,
        announcements=Announcements(lanes, tokens),
        glances=Glances(store),
        job_news=JobNews(store, lanes, {service.name: service for service in registry}),
        listings=listings,
        documents={name: json.dumps(document, ensure_ascii=False) for name, document in documents.items()},
        metrics=metrics_registry(store, registry),
    )
