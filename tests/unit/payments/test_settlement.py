"""The table of standard §8, row by row."""

from typing import Any

import pytest

from provider.payments.reasons import REFUSED_BEFORE_SUBMISSION
from provider.payments.settlement import FacilitatorAnswer, Failure, SettleKind, SettleOutcome, classify

NETWORK, PAYER, HASH = "stellar:testnet", "GPAYER", "AB" * 32
SETTLED = {"success": True, "transaction": HASH, "network": NETWORK, "payer": PAYER}
REFUSED = {"success": False, "transaction": "", "network": NETWORK, "errorReason": "insufficient_funds"}


def _outcome(body: Any = None, status: int | None = 200, failure: Failure | None = None) -> SettleOutcome:
    return classify(FacilitatorAnswer(status, body, failure), network=NETWORK, payer=PAYER)


def test_the_proof_of_a_settlement_counts() -> None:
    """The hash is kept in lower case, as the chain spells it."""
    assert _outcome(SETTLED) == SettleOutcome(SettleKind.SETTLED, HASH.lower(), payer=PAYER)


@pytest.mark.parametrize("payer", ["absent", None])
def test_the_payer_may_be_absent(payer: str | None) -> None:
    """Not every facilitator names it."""
    body = {k: v for k, v in SETTLED.items() if k != "payer"} | ({"payer": None} if payer is None else {})
    assert _outcome(body).kind is SettleKind.SETTLED


ALMOST_SETTLED: dict[str, dict[str, Any]] = {
    '"true"': {"success": "true"},
    "1": {"success": 1},
    "null": {"success": None},
    "no hash": {"transaction": ""},
    "null as hash": {"transaction": None},
    "a number as hash": {"transaction": 12},
    "63 digits": {"transaction": "a" * 63},
    "65 digits": {"transaction": "a" * 65},
    "64 others": {"transaction": "g" * 64},
    "a newline after the hash": {"transaction": HASH + "\n"},
    "0x": {"transaction": "0x" + "a" * 62},
    "another network": {"network": "stellar:pubnet"},
    "no network": {"network": None},
    "another payer": {"payer": "GOTHER"},
    "an empty payer": {"payer": ""},
}


@pytest.mark.parametrize("change", ALMOST_SETTLED.values(), ids=ALMOST_SETTLED)
def test_almost_settled_is_uncertain(change: dict[str, Any]) -> None:
    """The chain decides; a hash that was given is kept for it."""
    outcome = _outcome(SETTLED | change)
    assert outcome.kind is SettleKind.UNCERTAIN
    assert outcome.reason
    assert outcome.transaction == (None if "transaction" in change else HASH.lower())


@pytest.mark.parametrize("reason", sorted(REFUSED_BEFORE_SUBMISSION))
def test_a_refusal_before_submission_is_a_refusal(reason: str) -> None:
    """Every name on the closed list, and it is told."""
    assert _outcome(REFUSED | {"errorReason": reason}) == SettleOutcome(SettleKind.REFUSED, None, reason)


ALMOST_REFUSED: dict[str, dict[str, Any]] = {
    "a hash": {"transaction": HASH},
    "a strange transaction": {"transaction": "pending"},
    "false as text": {"success": "false"},
    "0": {"success": 0},
    "no reason": {"errorReason": None},
    "an empty reason": {"errorReason": ""},
    "an unknown reason": {"errorReason": "invalid_mood"},
    "a number as reason": {"errorReason": 5},
    "a list as reason": {"errorReason": ["insufficient_funds"]},
    "failed on chain": {"errorReason": "invalid_transaction_state"},
    "pending": {"errorReason": "settlement_pending"},
    "poll exhausted": {"errorReason": "settle_exact_stellar_transaction_failed"},
    "not accepted": {"errorReason": "settle_exact_stellar_transaction_submission_failed"},
    "signing failed": {"errorReason": "settle_exact_stellar_transaction_signing_failed"},
    "no signer": {"errorReason": "settle_exact_stellar_signer_selection_failed"},
    "channel": {"errorReason": "settle_channel_service_failed"},
    "unexpected": {"errorReason": "unexpected_settle_error"},
    "verify went wrong": {"errorReason": "unexpected_verify_error"},
    "already settled": {"errorReason": "duplicate_settlement"},
}


@pytest.mark.parametrize("change", ALMOST_REFUSED.values(), ids=ALMOST_REFUSED)
def test_almost_refused_is_uncertain(change: dict[str, Any]) -> None:
    """The transfer may land, or have landed."""
    assert _outcome(REFUSED | change).kind is SettleKind.UNCERTAIN


@pytest.mark.parametrize(
    "status", [100, 201, 202, 204, 301, 302, 307, 400, 401, 402, 404, 409, 429, 500, 502, 504]
)
@pytest.mark.parametrize("body", [SETTLED, REFUSED, None])
def test_only_a_200_proves_anything(status: int, body: Any) -> None:
    """Also when the body says otherwise."""
    outcome = _outcome(body, status)
    assert (outcome.kind, outcome.reason) == (SettleKind.UNCERTAIN, f"answer_status_{status}")
    assert outcome.transaction == (HASH.lower() if body is SETTLED else None)


@pytest.mark.parametrize("failure", [f for f in Failure if f is not Failure.NOT_CONNECTED])
def test_no_answer_is_uncertain(failure: Failure) -> None:
    """Something may have been sent."""
    assert _outcome(None, None, failure) == SettleOutcome(SettleKind.UNCERTAIN, None, failure.value)


def test_nothing_sent_may_be_tried_again() -> None:
    """A refused connection, a failed look-up."""
    assert _outcome(None, None, Failure.NOT_CONNECTED).kind is SettleKind.NOT_SENT


@pytest.mark.parametrize("body", [{}, None])
def test_an_empty_answer_is_uncertain(body: Any) -> None:
    """A 200 alone says nothing."""
    assert _outcome(body).kind is SettleKind.UNCERTAIN
