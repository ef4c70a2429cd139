"""All checks of `provider doctor`, in the order in which a deployment is set up."""

import time
from collections.abc import Iterator

from provider.chain.rpc import StellarRpc
from provider.doctor.facilitator import check_facilitator
from provider.doctor.finding import Finding, fail, ok
from provider.doctor.payee import check_payee, check_store
from provider.doctor.queues import Queues
from provider.doctor.redis import check_redis
from provider.doctor.rpc import check_rpc, no_rpc
from provider.errors import ConfigurationError, SettingsError
from provider.jobs.store.client import connect
from provider.jobs.store.jobs import JobStore
from provider.payments.facilitator import FacilitatorClient
from provider.services import load_registry
from provider.services.registry import Registry
from provider.settings import Settings


def examine() -> Iterator[Finding]:
    """Make all checks; without readable settings there is only one."""
    try:
        settings = Settings.from_env()
    except SettingsError as error:
        yield fail(
            "settings", "; ".join(error.problems), "mend these variables: `provider settings` lists all"
        )
        return
    yield ok("settings", "readable")
    registry = None
    try:
        registry = load_registry(settings.provider_services, settings.settle_margin_seconds)
        yield ok("services", ", ".join(service.name for service in registry))
    except ConfigurationError as error:
        yield fail("services", "; ".join(error.problems), "mend the declarations, or PROVIDER_SERVICES")
    yield from _storage(settings, registry)
    yield from _outside(settings)


def _storage(settings: Settings, registry: Registry | None) -> Iterator[Finding]:
    client = connect(settings.redis_url, timeout_seconds=settings.redis_timeout_seconds)
    yield from check_redis(client)
    if registry is not None:
        yield from Queues(JobStore(client), settings).check(registry)


def _outside(settings: Settings) -> Iterator[Finding]:
    facilitator = FacilitatorClient(
        settings.facilitator_url,
        verify_timeout_seconds=settings.verify_timeout_seconds,
        api_key=settings.facilitator_api_key or None,
    )
    yield check_facilitator(facilitator, settings.network)
    rpcs = [StellarRpc(url) for url in settings.stellar_rpc_urls]
    if not rpcs:
        yield no_rpc()
        return
    for rpc in rpcs:
        yield check_rpc(rpc, settings.network, time.time())
    yield from check_payee(rpcs[0], settings.pay_to, settings.asset)
    client = connect(settings.redis_url, timeout_seconds=settings.redis_timeout_seconds)
    yield check_store(rpcs[0], JobStore(client), settings.pay_to, settings.asset)
