"""Celery's options, in one place, from the settings and the names of the services.

Messages are wake-ups: an id, acknowledged early, lost without harm (standard C1). So there is no result
backend, no retry, no time limit and no remote control: a forged message can cause a look at a job, never
a revoke or a shutdown. Why each option has its value: `docs/adr/` and the facts behind standard §13.
"""

from collections.abc import Container, Iterable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kombu import Queue

from provider.broker.queues import MAINTENANCE, RECONCILE, SWEEP, handle_queue, route_task, settle_queue
from provider.settings import Settings


def celery_config(
    settings: Settings, service_names: Iterable[str], *, remote: Container[str] = ()
) -> dict[str, Any]:
    """Build Celery's configuration (standard C1 to C3). Services in `remote` are handled elsewhere (§11)."""
    services = sorted(service_names)
    return {
        "timezone": "UTC",
        **_broker(settings),
        **_messages(),
        **_queues(services, [name for name in services if name not in remote]),
        **_worker(settings),
        **_beat(settings),
    }


def _broker(settings: Settings) -> dict[str, Any]:
    """Connect for ever, with few connections, and never block a web request for long.

    Over Redis nothing is acknowledged: a message is taken for good (C1). In Kombu's emulation one whose
    acknowledgement is lost counts for ever, and a worker with as many of them as processes takes no more.
    """
    url = broker_address(settings.broker_url or settings.redis_url)
    return {
        "broker_url": url,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_channel_error_retry": True,  # Redis full, or demoted to a replica: connect again.
        "broker_pool_limit": 2,
        "broker_pool_acquire_timeout": 3,
        "broker_transport_options": REDIS_TRANSPORT if url.startswith("redis") else AMQP_TRANSPORT,
        "worker_disable_prefetch": url.startswith("redis"),  # Kombu knows it for Redis alone.
    }


PUBLISHING = {"max_retries": 0}
"""Once: by Kombu's own a call would be held for 6 s while the broker refuses connections."""
REDIS_TRANSPORT = {
    **PUBLISHING,
    "global_keyprefix": "wake:",
    "ack_emulation": False,
    "socket_timeout": 5,
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
    "health_check_interval": 4,
}
AMQP_TRANSPORT = {**PUBLISHING, "confirm_publish": True, "connect_timeout": 5}


def broker_address(url: str) -> str:
    """Spell a `unix://` Redis URL the way Kombu wants it; leave every other URL alone."""
    parts = urlsplit(url)
    if parts.scheme != "unix":
        return url
    database = parse_qs(parts.query).get("db", ["0"])[0]
    return f"redis+socket://{parts.path}?virtual_host={database}"


def _messages() -> dict[str, Any]:
    """Send JSON, acknowledge early, keep no result, publish once: the sweep publishes again."""
    return {
        "accept_content": ["json"],
        "task_serializer": "json",
        "task_ignore_result": True,
        "result_backend": None,
        "result_expires": None,
        "task_acks_late": False,
        "task_reject_on_worker_lost": False,
        "task_retry_on_worker_lost": False,
        "task_publish_retry": False,
        "task_track_started": False,
    }


def _queues(settled: list[str], handled: list[str]) -> dict[str, Any]:
    """Declare a settle queue for each service, a handle queue for those we run; no message makes another."""
    names = [*map(handle_queue, handled), *map(settle_queue, settled)]
    return {
        "task_queues": [Queue(name, routing_key=name) for name in [*names, MAINTENANCE]],
        "task_default_queue": MAINTENANCE,
        "task_default_exchange": "provider",
        "task_create_missing_queues": False,
        "task_routes": (route_task,),
    }


def _worker(settings: Settings) -> dict[str, Any]:
    """Prefetch one message a free process, send events to Flower; remote control is off.

    After a lost connection Celery would take fewer messages, and undo that from a thread of the pool, which
    waits for RabbitMQ's answer on the connection that the main thread reads: both would hang.
    """
    return {
        "worker_consumer": "provider.workers.consumer:WakeUpConsumer",
        "worker_prefetch_multiplier": 1,
        "worker_eta_task_limit": 100,
        "worker_enable_prefetch_count_reduction": False,
        "worker_enable_remote_control": False,
        "beat_enable_remote_control": False,
        "worker_send_task_events": True,
        "task_send_sent_event": False,
        "worker_soft_shutdown_timeout": settings.worker_stop_seconds,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_max_tasks_per_child": 200,
        "worker_max_memory_per_child": 300_000,
    }


def _beat(settings: Settings) -> dict[str, Any]:
    """Send sweep and reconcile by the rounds in Redis: any number of beats send nothing twice (C3)."""
    every = settings.sweep_seconds
    return {
        "beat_scheduler": "provider.workers.beat.Scheduler",
        "beat_max_loop_interval": min(5.0, every),
        "beat_schedule": {
            name: {"task": task, "schedule": every, "options": {"queue": MAINTENANCE}}
            for name, task in (("sweep", SWEEP), ("reconcile", RECONCILE))
        },
    }
