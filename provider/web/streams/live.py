"""The events of a job: the job object whenever it shows something new (J5)."""

from provider.errors import JobNotFound
from provider.jobs.model.job_id import service_of
from provider.jobs.model.status import Status
from provider.jobs.store.subscription import Waiter
from provider.web.streams.stream import NEVER, News, frame
from provider.web.views import JobViews, View

PLACE_SECONDS = 2.0
"""A position changes whenever another job of the lane does; a stream shows it so often at most."""


class JobFeed:
    """The events of one job, for one client."""

    every_seconds = NEVER

    def __init__(self, views: JobViews, job_id: str, last_id: str) -> None:
        self.waiter = Waiter(job_id, [service_of(job_id)])
        self._views = views
        self._last_id = last_id
        self._seen: View | None = None

    @property
    def patience_seconds(self) -> float:
        return PLACE_SECONDS if self._seen and self._seen.job.status is Status.QUEUED else NEVER

    def news(self) -> News:
        """Give what is new since the last time; the stream ends with the final status."""
        try:
            now = self._views.get(self.waiter.job_id)
        except JobNotFound:
            return News(ends=True)
        before, self._seen = self._seen, now
        if now.id == self._last_id if before is None else now.text == before.text:
            return News(ends=now.job.is_final)
        return News(frame(_event(before, now), now.text, now.id), now.job.is_final)


def _event(before: View | None, now: View) -> str:
    if before is None or before.job.status is not now.job.status:
        return "status"
    return "progress" if before.job.progress != now.job.progress else "position"
