"""No short history leads the decision wrong, and each of its rules is needed (support/payment_model)."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from textwrap import dedent
from typing import Any

import pytest

from provider.chain.history import Span
from provider.chain.nonces import NonceReading, Window
from provider.jobs.reconcile import decide as rules
from provider.jobs.reconcile.decide import Decision, Verdict
from provider.jobs.reconcile.evidence import Evidence, Step
from tests.support.payment_model import Exploration


def test_no_history_leads_to_a_wrong_decision() -> None:
    """The money agrees with each decision at each moment, and what can be seen is decided."""
    exploration = Exploration()
    found = exploration.run()
    assert found is None, f"\n{found}"
    assert (exploration.chains > 1_000, exploration.decisions > 10_000) == (True, True)


# Each rule, replaced by what stood in its place before


def dated_by_its_last_write(evidence: Evidence) -> Iterator[Span]:
    """An entry was made in the ledger of its last write; before that there was none."""
    modified = evidence.reading.modified_ledger
    if modified is None or modified <= evidence.expiration_ledger:
        yield from by_nonce(evidence)
    else:
        yield evidence.reading.unmade(evidence.expiration_ledger, modified)


def paid_if_refused(evidence: Evidence) -> Decision:
    """A used nonce whose ledgers cannot be read is a payment, whatever the error."""
    return _paid(evidence) if evidence.is_used and evidence.trouble else decide(evidence)


def paid_if_pruned(evidence: Evidence) -> Decision:
    """A used nonce whose ledgers are all older than the history of the RPC is a payment."""
    is_pruned = Step.SCAN in evidence.taken and not evidence.scanned and not evidence.trouble
    return _paid(evidence) if evidence.is_used and is_pruned else decide(evidence)


def unread_is_the_largest(reading: NonceReading, expiration: int, absent_in: int) -> Span:
    """Entries live a day before the setting was read."""
    window = Window(17_279) if reading.window == Window() else reading.window
    return unmade(replace(reading, window=window), expiration, absent_in)


def always_as_now(reading: NonceReading, expiration: int, absent_in: int) -> Span:
    """The setting was never another one."""
    window = replace(reading.window, since=0)
    return unmade(replace(reading, window=window), expiration, absent_in)


def unread_is_silent(evidence: Evidence) -> Iterator[Span]:
    """What was asked for and not read had no payment in it."""
    if Step.EVENTS in evidence.taken:
        yield 1, evidence.expiration_ledger


by_nonce, decide, unmade = rules.by_nonce, rules.decide, NonceReading.unmade


def _paid(evidence: Evidence) -> Decision:
    made = decide(evidence)
    return replace(made, verdict=Verdict.PAID) if made.verdict is Verdict.UNDECIDED else made


COUNTEREXAMPLES: list[tuple[Any, str, Any, str]] = [
    (
        rules,
        "by_nonce",
        dated_by_its_last_write,
        """
        ledger 1: nothing
        ledger 2: nothing
        ledger 3: land
        ledger 4: touch
        asked with history from ledger 0; steps: events
        unpaid: no transaction of ledgers 1 to 1 used the nonce
        but the money arrived""",
    ),
    (
        rules,
        "decide",
        paid_if_refused,
        """
        ledger 1: spend
        asked with history from ledger 0; steps: events, scan, the RPC refused
        paid: no answer from the RPC: the RPC refused
        but no money arrived""",
    ),
    (
        rules,
        "decide",
        paid_if_pruned,
        """
        ledger 1: spend
        asked with history from ledger 2; steps: events, scan
        paid: ledgers 1 to 1 are not all in the RPC's history; use an RPC with more history
        but no money arrived""",
    ),
    (
        NonceReading,
        "unmade",
        unread_is_the_largest,
        """
        ledger 1: land
        ledger 2: nothing
        ledger 3: nothing
        ledger 4: nothing
        asked with history from ledger 0, setting unread; steps: none
        unpaid: the nonce was not used until ledger 3
        but the money arrived""",
    ),
    (
        NonceReading,
        "unmade",
        always_as_now,
        """
        ledger 1: land
        ledger 2: nothing
        ledger 3: nothing
        ledger 4: change setting
        asked with history from ledger 0; steps: none
        unpaid: the nonce was not used until ledger 3
        but the money arrived""",
    ),
    (
        rules,
        "by_silence",
        unread_is_silent,
        """
        ledger 1: land
        asked with history from ledger 0; steps: events, the RPC refused
        unpaid: the nonce was not used until ledger 3
        but the money arrived""",
    ),
]


@pytest.mark.parametrize(
    ("room", "rule", "mutant", "expected"), COUNTEREXAMPLES, ids=[row[2].__name__ for row in COUNTEREXAMPLES]
)
def test_without_a_rule_the_exploration_prints_a_counterexample(
    room: Any, rule: str, mutant: Any, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first line of each mutant says what it believes."""
    monkeypatch.setattr(room, rule, mutant)
    found = str(Exploration().run())
    sys.stdout.write(f"{found}\n")
    assert found == dedent(expected).strip()
