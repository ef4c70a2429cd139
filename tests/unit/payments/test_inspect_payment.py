"""`provider inspect-payment`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from provider.cli.main import main
from provider.payments.models import PaymentPayload, PaymentRequirements
from tests.support.payments import payment_header, payment_wire, requirements_wire
from tests.unit.payments.conftest import EXPIRATION, LATEST, bent, call_of, operation_of

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Call the command with the first argument's text as FILE."""

    def call(text: str, *options: str) -> Result:
        file = tmp_path / "payment"
        file.write_text(text)
        return CliRunner().invoke(main, ["inspect-payment", str(file), *options])

    return call


def _report(result: Result) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(result.stdout)
    return report


@pytest.mark.parametrize("spell", [payment_header, lambda p: json.dumps(payment_wire(p), indent=2)])
def test_a_valid_payment_exits_0_with_every_field(
    run: Run, payment: PaymentPayload, offer: PaymentRequirements, spell: Callable[[PaymentPayload], str]
) -> None:
    """A header or a payload file; what can exceed 53 bits is a string."""
    result = run(spell(payment), "--json", "--latest-ledger", str(LATEST))
    report = _report(result)
    assert result.exit_code == 0
    assert (report["valid"], report["reason"], report["signatureChecked"]) == (True, None, True)
    assert (report["amount"], report["nonce"], report["expirationLedger"]) == ("500000", "42", EXPIRATION)
    assert (report["network"], report["asset"], report["payTo"]) == (offer.network, offer.asset, offer.pay_to)
    assert (report["credentials"], report["payer"][0]) == ("address", "G")


def test_a_payment_is_read_from_standard_input(payment: PaymentPayload) -> None:
    """FILE is "-"."""
    result = CliRunner().invoke(
        main, ["inspect-payment", "-", "--json"], input=payment_header(payment) + "\n"
    )
    assert (result.exit_code, _report(result)["valid"]) == (0, True)


def test_an_invalid_payment_exits_1_and_still_shows_its_fields(run: Run, payment: PaymentPayload) -> None:
    """Here two operations; the fields are those of the first."""
    two = bent(payment, lambda tx: tx.operations.append(tx.operations[0]))
    result = run(payment_header(two), "--json")
    report = _report(result)
    assert result.exit_code == 1
    assert (report["valid"], report["reason"]) == (False, "invalid_exact_stellar_payload_wrong_operation")
    assert (report["amount"], report["nonce"], report["credentials"]) == ("500000", "42", "address")
    assert report["signatureChecked"] is False


def test_what_cannot_be_decoded_is_null(run: Run, payment: PaymentPayload) -> None:
    """The rest is shown."""
    odd = bent(payment, lambda tx: (call_of(tx).args.pop(), operation_of(tx).auth.clear()))
    report = _report(run(payment_header(odd), "--json"))
    assert (report["amount"], report["nonce"], report["credentials"]) == (None, None, None)
    assert report["payer"].startswith("G")


def test_the_latest_ledger_decides_about_the_expiration(run: Run, payment: PaymentPayload) -> None:
    """Without one it is not compared."""
    header = payment_header(payment)
    assert run(header).exit_code == 0
    assert run(header, "--latest-ledger", str(EXPIRATION)).exit_code == 1
    assert "expired" in run(header, "--latest-ledger", str(EXPIRATION)).stdout


@pytest.mark.parametrize("wrap", [lambda r: r, lambda r: [r], lambda r: {"x402Version": 2, "accepts": [r]}])
def test_the_requirements_may_come_from_a_file(
    run: Run, payment: PaymentPayload, offer: PaymentRequirements, tmp_path: Path, wrap: Callable[[Any], Any]
) -> None:
    """One, a list, or a whole 402 body."""
    file = tmp_path / "requirements.json"
    file.write_text(json.dumps(wrap(requirements_wire(offer))))
    assert run(payment_header(payment), "--requirements", str(file)).exit_code == 0
    file.write_text(json.dumps(wrap(requirements_wire(offer) | {"amount": "1"})))
    report = _report(run(payment_header(payment), "--requirements", str(file), "--json"))
    assert report["reason"] == "invalid_exact_stellar_payload_wrong_amount"


@pytest.mark.parametrize("text", ["", "garbage!", "{", "{}", "e30=", "W10=", '{"x402Version": 2}'])
def test_what_is_no_payment_exits_2(run: Run, text: str) -> None:
    """On the error channel for people, as JSON for programs."""
    result = run(text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Unreadable" in result.stderr
    assert (run(text, "--json").exit_code, _report(run(text, "--json"))["valid"]) == (2, False)


@pytest.mark.parametrize("text", ["", "[", "{}", '{"accepts": 5}', "[5]", "null"])
def test_unreadable_requirements_exit_2(run: Run, payment: PaymentPayload, tmp_path: Path, text: str) -> None:
    """So that a script does not take them for an invalid payment."""
    file = tmp_path / "requirements.json"
    file.write_text(text)
    assert run(payment_header(payment), "--requirements", str(file)).exit_code == 2


def test_people_get_a_table(run: Run, payment: PaymentPayload) -> None:
    """What a stranger wrote does not steer the terminal."""
    assert "signatureChecked  yes" in run(payment_header(payment)).stdout
    wire = payment_wire(payment)
    wire["accepted"]["network"] = "stellar:\x1b[31m[red]"
    shown = run(json.dumps(wire))
    assert shown.exit_code == 1
    assert "\x1b" not in shown.stdout
    assert "stellar:?[31m[red]" in shown.stdout
