"""Celery's configuration: what a message may do, and where it goes (standard C1 to C3)."""

import pytest
from celery import Celery
from celery.exceptions import QueueNotFound

from provider.broker.options import broker_address, celery_config
from provider.broker.queues import HANDLE_JOB, RECONCILE, SETTLE_JOB, SWEEP
from provider.settings import Settings

SERVICES = ["qr-code", "monte-carlo", "far"]


def configured(**settings: object) -> Celery:
    """Make an application that never connects."""
    app = Celery("test", set_as_current=False)
    app.conf.update(celery_config(Settings(pay_to="", **settings), SERVICES, remote={"far"}))  # type: ignore[arg-type]
    return app


@pytest.mark.parametrize(("task", "queue"), [(HANDLE_JOB, "handle.qr-code"), (SETTLE_JOB, "settle.qr-code")])
def test_a_message_goes_to_the_queue_of_the_service_in_its_job_id(task: str, queue: str) -> None:
    """The id of a job names its service."""
    route = configured().amqp.router.route({}, task, args=["qr-code.6f1c"])
    assert route["queue"].name == queue


@pytest.mark.parametrize("task", [SWEEP, RECONCILE])
def test_maintenance_has_a_queue_of_its_own(task: str) -> None:
    """Settlements that hang must not hold up the sweep that ends them."""
    assert configured().amqp.router.route({}, task, args=[])["queue"].name == "maintenance"


def test_a_message_never_makes_a_queue() -> None:
    """A job id of a service that is not sold here would fill a queue that nobody reads."""
    with pytest.raises(QueueNotFound):
        configured().amqp.router.route({}, HANDLE_JOB, args=["no-such-service.6f1c"])


def test_the_handlers_of_remote_services_have_no_queue() -> None:
    """Nobody would consume it (§11); their payments are settled like all others."""
    assert configured().amqp.router.route({}, SETTLE_JOB, args=["far.6f1c"])["queue"].name == "settle.far"
    with pytest.raises(QueueNotFound):
        configured().amqp.router.route({}, HANDLE_JOB, args=["far.6f1c"])


def test_messages_are_json_acknowledged_early_and_never_repeated_by_celery() -> None:
    """Delays, attempts and cancels live in the record (C1)."""
    conf = configured().conf
    assert conf.accept_content == ["json"]
    assert not any([conf.task_acks_late, conf.task_reject_on_worker_lost, conf.task_publish_retry])
    assert conf.task_ignore_result
    assert conf.result_backend is None


def test_nobody_commands_a_worker_through_the_broker() -> None:
    """A forged revoke or shutdown is more than a look at a job (C1)."""
    conf = configured().conf
    assert not conf.worker_enable_remote_control
    assert not conf.beat_enable_remote_control


def test_maintenance_has_its_interval_and_no_time_at_which_it_expires() -> None:
    """A message would expire by a worker's clock (C6); what piles up is one run by its round (C3)."""
    entries = configured(sweep_seconds=7.0).conf.beat_schedule
    assert {entry["task"] for entry in entries.values()} == {SWEEP, RECONCILE}
    assert all(entry["schedule"] == 7.0 for entry in entries.values())
    assert all("expires" not in entry["options"] for entry in entries.values())


@pytest.mark.parametrize(
    ("broker", "prefetch_off"),
    [("redis://127.0.0.1/1", True), ("unix:///tmp/redis.sock", True), ("amqp://127.0.0.1//", False)],
)
def test_the_broker_may_be_redis_or_rabbitmq(broker: str, prefetch_off: bool) -> None:
    """Kombu switches prefetching off for Redis alone, and has options of its own for each."""
    conf = configured(broker_url=broker).conf
    assert conf.worker_disable_prefetch is prefetch_off
    assert ("global_keyprefix" in conf.broker_transport_options) is prefetch_off


def test_a_connection_that_died_without_a_word_is_noticed_within_ten_seconds() -> None:
    """C5: Kombu looks at each such interval whether the answer to a BRPOP of 1 s is late by one."""
    options = configured(broker_url="redis://127.0.0.1/1").conf.broker_transport_options
    assert 1 + 2 * options["health_check_interval"] < 10


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("unix:///tmp/redis.sock", "redis+socket:///tmp/redis.sock?virtual_host=0"),
        ("unix:///tmp/redis.sock?db=3", "redis+socket:///tmp/redis.sock?virtual_host=3"),
        ("rediss://user:secret@host:6380/2", "rediss://user:secret@host:6380/2"),
    ],
)
def test_a_socket_is_spelled_as_kombu_wants_it(url: str, address: str) -> None:
    """Redis and Kombu disagree on the address of a unix socket."""
    assert broker_address(url) == address


def test_claims_and_wake_ups_share_a_server_unless_told_otherwise() -> None:
    """BROKER_URL defaults to REDIS_URL (C4)."""
    assert configured(redis_url="redis://127.0.0.1/5").conf.broker_url == "redis://127.0.0.1/5"
