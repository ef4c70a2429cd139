"""Wake-ups travel over another Redis or RabbitMQ; lost, doubled or late ones change no outcome (C1, C4)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import pytest
from redis import Redis

from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.store.metrics import RECONCILED_AT, Figures
from provider.settings import Settings
from tests.chaos.parts import LEDGER_SECONDS
from tests.chaos.stage import Stage, all_up
from tests.support.invariants import check_invariants
from tests.support.localnet import running_localnet
from tests.support.processes import wait_until
from tests.support.rabbitmq import RabbitServer, running_rabbitmq
from tests.support.redis_server import RedisServer, running_redis

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

POLICIES = pytest.mark.parametrize("service", ["after", "before"])

Broker = RedisServer | RabbitServer


@dataclass
class Swept(Stage):
    """A stage that can be swept by beat, every second."""

    @cached_property
    def settings(self) -> Settings:
        return replace(super().settings, sweep_seconds=1.0)

    @contextmanager
    def swept(self) -> Iterator[None]:
        """Let beat and a maintenance worker work; both have found the broker when this begins."""
        for kind in ("maintenance", "beat"):
            self.start(kind)
        assert wait_until(lambda: Figures(self.store).read()[RECONCILED_AT], 60)
        yield
        for kind in ("maintenance", "beat"):
            self.stop(kind)


@pytest.fixture(scope="module", params=[running_redis, running_rabbitmq], ids=["redis", "rabbitmq"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """Run a broker that holds no claims."""
    with request.param() as server:
        yield server


@pytest.fixture(scope="module")
def stage(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Swept]:
    """Run web, handle and settle processes over it."""
    home = tmp_path_factory.mktemp("brokers")
    with running_redis() as server, running_localnet(ledger_seconds=LEDGER_SECONDS) as net:
        net.state.close(2000)
        stage = Swept(server.url, net, home, broker_url=broker.url)
        with all_up(stage):
            yield stage


def done(stage: Stage, job_id: str) -> Job:
    assert wait_until(lambda: stage.store.get(job_id).is_final, 10), stage.store.get(job_id)
    return stage.store.get(job_id)


def is_as_ever(stage: Stage, job: Job) -> None:
    assert (job.status, job.starts, stage.charges(job)) == (Status.SUCCEEDED, 1, 1)
    check_invariants(stage.evidence())


@POLICIES
def test_a_job_runs_by_messages_alone(stage: Stage, service: str) -> None:
    """No sweep helps."""
    is_as_ever(stage, done(stage, stage.buy(service, {})))


def test_no_message_touches_the_redis_of_the_claims(stage: Stage) -> None:
    """REDIS_URL and BROKER_URL are two settings."""
    done(stage, stage.buy("after", {}))
    assert list(stage.store.client.scan_iter("*wake:*")) == []


@POLICIES
def test_doubled_messages(stage: Stage, service: str) -> None:
    """Each wake-up ten times, while there is something to do."""
    job_id = stage.buy(service, {})
    for _ in range(10):
        stage.dispatcher.handle(job_id)
        stage.dispatcher.settle(job_id)
    is_as_ever(stage, done(stage, job_id))


@POLICIES
def test_messages_that_come_hours_late(stage: Stage, service: str) -> None:
    """A finished job stays as it is, to the version."""
    job = done(stage, stage.buy(service, {}))
    for _ in range(3):
        stage.dispatcher.settle(job.id)
        stage.dispatcher.handle(job.id)
    done(stage, stage.buy(service, {}))  # Queues are first in, first out.
    assert stage.store.get(job.id) == job
    is_as_ever(stage, job)


@POLICIES
def test_messages_that_are_lost_before_anybody_took_them(stage: Stage, broker: Broker, service: str) -> None:
    """The sweep asks again."""
    for kind in ("handle", "settle"):
        stage.stop(kind)
    job_id = stage.buy(service, {})
    lose_everything(stage, broker)
    for kind in ("handle", "settle"):
        stage.start(kind)
    is_as_ever(stage, stage.recover(job_id))


def test_an_emptied_broker_needs_no_restart(stage: Stage, broker: Broker) -> None:
    """Queues, bindings and all are gone under processes that declared them long ago."""
    lose_everything(stage, broker)
    is_as_ever(stage, stage.recover(stage.buy("after", {})))


def lose_everything(stage: Stage, broker: Broker) -> None:
    if isinstance(broker, RedisServer):
        with Redis.from_url(broker.url) as client:
            client.flushall()
    else:
        stage.platform.celery.control.purge()


def test_a_broker_that_crashes(stage: Swept, broker: Broker) -> None:
    """Calls are taken meanwhile (C1); workers and beat find it again by themselves, and the sweep the job."""
    with stage.swept():
        broker.kill()
        job_id = stage.buy("after", {})
        assert stage.store.get(job_id).status is Status.QUEUED
        broker.start()
        assert wait_until(lambda: stage.store.get(job_id).is_final, 40)
        is_as_ever(stage, stage.store.get(job_id))
        is_as_ever(stage, done(stage, stage.buy("after", {})))
