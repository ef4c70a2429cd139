"""How long jobs of a service take, and how long a new one waits (Q2): by the average, or its seed at first.

`reserve.lua` computes the same wait, since it must admit or refuse in the same step.
"""

from provider.jobs.model.job import Place
from provider.services import Service

NEWEST_WEIGHT = 0.1
"""Weight of the newest duration in the average."""


def seed_ms(service: Service) -> int:
    """Return the average of a service while none of its jobs has finished, for a script."""
    return int(service.seed_seconds * 1000)


def average_seconds(service: Service, measured_ms: str | None) -> float:
    """Return the average duration, from what the store measured."""
    return float(measured_ms) / 1000 if measured_ms else service.seed_seconds


def expected_seconds(service: Service, measured_ms: str | None) -> float:
    """Return how long the next job is taken to run: the average, within its budget."""
    return min(service.timeout_seconds, average_seconds(service, measured_ms))


def wait_seconds(service: Service, ahead: int, average: float) -> float:
    """Return how long a job waits behind `ahead` others, those that run included."""
    return max(0, ahead - service.concurrency + 1) / service.concurrency * average


def place_of(service: Service, rank: int, busy: int, average: float) -> Place:
    """Say where a job stands that has `rank` others before it in its lane, while `busy` run."""
    return Place(rank + 1, round(wait_seconds(service, rank + busy, average)))
