"""Jobs that stand where a test needs them."""

from provider.jobs.model.job import Job, Lease
from tests.support.jobs import Platform


def queued(platform: Platform, name: str = "after") -> Job:
    """Buy a job and take it to its lane."""
    job = platform.buy(name)
    if name == "before":
        platform.settler.settle(job.id)
    return platform.job(job)


def running(platform: Platform, name: str = "after") -> Job:
    """Take a job to a worker that never comes back of its own accord."""
    service = platform.registry.get(name)
    lease = platform.lanes.lease(service, queued(platform, name).id, "worker", lease_seconds=30)
    assert isinstance(lease, Lease)
    return lease.job


def produced(platform: Platform) -> Job:
    """Take a job to its stored output, which waits for its payment."""
    job = running(platform)
    platform.outcomes.output(job, '{"a":"secret"}', {})
    return platform.job(job)


def settling(platform: Platform) -> Job:
    """Take a job to where its settlement has begun."""
    job = produced(platform)
    platform.store.begin_settlement(job, "settler", give_up_seconds=9)
    return job


def uncertain(platform: Platform) -> Job:
    """Take a job to where nobody knows whether it is paid."""
    platform.facilitator.settle = lambda _: (500, {})
    return platform.finish(platform.buy())


def succeeded(platform: Platform) -> Job:
    """Take a job to its paid output."""
    return platform.finish(platform.buy())


def failed(platform: Platform, name: str = "after") -> Job:
    """Take a job to a handler that fails."""
    return platform.finish(platform.buy(name, {"do": "raise"}))
