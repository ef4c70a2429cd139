"""What the facilitator finds valid, against a real chain."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from stellar_sdk import Keypair

from provider.facilitator.server import FacilitatorServer
from tests.support.localnet import LocalNet, running_localnet
from tests.support.payments import signed_payment

FIXTURES = Path(__file__).parents[1] / "fixtures"
CASES = json.loads((FIXTURES / "verify_cases.json").read_text())["cases"]
KEYS = json.loads((FIXTURES / "js_payloads.json").read_text())["keys"]
OURS = {"address_v2_credentials": "VALID", "network_pubnet": "invalid_network"}
"""Where we differ on purpose: the official package cannot read newer credentials, and crashes on pubnet."""


@pytest.fixture(scope="module")
def net() -> Iterator[LocalNet]:
    names = {"facilitator": "facilitator", "buyer": "payer", "seller": "merchant"}
    keys = {ours: Keypair.from_secret(KEYS[theirs]["secret"]) for ours, theirs in names.items()}
    with running_localnet(manual=True, keys=keys) as network:
        yield network


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_verdicts_are_those_of_the_official_facilitator(net: LocalNet, case: dict[str, Any]) -> None:
    verdict = net.post_wire(
        "/verify", {name: case[name] for name in ("paymentPayload", "paymentRequirements")}
    )
    found = "VALID" if verdict["isValid"] else verdict["invalidReason"]
    assert found == OURS.get(case["name"], case["expected"])


def test_supported_names_the_network_the_sponsored_fees_and_every_signer(net: LocalNet) -> None:
    supported = net.http.get(net.facilitator.url + "/supported", timeout=5).json()
    kind = {"x402Version": 2, "scheme": "exact", "network": "stellar:testnet"}
    assert supported["kinds"] == [{**kind, "extra": {"areFeesSponsored": True}}]
    assert supported["signers"] == {"stellar:*": net.facilitator.facilitator.addresses}


def test_health_tells_the_ledger_and_how_busy_it_is(net: LocalNet) -> None:
    health = net.http.get(net.facilitator.url + "/healthz", timeout=5).json()
    assert health["ledger"] == net.state.latest.sequence
    assert health["channels"] == {"total": 1, "idle": 1}


@pytest.mark.parametrize("credentials", ["v1", "v2"])
def test_a_signed_payment_is_valid_and_its_payer_is_named(net: LocalNet, credentials: str) -> None:
    assert net.verify(net.payment(credentials=credentials)) == {
        "isValid": True,
        "payer": net.buyer.public_key,
    }


def test_the_signature_of_a_contract_payer_is_judged_by_simulation(net: LocalNet) -> None:
    wallet = "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC"
    net.state.fund(wallet, "10", signer=net.buyer.public_key)
    good, bad = (net.payment_of(wallet, key) for key in (net.buyer, Keypair.random()))
    assert net.verify(good) == {"isValid": True, "payer": wallet}
    assert net.verify(bad)["invalidReason"] == "invalid_exact_stellar_payload_simulation_failed"


def test_a_payer_without_money_is_refused_by_simulation(net: LocalNet) -> None:
    poor = Keypair.random()
    net.state.fund(poor.public_key)
    payment = signed_payment(net.requirements(), poor, net.state.latest.sequence + 12)
    verdict = net.verify(payment)
    assert verdict["invalidReason"] == "invalid_exact_stellar_payload_simulation_failed"
    assert verdict["payer"] == poor.public_key


def test_what_the_chain_shows_as_a_burn_is_no_payment(net: LocalNet) -> None:
    payment = net.payment(net.requirements(pay_to=net.state.config.token.issuer))
    assert net.verify(payment)["invalidReason"] == "invalid_exact_stellar_payload_event_not_transfer"


def test_a_channel_account_may_not_pay(net: LocalNet) -> None:
    payer = net.config().keypairs()[0]
    net.state.fund(payer.public_key, "10")
    payment = signed_payment(net.requirements(), payer, net.state.latest.sequence + 12)
    assert net.verify(payment)["invalidReason"] == "invalid_exact_stellar_payload_facilitator_is_payer"


def test_an_authorisation_that_is_valid_for_too_long_is_refused(net: LocalNet) -> None:
    payment = signed_payment(net.requirements(), net.buyer, net.state.latest.sequence + 15)
    assert net.verify(payment)["invalidReason"] == "invalid_exact_stellar_signature_expiration_too_far"


def test_no_verdict_is_given_while_the_chain_is_away(net: LocalNet) -> None:
    payment = net.payment()
    net.chain.faults.add("rpc_down")
    answer = net.ask("/verify", payment)
    net.chain.faults.clear()
    assert answer.status_code == 503
    assert answer.json()["invalidReason"] == "unexpected_verify_error"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'{"paymentPayload": {}}', b'{"paymentPayload": {}, "paymentRequirements": {}}'],
)
def test_a_body_that_is_no_request_gets_400_in_the_shape_of_an_answer(net: LocalNet, body: bytes) -> None:
    answers = {path: net.http.post(net.facilitator.url + path, data=body) for path in ("/verify", "/settle")}
    assert {answer.status_code for answer in answers.values()} == {400}
    assert answers["/verify"].json()["isValid"] is False
    assert answers["/settle"].json()["success"] is False


def test_a_hostile_size_is_refused_before_it_is_read(net: LocalNet) -> None:
    answer = net.http.post(net.facilitator.url + "/verify", data=b"x" * 200_000)
    assert answer.status_code == 413


def test_a_key_is_wanted_where_one_is_set(net: LocalNet) -> None:
    with FacilitatorServer(net.config(), api_key="open sesame") as closed:
        requests.get(closed.url + "/supported", timeout=5).raise_for_status()
        assert requests.post(closed.url + "/verify", json={}, timeout=5).status_code == 401
        given = {"Authorization": "Bearer open sesame"}
        assert requests.post(closed.url + "/verify", json={}, headers=given, timeout=5).status_code == 400
