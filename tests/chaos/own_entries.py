"""The application of a deployment that has entries of its own, by the clocks of its zone."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from celery.schedules import crontab

from provider.workers.celery import app

ZONE = "Asia/Kolkata"
"""Half an hour off, so that no other zone's clocks will do."""


def half_an_hour_ago(zone: str) -> crontab:
    """Make the schedule of what is due each day at the time that it was half an hour ago."""
    then = datetime.now(ZoneInfo(zone)) - timedelta(minutes=30)
    return crontab(minute=then.minute, hour=then.hour)


app.conf.timezone = ZONE
app.conf.beat_schedule |= {
    "own-due": {"task": "own.task", "schedule": half_an_hour_ago(ZONE)},
    "own-not-due": {"task": "own.task", "schedule": half_an_hour_ago("UTC")},
}
