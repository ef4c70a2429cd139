"""The bare rival of a wake-up: a Celery task with our options that tells when its first line ran.

`celery -A bench.bare worker`.
"""

import time

import redis
from celery import Celery
from kombu import Queue

from provider.broker.options import celery_config
from provider.settings import Settings

STARTED = "bench:started"
settings = Settings.from_env()
app = Celery("bench")
app.conf.update(celery_config(settings, []))
app.conf.update(imports=(), task_routes={}, task_queues=[Queue("bare", routing_key="bare")])
_client = redis.Redis.from_url(settings.redis_url)


@app.task(name="bench.started")
def started() -> None:
    """Tell the time."""
    at = time.monotonic()
    _client.rpush(STARTED, at)
