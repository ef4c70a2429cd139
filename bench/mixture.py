"""Jobs that are due for the sweep, one kind for each row of standard §9.

Each is written and moved by the store's own scripts. Only the times are set back afterwards, since a job gets
due by waiting: the due entry, and the field that the rule reads.
"""

import math
from collections.abc import Callable

from bench.services import services
from provider.jobs.model.job import Draft, Job, Lease, Terms
from provider.jobs.model.job_id import place_for
from provider.jobs.model.status import Status
from provider.jobs.store import keys
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.services import ChargePolicy
from provider.settings import Settings

LONG_AGO_MS = 10**9
OUTPUT = {"output": '{"text":"y"}'}


class Due:
    """Makes jobs and lets their time come."""

    def __init__(self, store: JobStore, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._lanes = Lanes(store)
        self._made = 0

    # Kinds

    def silent(self) -> Job:
        """Settlement begun and never answered."""
        job = self._running(OUTPUT)
        self._store.begin_settlement(job, "settler", give_up_seconds=60)
        return self._set_back(job, "settling_since_ms")

    def orphan(self) -> Job:
        """Worker gone."""
        job, service = self._claimed(Status.QUEUED), services.get("echo")
        lease = self._lanes.lease(service, job.id, f"{self._made:016x}", lease_seconds=30)
        assert isinstance(lease, Lease), lease
        return self._set_back(job, "lease_until_ms")

    def late(self) -> Job:
        """Never got its turn."""
        return self._set_back(self._claimed(Status.QUEUED), "deadline_ms")

    def unsettled(self) -> Job:
        """Output stored, payment expired."""
        return self._set_back(self._running(OUTPUT), "expires_at_ms")

    def unpaid(self) -> Job:
        """Upfront, payment expired before it was settled."""
        return self._set_back(self._claimed(Status.PENDING), "expires_at_ms")

    def delayed(self) -> Job:
        """Waited for its next try."""
        job = self._running({})
        later = {"not_before_ms": self._store.now_ms() + 1000}
        self._store.move(job, Status.QUEUED, later, look=1)
        return self._set_back(job, "not_before_ms")

    def unsent(self) -> Job:
        """Output stored, settle message lost."""
        return self._set_back(self._running(OUTPUT))

    def unsent_upfront(self) -> Job:
        """Pending, settle message lost."""
        return self._set_back(self._claimed(Status.PENDING))

    def old(self) -> Job:
        """Finished, and its retention is over."""
        job = self._running({})
        self._store.move(job, Status.FAILED, {"error": "timeout"})
        return self._set_back(job, "finished_at_ms")

    # Ways there

    def _claimed(self, status: Status) -> Job:
        self._made += 1
        job_id = f"echo.{self._made:032x}"
        upfront = status is Status.PENDING
        charge = ChargePolicy.UPFRONT if upfront else ChargePolicy.ON_SUCCESS
        names = ("stellar:testnet", self._settings.asset, self._settings.pay_to, self._settings.pay_to)
        terms = Terms(charge, *names, 10_000, self._made, 4_000_000_000, None, 3600)
        self._store.client.zadd(keys.reserved("echo"), {place_for(job_id, terms.claim): 2**52})
        window = math.inf if upfront else 3590
        draft = Draft(status, terms, '{"text":"x"}', "[]", window, 3660, 60)
        created = self._store.create(job_id, draft)
        assert created is not None
        return created.job

    def _running(self, fields: dict[str, str]) -> Job:
        job = self._claimed(Status.QUEUED)
        assert self._store.move(job, Status.RUNNING, fields, look=60)
        return self._store.get(job.id)

    def _set_back(self, job: Job, *fields: str) -> Job:
        pipe = self._store.client.pipeline(transaction=False)
        for field in fields:
            pipe.hincrby(keys.job(job.id), field, -LONG_AGO_MS)
        pipe.zincrby(keys.due(job.service), -LONG_AGO_MS, job.id)
        pipe.execute()
        return job


KINDS: tuple[Callable[[Due], Job], ...] = (
    Due.silent,
    Due.orphan,
    Due.late,
    Due.unsettled,
    Due.unpaid,
    Due.delayed,
    Due.unsent,
    Due.unsent_upfront,
    Due.old,
)


def put_due(store: JobStore, settings: Settings, count: int) -> None:
    """Have so many jobs fall due at once, all kinds alike."""
    due = Due(store, settings)
    for number in range(count):
        KINDS[number % len(KINDS)](due)
