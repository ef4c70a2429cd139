"""What a nonce entry, its absence and the transactions seen say about a payment: at every edge (§10)."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from provider.chain.nonces import NonceReading, Window
from provider.chain.onchain import Sighting, Use
from provider.chain.rpc import Health
from provider.jobs.model.job import Job
from provider.jobs.reconcile.decide import Verdict, decide, open_ledgers, searchable, useful_steps
from provider.jobs.reconcile.evidence import Evidence, Step, first_ledger_of

FIRST, EXPIRATION, WINDOW = 1_000, 1_012, Window(719, since=1)
NOW = 1_800_000_000


def absent(latest: int, window: Window = WINDOW, **known: Any) -> Evidence:
    return Evidence("job", known.pop("first", FIRST), EXPIRATION, NonceReading(latest, window), **known)


def live(modified: int, latest: int = EXPIRATION + 5, until: int = 5_000, **known: Any) -> Evidence:
    reading = NonceReading(latest, known.pop("window", WINDOW), modified, until)
    return Evidence("job", known.pop("first", FIRST), EXPIRATION, reading, **known)


def seen(use: Use, ledger: int) -> tuple[Sighting, ...]:
    return (Sighting(use, "ab" * 32, ledger),)


def verdict(evidence: Evidence) -> str:
    return decide(evidence).verdict.value


@pytest.mark.parametrize(
    ("latest", "expected"),
    [
        (FIRST, "undecided"),
        (EXPIRATION, "undecided"),
        (EXPIRATION + 1, "unpaid"),
        (FIRST + 719, "unpaid"),
        (FIRST + 720, "undecided"),
    ],
)
def test_absence_proves_after_the_expiration_and_before_an_entry_could_have_gone(
    latest: int, expected: str
) -> None:
    assert verdict(absent(latest)) == expected


def test_absence_proves_nothing_before_the_setting_was_read() -> None:
    assert open_ledgers(absent(EXPIRATION + 1, Window())) == [(FIRST, EXPIRATION)]


def test_absence_proves_nothing_about_ledgers_before_the_setting_changed() -> None:
    """Entries made under the setting before may have gone sooner."""
    assert open_ledgers(absent(EXPIRATION + 1, replace(WINDOW, since=FIRST + 3))) == [(FIRST, FIRST + 2)]


def test_absence_past_the_window_still_rules_out_the_later_ledgers() -> None:
    """The history need not be whole: only the ledgers before have to be searched."""
    assert searchable(absent(FIRST + 725)) == (FIRST, FIRST + 5)


def test_without_a_first_ledger_absence_proves_nothing() -> None:
    evidence = absent(EXPIRATION + 1, first=None)
    assert (verdict(evidence), searchable(evidence), useful_steps(evidence)) == ("undecided", None, set())


@pytest.mark.parametrize("modified", [FIRST, FIRST + 3, EXPIRATION])
def test_a_live_entry_was_made_in_some_ledger_up_to_its_last_write(modified: int) -> None:
    assert searchable(live(modified)) == (FIRST, modified)
    assert verdict(live(modified)) == "undecided"


def test_an_entry_written_before_the_claim_may_be_that_of_the_payment() -> None:
    evidence = live(FIRST - 5)
    assert searchable(evidence) == (FIRST - 5, FIRST - 5)
    assert verdict(replace(evidence, sightings=seen(Use.PAID, FIRST - 5))) == "paid"


@pytest.mark.parametrize("modified", [EXPIRATION + 1, FIRST + 719, FIRST + 720])
def test_an_entry_written_after_the_expiration_denies_nothing_and_proves_nothing(modified: int) -> None:
    evidence = live(modified, latest=FIRST + 800)
    assert (verdict(evidence), searchable(evidence)) == ("undecided", (FIRST, EXPIRATION))
    assert Step.SCAN not in useful_steps(evidence)


def test_silence_denies_a_payment_whose_entry_is_gone() -> None:
    gone = absent(FIRST + 5_000)
    assert verdict(replace(gone, silent=((FIRST, EXPIRATION),))) == "unpaid"
    assert verdict(replace(gone, silent=((FIRST + 1, EXPIRATION),))) == "undecided"


def test_silence_denies_nothing_while_the_entry_says_used() -> None:
    """An RPC may have lost an event: what used the nonce has to be seen."""
    evidence = live(FIRST + 3, silent=((FIRST, FIRST + 3),), taken=frozenset({Step.EVENTS}))
    assert (verdict(evidence), useful_steps(evidence)) == ("undecided", {Step.SCAN})


def test_all_transactions_without_a_use_are_a_contradiction() -> None:
    span = (FIRST, FIRST + 3)
    decision = decide(live(FIRST + 3, silent=(span,), scanned=(span,)))
    assert decision.verdict is Verdict.UNDECIDED
    assert decision.reason.endswith("but no transaction in it shows how")


@pytest.mark.parametrize("spent", [FIRST, FIRST + 2, FIRST + 6])
def test_another_call_denies_the_payment(spent: int) -> None:
    """Also when the entry was touched since: it lives for the window at least."""
    assert verdict(live(FIRST + 6, sightings=seen(Use.SPENT, spent))) == "unpaid"


def test_another_call_denies_a_later_payment_only_as_long_as_its_entry_lives() -> None:
    short = Window(2, since=1)
    spent = seen(Use.SPENT, FIRST + 1)
    assert open_ledgers(live(FIRST + 6, window=short, sightings=spent)) == [(FIRST + 4, FIRST + 6)]
    assert open_ledgers(live(FIRST + 6, window=Window(), sightings=spent)) == [(FIRST + 2, FIRST + 6)]
    gone = absent(FIRST + 5_000, short, sightings=spent)
    assert searchable(gone) == (FIRST + 4, EXPIRATION)


def test_another_call_after_the_expiration_shows_that_there_was_no_entry() -> None:
    """Else it could not have used the nonce again."""
    spent = seen(Use.SPENT, EXPIRATION + 100)
    assert verdict(live(EXPIRATION + 100, latest=FIRST + 800, sightings=spent)) == "unpaid"
    assert verdict(live(EXPIRATION + 100, window=Window(), sightings=spent)) == "undecided"


def test_before_the_expiration_another_call_is_final_if_its_entry_outlives_the_payment() -> None:
    spent = seen(Use.SPENT, FIRST + 2)
    now = FIRST + 3
    assert verdict(live(FIRST + 2, latest=now, until=EXPIRATION, sightings=spent)) == "unpaid"
    short = live(FIRST + 2, latest=now, until=EXPIRATION - 1, window=Window(2, 1), sightings=spent)
    decision = decide(short)
    assert decision.reason.endswith("may be able to use it again")
    assert (decision.verdict, decision.later) == (Verdict.UNDECIDED, True)


def test_a_payment_that_was_seen_outweighs_everything() -> None:
    both = (*seen(Use.SPENT, FIRST + 1), *seen(Use.PAID, FIRST + 9))
    decision = decide(absent(FIRST + 5_000, sightings=both, trouble="the RPC is away"))
    assert (decision.verdict, decision.ledger) == (Verdict.PAID, FIRST + 9)


def test_an_error_is_the_reason_and_may_pass() -> None:
    decision = decide(live(FIRST + 3, trouble="getTransactions: too slow"))
    assert decision.reason == "no answer from the RPC: getTransactions: too slow"
    assert decision.later


def first_ledger(age_seconds: float, claim_ledger: int | None = None, **health: Any) -> int | None:
    terms = SimpleNamespace(claim_ledger=claim_ledger)
    job = SimpleNamespace(terms=terms, created_at_ms=(NOW - age_seconds) * 1000)
    known = Health(**{"latest_ledger": 10_000, "oldest_ledger": 1, "latest_close_time": NOW, **health})
    return first_ledger_of(cast(Job, job), lambda: known, 5.0)


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
