"""The claim desk: a signed payment becomes a job, in the order of standard H2.

Each step fails without any effect of the later ones, and the last one, writing the record, is the only one
that matters: until then nothing was promised and nothing was sent.
"""

import math
import time
from dataclasses import replace
from typing import Any

from provider.chain.clock import LedgerClock, LedgerTime
from provider.chain.past import PastPayments
from provider.errors import IdentifierMismatch, PaymentLooksUsed, PaymentRejected
from provider.jobs.claim.paid_call import UNKNOWN, Caller, PaidCall, draft_of
from provider.jobs.claim.replay import Replays, Value
from provider.jobs.claim.used import refuse_used
from provider.jobs.model import deadlines
from provider.jobs.model.dispatcher import Dispatcher
from provider.jobs.model.job import Draft, Job, Written
from provider.jobs.model.job_id import new_job_id, place_for
from provider.jobs.model.pace import place_of
from provider.jobs.model.status import Status
from provider.jobs.store.claims import ClaimKeys
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.jobs.store.payers import Admission
from provider.payments.facilitator import FacilitatorClient, Observer, observed
from provider.payments.models import CheckedPayment, PaymentPayload, PaymentRequirements
from provider.payments.stellar.check import check_payment
from provider.services import Service
from provider.services.problems import refuse_input
from provider.settings import Settings


class ClaimDesk:
    """Quotes services, and turns paid calls into jobs."""

    def __init__(
        self,
        store: JobStore,
        facilitator: FacilitatorClient,
        clock: LedgerClock,
        dispatcher: Dispatcher,
        settings: Settings,
        past: PastPayments | None = None,
        observer: Observer | None = None,
    ) -> None:
        self._store = store
        self._claims = ClaimKeys(store)
        self.replays = Replays(store, self._claims, settings.public_url)
        self._lanes = Lanes(store)
        self._facilitator = facilitator
        self._clock = clock
        self._dispatcher = dispatcher
        self._settings = settings
        self._past = past
        self._observer = observer

    def quote(self, service: Service) -> PaymentRequirements:
        """Say what a call of this service costs (H1)."""
        extra: dict[str, Any] = {"areFeesSponsored": True}
        if service.charge.pays_first:
            extra["paymentFlow"] = "upfront"
        return PaymentRequirements(
            network=self._settings.network,
            asset=self._settings.asset,
            amount=service.amount,
            pay_to=self._settings.pay_to,
            max_timeout_seconds=service.max_timeout_seconds,
            extra=extra,
        )

    def admits(self, service: Service) -> None:
        """Raise LaneFull when a call of this service would find no place (H1)."""
        self._reserve(service, "", None, seconds=0)

    def call(self, service: Service, value: Value, payload: PaymentPayload, caller: Caller = UNKNOWN) -> Job:
        """Turn a paid call into a job, or give the job it became before.

        Raises PaymentMismatch, IdentifierMismatch, InvalidBody, InvalidInput, PaymentRejected, PaymentUsed,
        PaymentTooOld, LaneFull, ChainUnreachable, FacilitatorUnreachable or StoreUnavailable; only the last
        leaves it open whether there is a job.
        """
        call = PaidCall.of(service.name, payload, caller)
        earlier = self.replays.claim(call)
        job = self.replays.job(call, earlier, value) if earlier else None
        if job is not None:
            return job
        try:
            return self._claim(call, service, value, job_id=earlier.job if earlier else None)
        except PaymentRejected as error:
            job = self._claimed_meanwhile(call, value)
            if job is not None:
                return job
            if isinstance(error, PaymentLooksUsed):
                refuse_used(self._past, call, self.quote(service))
            raise

    def _claimed_meanwhile(self, call: PaidCall, value: Value) -> Job | None:
        """Give the job that another call made of the payment while this one was judged.

        Its settlement may be why the facilitator refused, and a 402 would have the buyer sign again (H4).
        """
        earlier = self._claims.find(call.digest)
        return self.replays.job(call, earlier, value) if earlier else None

    # A new payment

    def _claim(self, call: PaidCall, service: Service, given: Value, job_id: str | None = None) -> Job:
        now, read_at = self._clock.read(), time.monotonic()
        offer = self.quote(service)
        checked = self._check(service, call.payload, offer, now)
        value = given()
        self._validate(service, value)
        job_id = job_id or new_job_id(service.name)
        place = place_for(job_id, call.digest)
        payer = self._admission(service, checked.payer)
        self._reserve(service, place, payer, self._window(service, checked, now, read_at), seconds=0)
        self._verify(call.payload, offer)
        window = self._window(service, checked, now, read_at)
        average = self._reserve(service, place, payer, window, seconds=self._settings.reservation_seconds)
        try:
            self._bind_identifier(call, service)
        except BaseException:
            self._lanes.release(service, place)
            raise
        draft = draft_of(
            call,
            service,
            value,
            offer,
            checked,
            claim_ledger=now.latest_ledger if now else None,
            # At slow ledgers a payment outlasts maxTimeoutSeconds.
            valid_seconds=now.seconds_until(checked.expiration_ledger + 1) if now else 0,
            window_seconds=self._window(service, checked, now, read_at),
            settings=self._settings,
        )
        return self._record(call, service, value, job_id, draft, average)

    def _check(
        self, service: Service, payload: PaymentPayload, offer: PaymentRequirements, now: LedgerTime | None
    ) -> CheckedPayment:
        usual = self._settings.ledger_seconds
        ledger_seconds = now.ledger_seconds if now else usual
        margin_seconds = self._settings.settle_margin_seconds
        with observed(self._observer, "payment_check"):
            return check_payment(
                payload,
                [offer],
                latest_ledger=now.latest_ledger if now else None,
                ledger_seconds=ledger_seconds,
                shortest_ledger_seconds=deadlines.shortest_ledger_seconds(min(ledger_seconds, usual)),
                needed_seconds=deadlines.needed_seconds(service, margin_seconds, ledger_seconds),
            )

    def _validate(self, service: Service, value: dict[str, Any]) -> None:
        with observed(self._observer, "input_check"):
            problems = service.validate_input(value)
        refuse_input(problems)

    def _window(
        self, service: Service, checked: CheckedPayment, now: LedgerTime | None, read_at: float
    ) -> float:
        """Return how long work may still take (S2), less the time since the clock was read."""
        valid = math.inf
        if now is not None:
            valid = now.seconds_until(checked.expiration_ledger) - (time.monotonic() - read_at)
        return deadlines.window_seconds(service, self._settings.settle_margin_seconds, valid)

    def _verify(self, payload: PaymentPayload, offer: PaymentRequirements) -> None:
        verdict = self._facilitator.verify(payload, offer)
        if not verdict.valid:
            raise PaymentLooksUsed(verdict.reason or "invalid_payment")

    def _bind_identifier(self, call: PaidCall, service: Service) -> None:
        if call.identifier:
            seconds = self._settings.retention_seconds + deadlines.longest_validity_seconds(service)
            payer, identifier = call.identity.payer, call.identifier
            if not self._claims.bind_identifier(payer, identifier, call.digest, seconds=seconds):
                raise IdentifierMismatch

    def _record(
        self,
        call: PaidCall,
        service: Service,
        value: dict[str, Any],
        job_id: str,
        draft: Draft,
        average_seconds: float,
    ) -> Job:
        """Take the claim key, then write the record; a concurrent call gets the job of the first.

        From here on a reserved place is never released: if no record follows it leads the sweep to the claim.
        One that ran out is taken again, and then the claim, which the sweep may have given up (J7).
        """
        while True:
            taken = self._claims.take(call.digest, call.claim(job_id, value), call.caller.address)
            if taken is not None and taken.job != job_id:
                self._lanes.release(service, place_for(job_id, call.digest))
                if job := self.replays.job(call, taken, lambda: value):
                    return job
                job_id = taken.job
            elif written := self._store.create(job_id, draft):
                return self._wake(service, written, average_seconds)
            else:
                place = place_for(job_id, call.digest)
                seconds = self._settings.reservation_seconds
                payer = self._admission(service, draft.terms.payer)
                average_seconds = self._reserve(service, place, payer, seconds=seconds)

    def _wake(self, service: Service, written: Written, average_seconds: float) -> Job:
        """Publish the wake-up of a new job; with no free slot, the worker that frees one takes it (Q6)."""
        job = written.job
        if job.status is Status.PENDING:
            self._dispatcher.settle(job.id)
        elif job.status is Status.QUEUED and (written.ahead or 0) + written.busy < service.concurrency:
            self._dispatcher.handle(job.id)
        if written.ahead is None:
            return job
        return replace(job, stands=place_of(service, written.ahead, written.busy, average_seconds))

    def _admission(self, service: Service, payer: str) -> Admission | None:
        """Limit what a payer may have open before it pays (S5); one that pays first is not limited."""
        if not service.charge.withholds_output:
            return None
        expires = service.max_timeout_seconds + self._settings.orphan_margin_seconds
        return Admission(payer, self._settings.payer_open_jobs, self._settings.payer_unpaid_jobs, expires)

    def _reserve(
        self,
        service: Service,
        place: str,
        payer: Admission | None,
        window: float = math.inf,
        *,
        seconds: float,
    ) -> float:
        """Keep a place, or with 0 seconds ask for one; an on-success job must still fit its payment (Q2)."""
        most_wait = deadlines.most_wait_seconds(service, self._settings.settle_margin_seconds, window)
        return self._lanes.reserve(service, place, seconds=seconds, most_wait_seconds=most_wait, payer=payer)
