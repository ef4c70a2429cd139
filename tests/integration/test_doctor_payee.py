"""What `provider doctor` says about the account that is paid, read from the local chain."""

from collections.abc import Callable, Iterator

import pytest
from stellar_sdk import Keypair, xdr

from provider.chain.payee import read_payee
from provider.chain.rpc import StellarRpc
from provider.doctor.finding import Finding, Level
from provider.doctor.payee import check_payee
from provider.localnet.chain import keys
from tests.support.localnet import LocalNet, running_localnet

MOST = 2**63 - 1


@pytest.fixture(scope="module")
def net() -> Iterator[LocalNet]:
    with running_localnet() as net:
        yield net


def payee(net: LocalNet, address: str, contract: str | None = None) -> dict[str, Finding]:
    contract = contract or net.state.config.token.contract
    found = check_payee(StellarRpc(net.chain.url), address, contract)
    return {finding.check: finding for finding in found}


def test_an_account_that_does_not_exist(net: LocalNet) -> None:
    """Nobody can pay it."""
    finding = payee(net, Keypair.random().public_key)["payTo account"]
    assert (finding.level, "send some XLM" in finding.advice) == (Level.FAIL, True)


def test_an_account_without_a_trustline(net: LocalNet) -> None:
    """The chain would refuse each payment to it; the asset is named, as the operator has to trust it."""
    poor = Keypair.random().public_key
    net.state.fund(poor, trustline=False)
    found = payee(net, poor)
    assert found["payTo account"].level is Level.OK
    assert (found["payTo trustline"].level, "USDC:GBBD47" in found["payTo trustline"].seen) == (
        Level.FAIL,
        True,
    )


def test_a_contract_needs_no_trustline(net: LocalNet) -> None:
    """C… payees hold balances in the token itself."""
    assert {one.level for one in payee(net, net.state.config.token.contract).values()} == {Level.SKIPPED}


def test_a_token_that_is_not_there(net: LocalNet) -> None:
    """ASSET names a contract of another network, perhaps."""
    other = "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75"
    finding = payee(net, net.seller.public_key, other)["payTo account"]
    assert (finding.level, "ASSET" in finding.advice) == (Level.FAIL, True)


def test_an_issuer_needs_no_trustline(net: LocalNet) -> None:
    """What it is paid is burnt; it cannot trust itself."""
    issuer = net.state.config.token.issuer
    net.state.fund(issuer, trustline=False)
    assert payee(net, issuer)["payTo trustline"].level is Level.OK
    found = read_payee(StellarRpc(net.chain.url), issuer, net.state.config.token.contract)
    assert (found.exists, found.needs_trustline) == (True, False)


def frozen(line: xdr.TrustLineEntry) -> None:
    line.flags = xdr.Uint32(0)


def full(line: xdr.TrustLineEntry) -> None:
    line.limit = line.balance


def reserved(line: xdr.TrustLineEntry) -> None:
    """Offer to buy as much as there is room for."""
    rest = xdr.Liabilities(buying=xdr.Int64(MOST - line.balance.int64), selling=xdr.Int64(0))
    line.ext = xdr.TrustLineEntryExt(1, xdr.TrustLineEntryV1(rest, xdr.TrustLineEntryV1Ext(0)))


@pytest.mark.parametrize(
    ("change", "told"), [(frozen, "not authorised"), (full, "is full"), (reserved, "is full")]
)
def test_a_trustline_that_takes_nothing(
    net: LocalNet,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[xdr.TrustLineEntry], None],
    told: str,
) -> None:
    """Payments to it would fail on chain; the local one knows only trustlines without limits."""
    make = keys.trustline_entry

    def changed(*given: object) -> xdr.LedgerEntryData:
        entry = make(*given)  # type: ignore[arg-type]
        assert entry.trust_line is not None
        change(entry.trust_line)
        return entry

    monkeypatch.setattr(keys, "trustline_entry", changed)
    finding = payee(net, net.seller.public_key)["payTo trustline"]
    assert (finding.level, told in finding.seen) == (Level.FAIL, True)
