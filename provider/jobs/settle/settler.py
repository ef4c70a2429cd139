"""Settling: one call to the facilitator for each claim, and its outcome on record (S4, §8)."""

import json
import secrets
import time
from contextlib import suppress

import structlog

from provider import strict_json
from provider.errors import JobNotFound, NotDurable, StoreUnavailable
from provider.jobs.model.codec import dump_receipt
from provider.jobs.model.dispatcher import Dispatcher
from provider.jobs.model.due import may_settle
from provider.jobs.model.job import Job
from provider.jobs.model.status import ErrorCode, Status
from provider.jobs.settle.late_answer import LateAnswer
from provider.jobs.store import metrics
from provider.jobs.store.claims import ClaimKeys
from provider.jobs.store.durability import Durability
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.metrics import Figures, counted, timed
from provider.jobs.store.payers import Payers
from provider.payments import reasons
from provider.payments.facilitator import FacilitatorClient
from provider.payments.schemas import load_payload, load_requirements
from provider.payments.settlement import Failure, SettleKind, SettleOutcome
from provider.settings import Settings

log = structlog.get_logger()

SETTLED = "payment_settled"
REFUSED = "payment_refused"
UNCERTAIN = "payment_uncertain"
NOT_SENT = "settlement_not_sent"
NOT_DURABLE = "settlement_not_durable"
NOT_RECORDED = "settlement_not_recorded_yet"
OUTPUT_MISSING = "paid_output_missing"
NOT_ITS_RECEIPT = "transaction_of_another_job"
NO_ANSWER = Failure.TIMED_OUT.value
STORE_RETRY_SECONDS = 0.5
MOST_LISTENING_SECONDS = 3600.0
"""For so long at most an answer is listened for, however long its payment can still land."""


class Settler:
    """Settles claims. Safe to call any number of times for one job: the compare in the script decides."""

    def __init__(
        self,
        store: JobStore,
        facilitator: FacilitatorClient,
        durability: Durability,
        dispatcher: Dispatcher,
        settings: Settings,
    ) -> None:
        self._store = store
        self._facilitator = facilitator
        self._durability = durability
        self._dispatcher = dispatcher
        self._settings = settings
        self._figures = Figures(store)
        self._claims = ClaimKeys(store)
        self._payers = Payers(store, settings)

    def settle(self, job_id: str) -> None:
        """Settle a job's payment if that is still to be done."""
        try:
            job = self._store.get(job_id)
        except JobNotFound:
            return
        if not may_settle(job) or job.payment is None:
            return
        settler = secrets.token_hex(8)
        give_up = self._settings.settle_timeout_seconds + self._settings.orphan_margin_seconds
        if self._store.begin_settlement(job, settler, give_up_seconds=give_up) is None:
            return
        if self._is_durable(job):
            self._attempt(job, settler)
        else:
            self._until_stored(job_id, settler, SettleOutcome(SettleKind.NOT_SENT))
            self._figures.add(counted(metrics.SETTLEMENTS, job.service, "not_durable"))

    def _attempt(self, job: Job, settler: str) -> None:
        """Make the call. No answer in time is recorded as uncertain; one that comes later counts as it is."""
        began, in_time = time.monotonic(), self._facilitator.settle_timeout_seconds
        at_most = min(MOST_LISTENING_SECONDS, job.terms.max_timeout_seconds + in_time)
        answer = LateAnswer(lambda seconds: self._ask(job, seconds), in_time=in_time, at_most=at_most)

        def record(outcome: SettleOutcome) -> None:
            self._until_stored(job.id, settler, outcome)
            took = timed(metrics.SETTLE_SECONDS, time.monotonic() - began)
            self._figures.add(took | counted(metrics.SETTLEMENTS, job.service, outcome.kind.value))

        outcome = answer.in_time()
        if outcome is not None:
            record(outcome)
            return
        self._until_stored(job.id, settler, SettleOutcome(SettleKind.UNCERTAIN, reason=NO_ANSWER))
        answer.later(record)

    def _is_durable(self, job: Job) -> bool:
        try:
            self._durability.confirm(job.service)
        except (NotDurable, StoreUnavailable) as error:
            log.error(NOT_DURABLE, job_id=job.id, detail=str(error))
            return False
        return True

    def _ask(self, job: Job, seconds: float) -> SettleOutcome:
        payload, requirements = json.loads(job.payment or "[]")
        return self._facilitator.settle(
            load_payload(payload), load_requirements(requirements), payer=job.terms.payer, seconds=seconds
        )

    def _until_stored(self, job_id: str, settler: str, outcome: SettleOutcome) -> None:
        """Record an answer, waiting for Redis while it is away: an answer about money comes only once."""
        while True:
            try:
                self._record(job_id, settler, outcome)
                return
            except StoreUnavailable:
                log.warning(NOT_RECORDED, job_id=job_id, outcome=outcome.kind)
                time.sleep(STORE_RETRY_SECONDS)

    def _record(self, job_id: str, settler: str, outcome: SettleOutcome) -> None:
        if outcome.kind is SettleKind.NOT_SENT:
            log.warning(NOT_SENT, job_id=job_id, reason=outcome.reason)
            self._withdraw(job_id, settler)
        elif outcome.kind is SettleKind.UNCERTAIN:
            self.record_uncertain(job_id, outcome)
        elif outcome.kind is SettleKind.SETTLED:
            self._record_settled(job_id, outcome)
        else:
            self.record_unpaid(job_id, outcome.reason or "")

    def _record_settled(self, job_id: str, outcome: SettleOutcome) -> None:
        """Believe the facilitator, unless its transaction paid another job: then the chain decides."""
        transaction = outcome.transaction or ""
        if not self._bind_receipt(job_id, transaction):
            log.error(NOT_ITS_RECEIPT, job_id=job_id, transaction=transaction)
            uncertain = SettleOutcome(SettleKind.UNCERTAIN, transaction=transaction, reason=NOT_ITS_RECEIPT)
            self.record_uncertain(job_id, uncertain)
        elif not self._record_paid(job_id, transaction):
            self._wake(job_id)

    def _wake(self, job_id: str) -> None:
        """Wake the lane of a job that was queued before: the reply may be lost, and the wake-up with it."""
        with suppress(JobNotFound):
            if self._store.get(job_id).status is Status.QUEUED:
                self._dispatcher.handle(job_id)

    def _withdraw(self, job_id: str, settler: str) -> None:
        self._store.withdraw_settlement(job_id, settler, look_seconds=self._settings.sweep_seconds)

    # Outcomes: also what a late answer and the reconciler record (J4, "the first decision stands")

    def record_paid(self, job_id: str, transaction: str, ledger: int | None = None) -> bool:
        """Record a payment that is on chain; False when something else was decided before.

        Without the output that it paid for a job stays uncertain, with the transaction: no success without
        an output, and a paid job is never reported as unpaid (§10, 6).
        """
        self._bind_receipt(job_id, transaction)
        return self._record_paid(job_id, transaction, ledger)

    def _bind_receipt(self, job_id: str, transaction: str) -> bool:
        return self._claims.bind_receipt(transaction, job_id, seconds=self._settings.retention_seconds)

    def _record_paid(self, job_id: str, transaction: str, ledger: int | None = None) -> bool:
        while job := self._undecided(job_id):
            if job.lacks_output:
                log.error(OUTPUT_MISSING, job_id=job_id, transaction=transaction)
                outcome = SettleOutcome(SettleKind.UNCERTAIN, transaction=transaction, reason=OUTPUT_MISSING)
                self.record_uncertain(job_id, outcome)
                return False
            fields = {"receipt": dump_receipt(job.terms.receipt(transaction, ledger)), "charged": "1"}
            target, enter = (Status.QUEUED, "lane") if job.charge.pays_first else (Status.SUCCEEDED, "")
            if self._store.move(job, target, fields, enter=enter):
                log.info(SETTLED, job_id=job_id, transaction=transaction)
                if target is Status.QUEUED:
                    self._dispatcher.handle(job_id)
                return True
        return False

    def record_unpaid(self, job_id: str, reason: str) -> bool:
        """Record a payment that was refused, or can never land; False when decided otherwise before."""
        while job := self._undecided(job_id):
            fields = {"error": ErrorCode.PAYMENT_FAILED, "settlement": _note(reason), "charged": "0"}
            if self._store.move(job, Status.FAILED, fields, drop=("output",)):
                log.info(REFUSED, job_id=job_id, reason=reason)
                if reason in reasons.BY_THE_PAYER or job.settlement.get("transaction"):
                    self._payers.left_unpaid(job, ErrorCode.PAYMENT_FAILED)
                return True
        return False

    def record_uncertain(self, job_id: str, outcome: SettleOutcome) -> bool:
        """Record that it is unknown whether a payment landed; the chain decides (§10)."""
        while job := self._undecided(job_id):
            if job.status is Status.PAYMENT_UNCERTAIN:
                return False
            fields = {"settlement": _note(outcome.reason or "", outcome.transaction)}
            if self._store.move(job, Status.PAYMENT_UNCERTAIN, fields):
                log.warning(UNCERTAIN, job_id=job_id, reason=outcome.reason, transaction=outcome.transaction)
                return True
        return False

    def _undecided(self, job_id: str) -> Job | None:
        """Read a job whose settlement was begun and not decided; None when there is nothing to record."""
        try:
            job = self._store.get(job_id)
        except JobNotFound:
            return None
        return job if job.is_settling or job.status is Status.PAYMENT_UNCERTAIN else None


def _note(reason: str, transaction: str | None = None) -> str:
    note = {"reason": reason, "transaction": transaction}
    return strict_json.dumps({name: text for name, text in note.items() if text})
