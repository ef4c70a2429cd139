"""The gateway of remote workers: jobs are claimed over HTTP under the rules of local ones (§11).

A local worker's supervisor keeps the clocks of its handler. Here they are in the record, and every call about
a job looks at them: a worker that is over its budget or stalls, or whose job is to be cancelled, learns it at
its next call, and one that does not call any more loses its lease.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from provider.errors import ServiceNotAllowed, UnknownService
from provider.jobs.model.dispatcher import Dispatcher
from provider.jobs.model.job import Lease
from provider.jobs.remote.held_lease import HeldLease, LeaseAnswer
from provider.jobs.remote.progress_throttle import Progress, ProgressThrottle, TimedProgress
from provider.jobs.run.classify import judge_failure, judge_output
from provider.jobs.run.dequeue import Dequeuer
from provider.jobs.run.messages import Checkpoint, End, Failed, FailureClass, Succeeded
from provider.jobs.run.transitions import Outcomes, name_of
from provider.jobs.store import metrics
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.jobs.store.metrics import Figures, timed
from provider.jobs.store.tokens import RemoteWorker
from provider.services import Registry, Service
from provider.settings import Settings

log = structlog.get_logger()

CLAIMED = "job_claimed"


@dataclass(frozen=True, slots=True)
class Assignment:
    """A job in the hands of a worker, and what earlier attempts did of it."""

    hold: HeldLease
    lease: Lease
    completed_units: frozenset[str]
    cursors: Mapping[str, Any]


class Gateway:
    """Serves remote workers. Threads share it; forks must not."""

    def __init__(
        self, store: JobStore, registry: Registry, dispatcher: Dispatcher, settings: Settings
    ) -> None:
        self._store = store
        self._registry = registry
        self._dispatcher = dispatcher
        self._lease_seconds = settings.lease_seconds
        self._lanes = Lanes(store)
        self._outcomes = Outcomes(store, dispatcher, settings)
        self._dequeuer = Dequeuer(store, self._lanes, self._outcomes, lease_seconds=settings.lease_seconds)
        self._figures = Figures(store)
        self._throttle = ProgressThrottle(self._write_last)
        self._served: dict[str, str] = {}

    # Claims

    def claim(self, worker: RemoteWorker, names: Sequence[str]) -> Assignment | None:
        """Lease the next job of one of these services, or of any the worker may run; None when there is none.

        Raises ServiceNotAllowed and UnknownService.
        """
        for service in self._in_turn(worker, self.wanted(worker, names)):
            lease = self._dequeuer.take(service, f"{worker.name}.{secrets.token_hex(16)}")
            if lease is not None:
                self._served[worker.name] = service.name
                log.info(CLAIMED, job_id=lease.job.id, worker=worker.name)
                hold = HeldLease(service, lease.job, self._store.now_ms(service.name))
                self._shorten(hold, lease.owner)
                return Assignment(hold, lease, *self._store.work(lease.job.id))
        return None

    def _shorten(self, hold: HeldLease, owner: str) -> None:
        """Have no lease outlive a short budget, though its worker may never be heard of again (R2)."""
        if (seconds := hold.next_lease_seconds(self._lease_seconds)) < self._lease_seconds:
            self._lanes.renew(hold.job.id, owner, lease_seconds=seconds)

    def wanted(self, worker: RemoteWorker, names: Sequence[str]) -> list[Service]:
        """Give the services that a worker may run and asks for: none named is any. Raises as `claim`."""
        if forbidden := sorted(set(names) - set(worker.services)):
            raise ServiceNotAllowed(services=forbidden)
        remote = {service.name: service for service in self._registry if service.remote}
        if unknown := sorted(set(names) - remote.keys()):
            raise UnknownService(services=unknown)
        return [remote[name] for name in names or worker.services if name in remote]

    def _in_turn(self, worker: RemoteWorker, services: list[Service]) -> list[Service]:
        """Begin after the service that was served last, so that a long lane starves no other one."""
        last = self._served.get(worker.name, "")
        return sorted(services, key=lambda service: (service.name <= last, service.name))

    # While the work goes on

    def renew(self, worker: RemoteWorker, job_id: str, lease: str) -> LeaseAnswer:
        """Prolong the lease (R1)."""
        held = self._held(worker, job_id, lease)
        return held if isinstance(held, LeaseAnswer) else self._prolong(held, lease)

    def progress(self, worker: RemoteWorker, job_id: str, lease: str, progress: Progress) -> LeaseAnswer:
        """Note how far the work is. It is written once a second at most, the last value always (R4)."""
        held = self._held(worker, job_id, lease)
        if isinstance(held, LeaseAnswer):
            return held
        if (early := held.seconds_until_progress) > 0:
            self._throttle.keep(job_id, lease, TimedProgress(progress, held.now_ms), early)
            return held.as_it_is()
        return self._prolong(held, lease, TimedProgress(progress, held.now_ms))

    def checkpoint(
        self, worker: RemoteWorker, job_id: str, lease: str, marks: Sequence[Checkpoint]
    ) -> LeaseAnswer:
        """Complete units, or note where open ones stand (R5)."""
        held = self._held(worker, job_id, lease)
        if isinstance(held, LeaseAnswer):
            return held
        if not all(self._store.checkpoint(job_id, lease, mark.unit, mark.cursor) for mark in marks):
            return LeaseAnswer.lost()
        return self._prolong(held, lease, moved=True)

    def _prolong(
        self, held: HeldLease, lease: str, said: TimedProgress | None = None, *, moved: bool = False
    ) -> LeaseAnswer:
        """Prolong a lease, unless the job is to be cancelled: then its worker has what is left of it."""
        if held.job.cancel:
            return held.as_it_is()
        seconds = held.next_lease_seconds(self._lease_seconds)
        moved_at_ms = held.now_ms if said or moved else None
        renewed = self._renew(held.job.id, lease, seconds, said, moved_at_ms)
        return LeaseAnswer.lost() if renewed is None else held.prolonged(seconds, cancel=renewed[1])

    def _write_last(self, job_id: str, lease: str, said: TimedProgress) -> None:
        """Write progress that was kept back; the lease lasts no longer for it, as its teller was answered."""
        now_ms = self._store.now_ms(job_id.rpartition(".")[0])
        self._renew(job_id, lease, 0, said, now_ms)

    def _renew(
        self, job_id: str, lease: str, seconds: float, said: TimedProgress | None, moved_at_ms: int | None
    ) -> tuple[int, bool] | None:
        reported = {"progress": said.progress, "reported_at_ms": said.at_ms} if said else {}
        return self._lanes.renew(job_id, lease, lease_seconds=seconds, moved_at_ms=moved_at_ms, **reported)  # type: ignore[arg-type]

    # Its end

    def complete(
        self, worker: RemoteWorker, job_id: str, lease: str, output: Any, progress: Progress | None = None
    ) -> LeaseAnswer:
        """Take an output, if it fits the schema; the job goes on to its settlement."""
        end = judge_output(self._service(worker, job_id), output)
        answer = self._end(worker, job_id, lease, end, progress)
        if answer.accepted and isinstance(end, Failed):
            return LeaseAnswer(False, end.kind, detail=end.detail)
        return answer

    def fail(
        self, worker: RemoteWorker, job_id: str, lease: str, kind: FailureClass, message: str,
        *, marks: Sequence[Checkpoint] = (), progress: Progress | None = None,
    ) -> LeaseAnswer:  # fmt: skip
        """Take the failure of a program. `message` is for the log only (E2)."""
        service = self._service(worker, job_id)
        if marks and not (answer := self.checkpoint(worker, job_id, lease, marks)).accepted:
            return answer
        return self._end(worker, job_id, lease, judge_failure(service, kind, message), progress)

    def release(self, worker: RemoteWorker, job_id: str, lease: str) -> LeaseAnswer:
        """Take a job back at a planned stop; the start does not count (C8)."""
        if last := self._throttle.take(job_id, lease):
            self._write_last(job_id, lease, last)
        return self._leave(worker, job_id, lease, lambda held: self._outcomes.hand_back(held.job))

    def _end(
        self, worker: RemoteWorker, job_id: str, lease: str, end: End | Succeeded | Failed,
        progress: Progress | None,
    ) -> LeaseAnswer:  # fmt: skip
        kept = self._throttle.take(job_id, lease)
        return self._leave(
            worker, job_id, lease, lambda held: self._record(held, end, progress or held.latest(kept))
        )

    def _record(self, held: HeldLease, end: End | Succeeded | Failed, progress: Progress) -> bool:
        end = End.CANCELLED if held.job.cancel else end
        if not self._outcomes.record(held.service, held.job, end, progress):
            return False
        self._figures.add(timed(metrics.HANDLER_SECONDS, held.seconds, held.service.name, name_of(end)))
        if isinstance(end, Succeeded):
            self._lanes.learn(held.service, held.seconds)
        return True

    def _leave(
        self, worker: RemoteWorker, job_id: str, lease: str, move: Callable[[HeldLease], bool]
    ) -> LeaseAnswer:
        """End a hold by one move, tried again while only the version changed, as a renewal beside it does."""
        while True:
            held = self._held(worker, job_id, lease)
            if isinstance(held, LeaseAnswer):
                return held
            if move(held):
                self._wake(held.service)
                return LeaseAnswer(False, End.CANCELLED) if held.job.cancel else LeaseAnswer(True)

    # Leases

    def _held(self, worker: RemoteWorker, job_id: str, lease: str) -> HeldLease | LeaseAnswer:
        """Read a job that a worker holds, ending it if its time is over; else the answer that he does not."""
        service = self._service(worker, job_id)
        while True:
            job = self._store.get(job_id)
            if job.owner != lease or not lease.startswith(f"{worker.name}."):
                return LeaseAnswer.lost()
            held = HeldLease(service, job, self._store.now_ms(service.name))
            if (end := held.overdue) is None:
                return held
            if self._record(held, end, held.latest(self._throttle.take(job_id, lease))):
                self._wake(service)
                return LeaseAnswer(False, end)

    def _service(self, worker: RemoteWorker, job_id: str) -> Service:
        name = job_id.rpartition(".")[0]
        if name not in worker.services:
            raise ServiceNotAllowed(services=[name])
        return self._registry.get(name)

    def _wake(self, service: Service) -> None:
        """Wake a lane that has a free slot now (Q6)."""
        for job_id in self._lanes.next(service.name, 1):
            self._dispatcher.handle(job_id)
