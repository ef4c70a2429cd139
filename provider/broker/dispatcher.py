"""Wake-ups as Celery messages: an id, nothing else (C1)."""

import structlog
from celery import Celery

from provider.broker.queues import HANDLE_JOB, SETTLE_JOB

log = structlog.get_logger()

NOT_PUBLISHED = "wake_up_not_published"


class CeleryDispatcher:
    """Publishes wake-ups. An error is ambiguous, so it is logged and left to the sweep (C1)."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def handle(self, job_id: str) -> None:
        """Wake the lane of a job."""
        self._publish(HANDLE_JOB, job_id)

    def settle(self, job_id: str) -> None:
        """Have a job's payment settled."""
        self._publish(SETTLE_JOB, job_id)

    def _publish(self, task: str, job_id: str) -> None:
        try:
            self._app.send_task(task, args=[job_id], ignore_result=True, retry=False)
        except Exception as error:
            log.warning(NOT_PUBLISHED, task=task, job_id=job_id, error=type(error).__name__)
