"""What is stored is read back as it was."""

from dataclasses import fields, replace
from typing import Any

import pytest

from provider.jobs.model.codec import dump_receipt, job_from_hash
from provider.jobs.model.job import Job, Terms
from provider.jobs.model.status import ErrorCode, Status
from provider.payments.models import Receipt
from provider.services import ChargePolicy

JOB = "after." + "0" * 32
LEAST = {"version": "1", "status": "queued", "input": "{}", "created_at_ms": "1", "expires_at_ms": "2"}


@pytest.fixture
def record(terms: Terms) -> dict[str, str]:
    """Give the fields that every record has."""
    return {**LEAST, "terms": terms.dumps()}


@pytest.mark.parametrize("changes", [{}, {"charge": ChargePolicy.UPFRONT, "claim_ledger": 7}])
def test_terms_come_back_as_they_went(terms: Terms, changes: dict[str, Any]) -> None:
    """Amounts and nonces are wider than a double."""
    agreed = replace(terms, **changes)
    assert Terms.loads(agreed.dumps()) == agreed


@pytest.mark.parametrize(("transaction", "ledger"), [("ab" * 32, None), ("", 9)])
def test_a_receipt_comes_back_as_it_went(
    record: dict[str, str], terms: Terms, transaction: str, ledger: int | None
) -> None:
    """J5: the terms and what the record adds to them."""
    receipt = Receipt(terms.network, transaction, terms.payer, terms.amount, terms.asset, ledger)
    assert job_from_hash(JOB, {**record, "receipt": dump_receipt(receipt)}).receipt == receipt


def test_a_new_record_has_defaults_for_what_is_not_known_yet(record: dict[str, str], terms: Terms) -> None:
    """Absent fields are absent, not empty."""
    job = job_from_hash(JOB, record)
    assert (job.status, job.terms, job.starts, job.output) == (Status.QUEUED, terms, 0, None)
    assert (job.charged, job.cancel, dict(job.progress)) == (False, False, {})


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("error", "timeout", ErrorCode.TIMEOUT),
        ("charged", "1", True),
        ("charged", "0", False),
        ("cancel", "1", True),
        ("progress", '{"done":1}', {"done": 1}),
        ("settlement", '{"reason":"x"}', {"reason": "x"}),
        ("place", "1700000000000000", 1_700_000_000_000_000),
        ("owner", "12", "12"),
        ("output", "null", "null"),
    ],
)
def test_each_field_is_read_as_its_type(record: dict[str, str], name: str, text: str, value: Any) -> None:
    """Redis keeps text; an owner of digits stays text."""
    assert getattr(job_from_hash(JOB, {**record, name: text}), name) == value


def test_every_number_of_the_record_is_read_as_one(record: dict[str, str]) -> None:
    """A number that was forgotten in the list of numbers would be compared as text."""
    numbers = [f.name for f in fields(Job) if f.type in (int, int | None)]
    job = job_from_hash(JOB, {**record, **dict.fromkeys(numbers, "7")})
    assert {getattr(job, name) for name in numbers} == {7}


def test_fields_of_a_newer_release_are_left_alone(record: dict[str, str]) -> None:
    """Two releases may run side by side during a deployment."""
    assert job_from_hash(JOB, {**record, "priority": "9"}).id == JOB


@pytest.mark.parametrize("status", [Status.PENDING, Status.RUNNING])
def test_a_settlement_is_on_until_its_answer_is_recorded(record: dict[str, str], status: Status) -> None:
    """S4: `settling_since_ms` stays when the payment is known, so that there is no second attempt."""
    begun = job_from_hash(JOB, {**record, "status": status, "settling_since_ms": "5"})
    assert begun.is_settling
    assert not replace(begun, charged=True).is_settling
