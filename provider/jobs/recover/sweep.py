"""The recovery sweep: whatever a crash left lying is picked up here (§9).

It looks only at jobs that are due, by the time that the script which moved them last wrote down. Each action
is a compare-and-set like any other, so any number of sweeps may run at once.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import structlog

from provider.chain.clock import LedgerClock
from provider.errors import ServiceNotFound, StoreUnavailable
from provider.jobs.model.dispatcher import Dispatcher
from provider.jobs.model.due import Now, has_lost_its_worker, is_delayed, is_too_late, may_settle
from provider.jobs.model.job import Job
from provider.jobs.model.status import ErrorCode, Status
from provider.jobs.recover.orphans import Orphans
from provider.jobs.run.transitions import Outcomes
from provider.jobs.settle.settler import Settler
from provider.jobs.store import metrics
from provider.jobs.store.claims import ClaimKeys
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.jobs.store.metrics import Figures, Unhurried, counted, timed
from provider.payments.settlement import SettleKind, SettleOutcome
from provider.services import Registry, Service
from provider.settings import Settings

log = structlog.get_logger()

SWEPT = "swept"
STRANDED = "jobs_stranded"
NO_ANSWER = "no_answer_in_time"
LOOK_FAILED = "sweep_look_failed"
MOST_FORGOTTEN = 200
"""Finished jobs of a service, charged and uncharged each, that a sweep deletes."""
LOOKS_AT_ONCE = 4
"""Redis syncs its file once for all that came together. More would cost more connections."""
MOST_ASKED = 50
"""Settlements of a service that are asked for again in an interval, on average: where more wait, the settlers
are behind, and more messages would only put them farther behind."""


@dataclass(slots=True)
class SweepReport:
    """What a sweep did: actions by name, wake-ups sent to lanes, and jobs of withdrawn services."""

    actions: Counter[str] = field(default_factory=Counter)
    woken: int = 0
    stranded: dict[str, int] = field(default_factory=dict)


class _NoWakeUps:
    """Keeps silent about each job: at the end the sweep wakes a lane for the slots that are free, no more."""

    def handle(self, job_id: str) -> None: ...

    def settle(self, job_id: str) -> None: ...


Action = Callable[[Job, Service | None], None]
"""What the sweep does to a job; its service is None once it is withdrawn."""


class Sweep:
    """One pass over everything that is due."""

    def __init__(
        self,
        store: JobStore,
        registry: Registry,
        settler: Settler,
        clock: LedgerClock,
        dispatcher: Dispatcher,
        settings: Settings,
    ) -> None:
        self._store = store
        self._registry = registry
        self._settler = settler
        self._clock = clock
        self._dispatcher = dispatcher
        self._settings = settings
        self._lanes = Lanes(store)
        self._claims = ClaimKeys(store)
        self._orphans = Orphans(store, settings)
        self._figures = Unhurried(Figures(store), metrics.SWEPT_AT)
        self._outcomes = Outcomes(store, _NoWakeUps(), settings)

    def run(self) -> SweepReport:
        """Sweep every service that ever had a job."""
        report, began = SweepReport(), time.monotonic()
        ledger = self._clock.read()
        looked: dict[str, Now] = {}
        for name in self._store.service_names():
            service = self._service(name)
            looked[name] = now = Now(self._store.now_ms(name), ledger.latest_ledger if ledger else None)
            self._look(name, service, now, report)
            self._give_up_claims(service, now, report)
            self._wake(name, service, report)
        for name, now in looked.items():
            self._forget_old(name, now, report)
        self._note(report, time.monotonic() - began)
        log.info(SWEPT, actions=dict(report.actions), woken=report.woken, stranded=report.stranded)
        return report

    def _forget_old(self, name: str, now: Now, report: SweepReport) -> None:
        """Delete what is past its retention, after all recovery and within a budget of its own (J15)."""
        found = self._store.past_retention(name, now.ms, limit=MOST_FORGOTTEN)
        jobs = self._store.get_many(found)
        ripe = [job for job in jobs if self._is_past_retention(job, now)]
        for job in ripe:
            self.forget(job, None)
        gone = sorted(set(found) - {job.id for job in jobs})
        later = sorted({job.id for job in jobs} - {job.id for job in ripe})
        self._store.keep_longer(name, later, self._settings.sweep_seconds, drop=gone)
        report.actions += Counter(forget=len(ripe), wait=len(later))

    def _note(self, report: SweepReport, seconds: float) -> None:
        amounts = timed(metrics.SWEEP_SECONDS, seconds)
        for action, count in report.actions.items():
            amounts |= counted(metrics.SWEEP_ACTIONS, action, by=count)
        self._figures.add(amounts, matters=bool(report.actions.total() or report.woken))

    def _service(self, name: str) -> Service | None:
        try:
            return self._registry.get(name)
        except ServiceNotFound:
            return None

    def _look(self, name: str, service: Service | None, now: Now, report: SweepReport) -> None:
        """Take the action that applies to each due job of a service; those that stay as they are get time."""
        found = self._store.due(name, now.ms, limit=self._settings.sweep_batch)
        due = self._orphans.own(name, found)
        looks = [(job, self._action(job, now)) for job in self._store.get_many(due)]
        unread = set(due) - {job.id for job, _ in looks}
        cleared = self._orphans.clear(unread)
        report.actions += Counter(clear=len(cleared))
        waits, asked = (
            [job.id for job, act in looks if act == one] for one in (self.wait, self.settle_again)
        )
        self._put_off(name, [*waits, *unread.difference(cleared)])
        self._put_off(name, asked, times=max(1.0, len(asked) / MOST_ASKED))
        with ThreadPoolExecutor(LOOKS_AT_ONCE) as pool:  # The first error drops what has not begun.
            report.actions.update(pool.map(lambda look: self._take(service, *look), looks))

    def _put_off(self, name: str, job_ids: Sequence[str], times: float = 1.0) -> None:
        """Look at jobs again after an interval, or after several."""
        self._store.look_later(name, job_ids, self._settings.sweep_seconds * times)

    def _take(self, service: Service | None, job: Job, action: Action) -> str:
        """Take an action; one job with which it fails must not keep the sweep from all others."""
        try:
            action(job, service)
            return action.__name__
        except StoreUnavailable:
            raise
        except Exception:
            log.exception(LOOK_FAILED, job_id=job.id, action=action.__name__)
            self._put_off(job.service, [job.id])
            return "fail"

    def _action(self, job: Job, now: Now) -> Action:
        """Choose the first action that applies."""
        rules: tuple[tuple[Callable[[Job, Now], bool], Action], ...] = (
            (self._is_past_retention, self.forget),
            (self._is_silent, self.give_up_settlement),
            (is_too_late, self.expire),
            (has_lost_its_worker, self.requeue),
            (is_delayed, self.ready),
            (_waits_for_settlement, self.settle_again),
        )
        return next((action for applies, action in rules if applies(job, now)), self.wait)

    # Which action applies

    def _is_past_retention(self, job: Job, now: Now) -> bool:
        """Finished long ago; a job that finished since it was found due is not, nor one still payable."""
        charged = job.charged or job.status is Status.SUCCEEDED
        kept_until = (job.finished_at_ms or 0) + self._store.kept_seconds(job, charged=charged) * 1000
        return job.is_final and now.ms >= kept_until and not now.is_payable(job)

    def _is_silent(self, job: Job, now: Now) -> bool:
        allowed = self._settings.settle_timeout_seconds + self._settings.orphan_margin_seconds
        return job.is_settling and now.ms >= (job.settling_since_ms or 0) + allowed * 1000

    # The actions

    def forget(self, job: Job, service: Service | None) -> None:
        """Delete a job past its retention; its payment stays used until it has surely expired (J15)."""
        self._claims.outlive(job.terms.claim, until_ms=job.expires_at_ms)
        self._store.forget(job)

    def give_up_settlement(self, job: Job, service: Service | None) -> None:
        """Leave a settlement without an answer to the chain."""
        self._settler.record_uncertain(job.id, SettleOutcome(SettleKind.UNCERTAIN, reason=NO_ANSWER))

    def expire(self, job: Job, service: Service | None) -> None:
        """Fail a job whose payment expired before it was settled; nothing was charged."""
        self._outcomes.fail(job, ErrorCode.TIMEOUT)

    def requeue(self, job: Job, service: Service | None) -> None:
        """Give a job whose worker is gone to another one, while starts are left."""
        self._outcomes.interrupted(job, service)

    def ready(self, job: Job, service: Service | None) -> None:
        """Let a job whose wait after a transient failure is over into its lane."""
        self._lanes.ready(job)

    def settle_again(self, job: Job, service: Service | None) -> None:
        """Send another settle message; the settler's compare makes a doubled one harmless (S4)."""
        self._dispatcher.settle(job.id)

    def wait(self, job: Job, service: Service | None) -> None:
        """Leave a job alone to which no rule applies yet, such as one that changed since it was found due."""

    def _give_up_claims(self, service: Service | None, now: Now, report: SweepReport) -> None:
        """Give up claims whose writer died before the record (J7); those of a withdrawn service wait."""
        if service is not None:
            until_ms = now.ms - int(self._settings.orphan_margin_seconds * 1000)
            given_up = self._orphans.give_up(service, until_ms, self._settings.sweep_batch)
            report.actions += Counter(abandon=given_up)

    def _wake(self, name: str, service: Service | None, report: SweepReport) -> None:
        """Send a wake-up for each free slot while jobs wait; count the jobs of withdrawn services."""
        waiting, busy = self._lanes.load(name)
        if service is None:
            if waiting:
                report.stranded[name] = waiting
                log.warning(STRANDED, service=name, jobs=waiting)
            return
        heads, cleared = self._orphans.clear_heads(name, min(waiting, service.concurrency - busy))
        report.actions += Counter(clear=cleared)
        for job_id in heads:
            self._dispatcher.handle(job_id)
            report.woken += 1


def _waits_for_settlement(job: Job, now: Now) -> bool:
    return may_settle(job)
