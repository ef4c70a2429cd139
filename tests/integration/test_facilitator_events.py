"""Which simulated events count as the one transfer that was paid for."""

from collections.abc import Callable

import pytest
from stellar_sdk import Address, Keypair, scval, xdr

from provider.errors import PaymentRejected
from provider.facilitator.events import check_only_transfer
from provider.payments.models import CheckedPayment

ASSET = "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA"
OTHER = "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75"
PAYER, SELLER, STRANGER = (Keypair.random().public_key for _ in range(3))
SAC_NAME = scval.to_string("USDC:GBBD47IF6LWK7P7MDEVSCWR7DPUWV3NY3DTQEVFL4NAT4AQH3ZLLFLA5")
PAYMENT = CheckedPayment("stellar:testnet", ASSET, PAYER, SELLER, 100, 1, 9, "address", True, "")


def event(
    *topics: xdr.SCVal,
    data: xdr.SCVal | None = None,
    contract: str | None = ASSET,
    kind: xdr.ContractEventType = xdr.ContractEventType.CONTRACT,
) -> str:
    body = xdr.ContractEventBody(0, v0=xdr.ContractEventV0(list(topics), data or scval.to_int128(100)))
    contract_id = Address(contract).to_xdr_sc_address().contract_id if contract else None
    return xdr.DiagnosticEvent(
        True, xdr.ContractEvent(xdr.ExtensionPoint(0), contract_id, kind, body)
    ).to_xdr()


def transfer(
    sender: str = PAYER, recipient: str = SELLER, data: xdr.SCVal | None = None, contract: str | None = ASSET
) -> str:
    topics = [scval.to_symbol("transfer"), scval.to_address(sender), scval.to_address(recipient)]
    return event(*topics, SAC_NAME, data=data, contract=contract)


def muxed(amount: int) -> xdr.SCVal:
    fields = {"amount": scval.to_int128(amount), "to_muxed_id": scval.to_uint64(7)}
    return scval.to_map({scval.to_symbol(name): value for name, value in fields.items()})


@pytest.mark.parametrize(
    "shown",
    [
        transfer(),
        transfer(data=muxed(100)),
        event(scval.to_symbol("transfer"), scval.to_address(PAYER), scval.to_address(SELLER)),
    ],
    ids=["asset contract", "with a muxed id", "SEP-41"],
)
def test_the_transfer_is_read_in_every_shape_it_has(shown: str) -> None:
    diagnostic = event(scval.to_symbol("fn_call"), kind=xdr.ContractEventType.DIAGNOSTIC)
    check_only_transfer([diagnostic, shown], PAYMENT)


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("no_transfer_events", list),
        ("multiple_transfers", lambda: [transfer(), transfer()]),
        ("event_not_transfer", lambda: [transfer(), event(scval.to_symbol("approve"))]),
        ("event_not_transfer", lambda: [event(scval.to_symbol("mint"), SAC_NAME, SAC_NAME)]),
        ("event_missing_contract_id", lambda: [transfer(contract=None)]),
        ("event_wrong_asset", lambda: [transfer(contract=OTHER)]),
        ("event_wrong_from", lambda: [transfer(sender=STRANGER)]),
        ("event_wrong_to", lambda: [transfer(recipient=STRANGER)]),
        ("event_wrong_amount", lambda: [transfer(data=scval.to_int128(99))]),
        ("event_wrong_amount", lambda: [transfer(data=muxed(99))]),
        ("event_wrong_amount", lambda: [transfer(data=scval.to_uint64(100))]),
        ("simulation_failed", lambda: ["AAAA"]),
    ],
)
def test_anything_else_is_refused_by_its_official_name(reason: str, shown: Callable[[], list[str]]) -> None:
    with pytest.raises(PaymentRejected) as caught:
        check_only_transfer(shown(), PAYMENT)
    assert caught.value.reason == f"invalid_exact_stellar_payload_{reason}"
