"""The web application, put together from parts that its caller made."""

import json
import logging

from flask import Flask

from provider.jobs.claim.desk import ClaimDesk
from provider.jobs.recover.cancel import Canceller
from provider.jobs.remote.gateway import Gateway
from provider.jobs.store.batch_reads import Glances
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.jobs.store.subscription import JobEvents
from provider.jobs.store.tokens import Tokens
from provider.services import Registry
from provider.settings import Settings
from provider.web.http import cors, problems
from provider.web.http.body import MAX_BODY_BYTES
from provider.web.parts import EXTENSION, Parts, list_services
from provider.web.resources import discovery, health, jobs, metrics, openapi, run, services, worker
from provider.web.resources.discovery import discovery_document
from provider.web.resources.metrics import metrics_registry
from provider.web.resources.openapi import openapi_document
from provider.web.streams import held
from provider.web.streams.announcements import Announcements
from provider.web.streams.hub import Hub
from provider.web.streams.live import JobNews
from provider.web.streams.waiting import WaitingRoom

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
