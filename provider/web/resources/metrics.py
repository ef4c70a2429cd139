"""Prometheus metrics: what the store holds, and how long requests took (standard §14)."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isinf
from typing import Any

from flask import Blueprint, Flask, Response, g, request
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from provider.errors import StoreUnavailable
from provider.jobs.store.contradictions import Contradictions
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.metrics import Count, Durations, Family, Figures, Timing
from provider.jobs.store.stats import LaneStats, Stranded, read_stats, read_stranded
from provider.services import Registry, Service
from provider.web.parts import parts
from provider.web.streams.places import WAITING_CLIENTS

blueprint = Blueprint("metrics", __name__)

METHODS = frozenset({"GET", "HEAD", "POST", "DELETE", "OPTIONS"})
REQUEST_SECONDS = Histogram(
    "provider_http_request_seconds",
    "Time to answer a request, waiting included.",
    ["route", "method", "status"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    registry=None,
)
VERIFY_SECONDS = Histogram(
    "provider_facilitator_verify_seconds",
    "Time of the facilitator's /verify.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
    registry=None,
)
CHECK_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
PAYMENT_CHECK_SECONDS = Histogram(
    "provider_payment_check_seconds",
    "Time to judge a payment offline.",
    buckets=CHECK_BUCKETS,
    registry=None,
)
INPUT_CHECK_SECONDS = Histogram(
    "provider_input_check_seconds",
    "Time to validate the input of a call whose payment passed its check.",
    buckets=CHECK_BUCKETS,
    registry=None,
)
OBSERVED = {
    "verify": VERIFY_SECONDS,
    "payment_check": PAYMENT_CHECK_SECONDS,
    "input_check": INPUT_CHECK_SECONDS,
}


@blueprint.get("/metrics")
def metrics() -> Response:
    """Give all metrics in the text format."""
    return Response(generate_latest(parts().metrics), content_type=CONTENT_TYPE_LATEST)


def init_app(app: Flask) -> None:
    """Time every request."""
    app.before_request(_start_clock)
    app.after_request(_observe)


def step_took(name: str, seconds: float) -> None:
    """Note how long a step of a paid call took: the observer of this process's platform."""
    if name in OBSERVED:
        OBSERVED[name].observe(seconds)


def metrics_registry(store: JobStore, services: Registry) -> CollectorRegistry:
    """Build the registry: this process's requests (or all processes', see gunicorn.py) and the store."""
    registry = CollectorRegistry()
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(REQUEST_SECONDS)
        for observed in OBSERVED.values():
            registry.register(observed)
        registry.register(WAITING_CLIENTS)
    registry.register(StoreCollector(store, list(services)))
    return registry


CONTRADICTED = "Jobs whose record the chain contradicts, and that no operator has settled."


class StoreCollector(Collector):
    """Reads lanes and figures at each scrape: counters of a process would forget, the store does not."""

    def __init__(self, store: JobStore, services: list[Service]) -> None:
        self._store = store
        self._services = services
        self._figures = Figures(store)

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        try:
            lanes, figures = read_stats(self._store, self._services), self._figures.read()
            stranded = read_stranded(self._store, lanes)
            contradicted = Contradictions(self._store).count()
        except StoreUnavailable:
            yield GaugeMetricFamily("provider_store_up", "Whether Redis answered this scrape.", 0)
            return
        yield GaugeMetricFamily("provider_store_up", "Whether Redis answered this scrape.", 1)
        yield _jobs(lanes)
        yield from _lane_gauges(lanes)
        yield _oldest_uncertain(lanes)
        yield _stranded(stranded)
        yield GaugeMetricFamily("provider_contradicted_jobs", CONTRADICTED, contradicted)
        yield from (_figure(family, values) for family, values in figures.items())


def _jobs(lanes: Mapping[str, LaneStats]) -> Metric:
    family = GaugeMetricFamily("provider_jobs", "Jobs stored.", labels=["service", "status"])
    for service, lane in lanes.items():
        for status, count in lane.jobs.items():
            family.add_metric([service, status.value], count)
    return family


def _lane_gauges(lanes: Mapping[str, LaneStats]) -> Iterator[Metric]:
    values: dict[str, tuple[str, Callable[[LaneStats], float]]] = {
        "depth": ("Places taken: pending, queued and reserved.", lambda lane: lane.depth),
        "busy": ("Handlers running.", lambda lane: lane.busy),
        "wait_seconds": ("What a new call would wait.", lambda lane: lane.wait_seconds),
        "average_seconds": ("Weighted average duration of a job.", lambda lane: lane.average_seconds),
        "sweep_lag_seconds": ("How long a job has waited for the sweep's look.", _sweep_lag),
    }
    for name, (about, value) in values.items():
        family = GaugeMetricFamily(f"provider_lane_{name}", about, labels=["service"])
        for service, lane in lanes.items():
            family.add_metric([service], value(lane))
        yield family


def _oldest_uncertain(lanes: Mapping[str, LaneStats]) -> Metric:
    ages = [
        time.time() - lane.oldest_uncertain_ms / 1000 for lane in lanes.values() if lane.oldest_uncertain_ms
    ]
    about = "Age of the oldest job whose payment is uncertain; 0 when there is none."
    return GaugeMetricFamily("provider_oldest_uncertain_seconds", about, max(ages, default=0))


def _sweep_lag(lane: LaneStats) -> float:
    return 0 if lane.due_since_ms is None else max(0.0, time.time() - lane.due_since_ms / 1000)


def _figure(family: Family, values: Mapping[tuple[str, ...], Any]) -> Metric:
    """Spell what processes left in the store; their label values are names of ours, never a caller's."""
    name = f"provider_{family.name}"
    if isinstance(family, Timing):
        timing = HistogramMetricFamily(name, family.about, labels=family.labels)
        for labels, durations in values.items():
            timing.add_metric(labels, _buckets(durations), durations.seconds)
        return timing
    kind = CounterMetricFamily if isinstance(family, Count) else GaugeMetricFamily
    metric = kind(name, family.about, labels=family.labels)
    for labels, value in values.items():
        metric.add_metric(labels, value)
    return metric


def _buckets(durations: Durations) -> list[tuple[str, int]]:
    return [("+Inf" if isinf(bound) else str(float(bound)), count) for bound, count in durations.buckets]


def _stranded(found: Mapping[str, Stranded]) -> Metric:
    about = "Open jobs of services that are not offered."
    family = GaugeMetricFamily("provider_stranded_jobs", about, labels=["service"])
    for service, stranded in found.items():
        family.add_metric([service], sum(stranded.jobs.values()))
    return family


def _start_clock() -> None:
    g.started = time.perf_counter()


def _observe(response: Response) -> Response:
    # Callers choose paths and methods: only known ones may become label values.
    rule = request.url_rule.rule if request.url_rule else "unknown"
    method = request.method if request.method in METHODS else "other"
    started = g.get("started", None)
    if started is not None:
        labels = (rule, method, str(response.status_code))
        REQUEST_SECONDS.labels(*labels).observe(time.perf_counter() - started)
    return response
