"""What views work with: the parts handed to the application, and what was prepared from them at start."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from flask import current_app
from prometheus_client import CollectorRegistry

from provider.errors import ServiceNotFound
from provider.jobs.claim.desk import ClaimDesk
from provider.jobs.model.job import Job, Place
from provider.jobs.model.status import Status
from provider.jobs.recover.cancel import Canceller
from provider.jobs.remote.gateway import Gateway
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.jobs.store.subscription import JobEvents
from provider.jobs.store.tokens import Tokens
from provider.payments.models import PaymentRequirements
from provider.services import Registry, Service
from provider.settings import Settings
from provider.web.http.challenge import Challenge, challenges
from provider.web.streams.announcements import Announcements
from provider.web.streams.places import Places
from provider.web.views import JobViews

EXTENSION = "provider"


@dataclass(frozen=True, slots=True)
class Listing:
    """One service as it is offered: its price and what it answers unpaid."""

    service: Service
    url: str
    offer: PaymentRequirements
    challenges: Mapping[str, Challenge] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Parts:
    """The application's parts."""

    settings: Settings
    store: JobStore
    lanes: Lanes
    desk: ClaimDesk
    canceller: Canceller
    gateway: Gateway
    tokens: Tokens
    events: JobEvents
    places: Places
    views: JobViews
    announcements: Announcements
    listings: Mapping[str, Listing]
    documents: Mapping[str, str]
    """Discovery documents as text, made at start."""
    metrics: CollectorRegistry

    @property
    def public_url(self) -> str:
        return self.settings.public_url.rstrip("/")

    def listing(self, name: str) -> Listing:
        """Return a service's listing. Raises ServiceNotFound."""
        if name not in self.listings:
            raise ServiceNotFound
        return self.listings[name]

    def place(self, job: Job) -> Place | None:
        """Return where a queued job stands; None for one whose service is gone (Q7)."""
        listing = self.listings.get(job.service)
        if listing is None or job.status is not Status.QUEUED:
            return None
        return job.stands or self.lanes.place(job, listing.service)


def list_services(registry: Registry, desk: ClaimDesk, public_url: str) -> Mapping[str, Listing]:
    """Price every service and spell its challenges, once."""
    return {service.name: _listing(service, desk, public_url.rstrip("/")) for service in registry}


def _listing(service: Service, desk: ClaimDesk, public_url: str) -> Listing:
    offer, url = desk.quote(service), f"{public_url}/run/{service.name}"
    return Listing(service, url, offer, challenges(service, offer, url))


def parts() -> Parts:
    """Return the parts of the application that handles this request."""
    return cast(Parts, current_app.extensions[EXTENSION])
