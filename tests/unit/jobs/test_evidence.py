"""What a nonce entry, or its absence, says: at every edge of the rule (§10, 3)."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from provider.chain.rpc import Health
from provider.chain.witness import NonceReading
from provider.jobs.evidence import Stand, first_ledger_of, stand_of
from provider.jobs.model.job import Job

FIRST, EXPIRATION, PROOF = 1_000, 1_012, 17_279
NOW = 1_800_000_000


def stand(latest: int, used: int | None = None, first: int | None = FIRST) -> Stand:
    return stand_of(NonceReading(latest, PROOF, used), EXPIRATION, first)


@pytest.mark.parametrize(
    ("latest", "expected"),
    [
        (FIRST, Stand.OPEN),
        (EXPIRATION, Stand.OPEN),
        (EXPIRATION + 1, Stand.UNUSED),
        (FIRST + PROOF, Stand.UNUSED),
        (FIRST + PROOF + 1, Stand.GONE),
    ],
)
def test_absence_is_a_proof_after_the_expiration_and_before_an_entry_could_have_gone(
    latest: int, expected: Stand
) -> None:
    assert stand(latest) is expected


@pytest.mark.parametrize("used", [FIRST - 1, FIRST, EXPIRATION])
def test_an_entry_made_by_the_expiration_is_ours(used: int) -> None:
    assert stand(EXPIRATION + 5, used) is Stand.USED


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        (EXPIRATION + 1, Stand.UNUSED),
        (FIRST + PROOF, Stand.UNUSED),
        (FIRST + PROOF + 1, Stand.GONE),
    ],
)
def test_an_entry_made_after_the_expiration_shows_that_there_was_none(used: int, expected: Stand) -> None:
    assert stand(FIRST + 3 * PROOF, used) is expected


def test_without_a_first_ledger_absence_proves_nothing() -> None:
    assert stand(EXPIRATION + 1, first=None) is Stand.GONE


def test_a_network_that_forgets_sooner_proves_for_less_time() -> None:
    reading = NonceReading(EXPIRATION + 4, proof_ledgers=15)
    assert stand_of(reading, EXPIRATION, FIRST) is Stand.GONE
    assert stand_of(replace(reading, latest_ledger=FIRST + 15), EXPIRATION, FIRST) is Stand.UNUSED


def first_ledger(age_seconds: float, claim_ledger: int | None = None, **health: Any) -> int | None:
    terms = SimpleNamespace(claim_ledger=claim_ledger)
    job = SimpleNamespace(terms=terms, created_at_ms=(NOW - age_seconds) * 1000)
    known = Health(**{"latest_ledger": 10_000, "oldest_ledger": 1, "latest_close_time": NOW, **health})
    return first_ledger_of(cast(Job, job), known, 5.0)


def test_the_claim_ledger_is_the_first() -> None:
    assert first_ledger(0, claim_ledger=77) == 77


def test_an_unknown_claim_ledger_is_put_twice_as_far_back_and_ten_minutes_more() -> None:
    assert first_ledger(1_000) == 10_000 - (1_000 + 600) * 2 // 5


def test_it_is_never_before_the_first_ledger_of_all() -> None:
    assert first_ledger(100_000_000) == 1


@pytest.mark.parametrize(("age", "health"), [(-1, {}), (10, {"latest_close_time": None})])
def test_clocks_that_tell_nothing_give_no_ledger(age: float, health: dict[str, Any]) -> None:
    """A network that is behind the claim's own time cannot have closed the ledger after it."""
    assert first_ledger(age, **health) is None
