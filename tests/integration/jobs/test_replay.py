"""The same payment again (J3): the same job for the same call, 409 and nothing else for any other."""

import time
from dataclasses import replace

import pytest
from stellar_sdk import Keypair, TransactionEnvelope

from provider.errors import IdentifierMismatch, PaymentMismatch
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.store.claims import MISMATCHES_ALLOWED
from provider.payments.models import PaymentPayload
from provider.payments.stellar.check import identify_payment
from provider.payments.stellar.proof import make_proof
from tests.support.jobs import NETWORK, Platform
from tests.support.payments import PASSPHRASES
from tests.support.timetravel import pass_time

ORDER = "order-0123456789"


def other_spelling(payment: PaymentPayload) -> PaymentPayload:
    """Wrap the same authorisation in another envelope, as anybody can who saw it on chain."""
    envelope = TransactionEnvelope.from_xdr(payment.transaction, PASSPHRASES[NETWORK])
    envelope.transaction.fee += 1
    return replace(payment, transaction=envelope.to_xdr())


def strangers(platform: Platform, payment: PaymentPayload, times: int) -> None:
    for _ in range(times):
        with pytest.raises(PaymentMismatch):
            platform.buy("after", {}, other_spelling(payment))


def test_the_same_call_again_is_the_same_job(platform: Platform) -> None:
    """J3: and no second verification."""
    payment = platform.payment()
    job = platform.buy("after", {"a": 1, "b": 2}, payment)
    assert platform.buy("after", {"b": 2, "a": 1}, payment) == job
    assert platform.facilitator.calls("/verify") == 1


@pytest.mark.parametrize("name", ["after", "before"])
def test_a_lost_answer_is_recovered_long_after(platform: Platform, name: str) -> None:
    """J3: after success, and after the payment's ledgers."""
    payment = platform.payment(name)
    done = platform.finish(platform.buy(name, payment=payment))
    platform.clock.latest_ledger += 100_000
    again = platform.buy(name, payment=payment)
    assert (again, again.status) == (done, Status.SUCCEEDED)


def test_a_full_lane_and_a_facilitator_that_is_away_stop_no_replay(platform: Platform) -> None:
    """H2: replay comes right after decoding."""
    payment = platform.payment()
    job = platform.buy(payment=payment)
    platform.facilitator.verify = lambda _: (500, {})
    assert platform.buy(payment=payment) == job


@pytest.mark.parametrize(("name", "value"), [("after", {"other": 1}), ("before", {})])
def test_another_call_with_the_payment_is_refused(
    platform: Platform, name: str, value: dict[str, int]
) -> None:
    """J3: another input or service is 409, nothing runs."""
    payment = platform.payment("after")
    job = platform.buy("after", {}, payment)
    with pytest.raises(PaymentMismatch):
        platform.buy(name, value, payment)
    assert platform.wakeups.handled == [job.id]


def test_another_envelope_learns_nothing_about_the_job(platform: Platform) -> None:
    """J3: a settled authorisation is public: it proves nothing by itself."""
    payment = platform.payment()
    job = platform.finish(platform.buy(payment=payment))
    with pytest.raises(PaymentMismatch) as error:
        platform.buy(payment=other_spelling(payment))
    assert job.id not in repr((error.value.detail, error.value.fields))
    assert error.value.detail == PaymentMismatch().detail


def test_after_three_strangers_the_envelope_alone_is_not_enough(platform: Platform) -> None:
    """J3: somebody is guessing; up to then the buyer is not bothered."""
    payment = platform.payment()
    job = platform.buy(payment=payment)
    strangers(platform, payment, MISMATCHES_ALLOWED - 1)
    assert platform.buy(payment=payment) == job
    strangers(platform, payment, 1)
    with pytest.raises(PaymentMismatch, match="PAYER-PROOF"):
        platform.buy(payment=payment)


@pytest.mark.parametrize(
    ("signer", "age", "url", "counts"),
    [
        ("payer", 0, "", True),
        ("payer", 299, "", True),
        ("payer", 301, "", False),
        ("stranger", 0, "", False),
        ("payer", 0, "https://elsewhere.example", False),
    ],
)
def test_the_payer_proves_that_it_is_his(
    platform: Platform, signer: str, age: int, url: str, counts: bool
) -> None:
    """J3: a signature over service, nonce, public URL and a time within 5 minutes."""
    payer, other = Keypair.random(), Keypair.random()
    payment = platform.payment(keypair=payer)
    job = platform.buy(payment=payment)
    strangers(platform, payment, MISMATCHES_ALLOWED)
    proof = make_proof(
        payer if signer == "payer" else other,
        service="after",
        nonce=identify_payment(payment).nonce,
        public_url=url or platform.settings.public_url,
        now=time.time() - age,
    )
    assert replayed(platform, payment, proof) == (job if counts else None)


def replayed(platform: Platform, payment: PaymentPayload, proof: str) -> Job | None:
    try:
        return platform.buy(payment=payment, proof=proof)
    except PaymentMismatch:
        return None


def test_a_claim_made_with_an_identifier_is_replayed_only_with_it(platform: Platform) -> None:
    """J3, H8: it is known to the buyer alone."""
    payment = platform.payment(identifier=ORDER)
    job = platform.buy(payment=payment)
    strangers(platform, payment, MISMATCHES_ALLOWED + 1)
    assert platform.buy(payment=payment) == job
    for extensions in ({}, platform.payment(identifier="order-9876543210").extensions):
        with pytest.raises(PaymentMismatch):
            platform.buy(payment=replace(payment, extensions=extensions))


def test_an_identifier_belongs_to_one_payment(platform: Platform) -> None:
    """H8: looked up before verify; the second payment is not used up."""
    payer = Keypair.random()
    platform.buy(payment=platform.payment(identifier=ORDER, keypair=payer))
    second = platform.payment(identifier=ORDER, keypair=payer)
    with pytest.raises(IdentifierMismatch):
        platform.buy(payment=second)
    assert platform.facilitator.calls("/verify") == 1
    assert platform.buy(payment=replace(second, extensions={}))


def test_a_deleted_job_cannot_be_replayed_while_its_payment_is_valid(platform: Platform) -> None:
    """J15: neither the job nor a new one."""
    platform.options["retention_seconds"] = 10.0
    payment = platform.payment()
    platform.finish(platform.buy(payment=payment))
    platform.clock.latest_ledger += 61
    pass_time(platform.store.client, 11)
    assert platform.sweep.run().actions == {"forget": 1}
    platform.clock.latest_ledger -= 61
    with pytest.raises(PaymentMismatch):
        platform.buy(payment=payment)
    assert platform.facilitator.calls("/verify") == 1


def test_a_job_is_kept_while_the_chain_would_still_take_its_payment(platform: Platform) -> None:
    """J15: also when its retention is over."""
    platform.options["retention_seconds"] = 10.0
    job = platform.finish(platform.buy())
    pass_time(platform.store.client, 11)
    assert platform.sweep.run().actions == {"wait": 1}
    assert platform.job(job).status is Status.SUCCEEDED


def test_a_payment_that_landed_for_its_twin_is_not_answered_with_402(platform: Platform) -> None:
    """H4: reference clients sign a fresh payment for every 402; the twin's settlement used the nonce up."""
    payment = platform.payment("before")
    twin: list[Job] = []

    def too_late(_: object) -> tuple[int, object]:
        platform.facilitator.verify = lambda _: (200, {"isValid": True})
        twin.append(platform.finish(platform.buy("before", payment=payment)))
        return 200, {"isValid": False, "invalidReason": "invalid_exact_stellar_payload_simulation_failed"}

    platform.facilitator.verify = too_late
    assert platform.buy("before", payment=payment) == twin[0]
