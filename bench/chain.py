"""The bare rival of our two tasks: a Celery task that sends another one, which counts.

`celery -A bench.chain worker`. The Celery options are ours, but nothing is stored, checked or promised.
"""

import os

import redis
from celery import Celery
from kombu import Queue

from provider.broker.options import celery_config
from provider.settings import Settings

settings = Settings.from_env()
app = Celery("bench")
app.conf.update(celery_config(settings, []))
app.conf.update(
    imports=(),
    task_routes={"bench.first": {"queue": "first"}, "bench.second": {"queue": "second"}},
    task_queues=[Queue(name, routing_key=name) for name in ("first", "second", "maintenance")],
)
counter = redis.Redis.from_url(os.environ["REDIS_URL"])
DONE = "bench:done"


@app.task(name="bench.first")
def first(number: str) -> None:
    """Do nothing, and hand on."""
    second.delay(number)


@app.task(name="bench.second")
def second(number: str) -> None:
    """Count."""
    counter.incr(DONE)
