"""A payment that was made comes again after its claim is gone: retention, or a restored Redis (issue 9.4).

Red before: it was answered 402, for which reference clients sign and pay a second time.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from stellar_sdk import InvokeHostFunction, Keypair, TransactionEnvelope, xdr

from provider.chain.past import PastPayments
from provider.chain.rpc import StellarRpc
from provider.errors import ChainUnreachable, PaymentRejected, PaymentTooOld, PaymentUsed
from provider.jobs.claim.paid_call import UNKNOWN, PaidCall
from provider.jobs.claim.used import refuse_used
from provider.networks import PASSPHRASES, TESTNET
from provider.payments.models import PaymentPayload
from provider.platform import Platform
from provider.services import Registry, Service
from provider.settings import Settings
from tests.support.jobs import Wakeups, selling
from tests.support.localnet import LocalNet, running_localnet
from tests.support.payments import signed_payment

VALID_LEDGERS = 12
OLDER_LEDGERS = 200
"""The chain is older than any payment can be."""


@dataclass
class Shop:
    """A platform on a chain that closes ledgers when told, without any claim."""

    net: LocalNet
    platform: Platform
    service: Service

    def sign(self, signer: Keypair | None = None, **options: Any) -> PaymentPayload:
        expiration = self.net.state.latest.sequence + VALID_LEDGERS
        offer = self.platform.desk.quote(self.service)
        return signed_payment(offer, signer or self.net.buyer, expiration, **options)

    def paid(self) -> tuple[PaymentPayload, str]:
        """Make a payment on the chain of which this platform knows nothing."""
        payment = self.sign()
        settling = self.net.settling(payment)
        while not settling.done():
            self.net.state.close(1)
            time.sleep(0.05)
        return payment, settling.result()["transaction"]

    def call(self, payment: PaymentPayload) -> object:
        return self.platform.desk.call(self.service, dict, payment)


def with_another_nonce(payment: PaymentPayload) -> PaymentPayload:
    """Change what was signed, so that the signature does not fit."""
    envelope = TransactionEnvelope.from_xdr(payment.transaction, PASSPHRASES[TESTNET])
    operation = envelope.transaction.operations[0]
    assert isinstance(operation, InvokeHostFunction)
    credentials = operation.auth[0].credentials.address
    assert credentials is not None
    credentials.nonce = xdr.Int64(4711)
    return replace(payment, transaction=envelope.to_xdr())


@pytest.fixture
def shop(redis_url: str) -> Iterator[Shop]:
    registry: Registry = selling("after")
    with running_localnet(manual=True) as net:
        net.state.close(OLDER_LEDGERS)
        settings = Settings(
            redis_url=redis_url,
            pay_to=net.seller.public_key,
            asset=net.state.config.token.contract,
            facilitator_url=net.facilitator.url,
            stellar_rpc_urls=(net.chain.url,),
        )
        yield Shop(net, Platform(settings, registry, dispatcher=Wakeups()), registry.get("after"))


@pytest.mark.parametrize("ledgers", [0, VALID_LEDGERS + 1, 2_000], ids=["valid", "expired", "entry gone"])
def test_a_payment_that_landed_is_409_with_its_transaction(shop: Shop, ledgers: int) -> None:
    """By its nonce entry, and after that by the transfer in the RPC's history."""
    payment, transaction = shop.paid()
    shop.net.state.close(ledgers)
    with pytest.raises(PaymentUsed) as caught:
        shop.call(payment)
    assert (caught.value.status, caught.value.fields) == (409, {"transaction": transaction})


def test_one_that_nothing_is_known_of_any_more_is_no_402(shop: Shop) -> None:
    """Entry gone and history pruned."""
    payment, _ = shop.paid()
    shop.net.state.close(2_000)
    shop.net.chain.faults.add("prune", oldest=shop.net.state.latest.sequence - 10)
    with pytest.raises(PaymentTooOld):
        shop.call(payment)


def test_one_that_was_never_made_is_402(shop: Shop) -> None:
    """The buyer may sign another one."""
    payment = shop.sign()
    shop.net.state.close(VALID_LEDGERS + 1)
    with pytest.raises(PaymentRejected):
        shop.call(payment)


def test_while_the_chain_cannot_be_asked_it_is_no_402(shop: Shop) -> None:
    """It is 503, and the same payment may be sent again."""
    payment, _ = shop.paid()
    shop.net.state.close(VALID_LEDGERS + 1)
    assert shop.platform.clock.read()
    shop.net.chain.faults.add("rpc_down")
    with pytest.raises(ChainUnreachable):
        shop.call(payment)


def test_a_forged_one_asks_the_chain_nothing(shop: Shop) -> None:
    """Strangers would have each of their 402s cost calls of the RPC."""
    forged = with_another_nonce(shop.sign())
    shop.net.state.close(VALID_LEDGERS + 1)
    rpc = StellarRpc(shop.net.chain.url)
    past = PastPayments(rpc, shop.net.state.config.passphrase)
    call, offer = PaidCall.of(shop.service.name, forged, UNKNOWN), shop.platform.desk.quote(shop.service)
    with pytest.raises(PaymentRejected):
        refuse_used(past, call, offer)
    assert rpc.calls == 0
