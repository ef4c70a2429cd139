"""Flower's options: `celery -A provider.workers.celery flower --conf=config/flower.py`.

Flower shows every task to whoever may open it, so without a password it does not start (standard §14).
The password comes from the environment: a command line can be read by every user of the machine.
Tornado takes every name in this file that it has an option for, `logging` among them.
"""

import os
from logging import CRITICAL, getLogger

from celery import current_app

basic_auth = [pair for pair in os.environ.get("FLOWER_BASIC_AUTH", "").split(",") if pair]
if not all(user and password for user, _, password in (pair.partition(":") for pair in basic_auth or [""])):
    raise SystemExit("Flower shows every task: set FLOWER_BASIC_AUTH to user:password.")

# Flower asks several questions at once, and each takes a second connection while it holds the first:
# with the small pool that suits the other processes they wait for each other for ever.
current_app.conf.broker_pool_limit = 0

max_tasks = 2000
purge_offline_workers = 600
enable_events = False  # Workers send their events anyway, and take no orders (provider/broker/options.py).
# Its questions at start are among those orders, and go unanswered.
getLogger("flower.inspector").setLevel(CRITICAL)
