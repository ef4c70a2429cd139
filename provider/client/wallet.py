"""Signs payments within limits, writes them down before they are sent, and keeps what comes of them."""

import math
import os
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from provider.chain.pace import read_pace
from provider.client.durable import append
from provider.client.entry import dump_reply
from provider.client.errors import CannotSign, LimitReached, NoAcceptableOffer
from provider.client.evidence import ChainAnswer, ChainWitness, Standing
from provider.client.exchange import HttpReply
from provider.client.journal import Journal
from provider.client.limits import Limits, Quote
from provider.client.offers import Offer, Policy, choose, read_challenge
from provider.client.payload import payload_of
from provider.client.payment import Payment
from provider.client.reading import ServiceAddress
from provider.client.sign import signed_transfer, with_resources
from provider.client.signer import Signer
from provider.errors import HeaderTooLarge, PaymentRejected, RpcError
from provider.networks import PASSPHRASES, token_units
from provider.payments.headers import PAYMENT_REQUIRED, encode_payment_signature
from provider.payments.stellar.proof import HEADER as PAYER_PROOF
from provider.payments.stellar.proof import make_proof

MOST_AUDITED = 50
"""Payments that are looked up on the chain at a time, when a limit is reached."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One call to buy."""

    method: str
    url: str
    input: Any
    most: Decimal
    """The most that it may cost, in token units."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The offer to pay, and what the seller said beside it."""

    offer: Offer
    challenge: Mapping[str, Any]
    quote: Quote


class Wallet:
    """The money side of a buyer: one payer, one network, one journal."""

    def __init__(
        self,
        signer: Signer,
        rpc_url: str,
        *,
        journal: Journal,
        limits: Limits,
        network: str,
        assets: Collection[str] = (),
        ledger_seconds: float | None = None,
        credentials: str = "v1",
        receipts: str | os.PathLike[str] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.signer, self.journal, self.limits, self.now = signer, journal, limits, now
        self.witness = ChainWitness(rpc_url)
        self._policy = Policy(signer.address, network, assets, limits.payees)
        self._ledger_seconds, self._credentials = ledger_seconds, credentials
        self._receipts = Path(receipts) if receipts is not None else None

    # Before anything is paid: every way out raises NothingPaid

    def choose(self, wanted: Wanted, reply: HttpReply) -> Chosen:
        """Read a 402 and choose what to pay."""
        challenge = read_challenge(reply.headers.get(PAYMENT_REQUIRED.lower()), reply.content)
        offer = choose(challenge, self._policy, wanted.most)
        with _nothing_sent():
            self._within_budget(lambda: self.journal.check(self._budget_of(offer)))
        return Chosen(offer, challenge, _quote(wanted, offer, challenge))

    def sign(self, wanted: Wanted, chosen: Chosen) -> Payment:
        """Sign a payment and write it down; it has not left the process yet."""
        with _nothing_sent():
            payment = self._signed(wanted, chosen)
            budget = self._budget_of(chosen.offer)
            self._within_budget(lambda: self.journal.reserve(payment, budget))
        return payment

    def _signed(self, wanted: Wanted, chosen: Chosen) -> Payment:
        terms, rpc = chosen.offer.terms, self.witness.rpc
        if rpc.passphrase() != PASSPHRASES[terms.network]:
            raise CannotSign(f"The RPC does not serve {terms.network}.")
        pace, nonce = read_pace(rpc), secrets.randbits(63)
        seconds = self._ledger_seconds or pace.rounded_up
        expiration = pace.latest_ledger + math.ceil(terms.max_timeout_seconds / seconds)
        operation = signed_transfer(terms, self.signer, expiration, self._credentials, nonce)
        transaction = with_resources(operation, terms.network, self.witness.node)
        identifier = f"pay_{secrets.token_hex(16)}"
        payload = payload_of(chosen.offer, chosen.challenge, transaction, identifier)
        seller = _seller(chosen.challenge)
        return Payment(
            id=identifier,
            signed_at=self.now(),
            method=wanted.method,
            url=wanted.url,
            input=wanted.input,
            header=encode_payment_signature(payload),
            network=terms.network,
            asset=terms.asset,
            amount=terms.amount,
            pay_to=terms.pay_to,
            payer=self.signer.address,
            nonce=nonce,
            expiration_ledger=expiration,
            signed_ledger=pace.latest_ledger,
            service=seller.service if seller else "",
            public_url=seller.base if seller else "",
        )

    def _budget_of(self, offer: Offer) -> Callable[[list[Payment]], None]:
        return lambda counted: self.limits.check_budget(offer.terms, counted, self.now())

    def _within_budget(self, attempt: Callable[[], None]) -> None:
        """Try; if a limit is in the way, ask the chain which payments were never made, and try again."""
        try:
            attempt()
        except LimitReached:
            if not self._release_unpaid():
                raise
            attempt()

    def _release_unpaid(self) -> bool:
        released = False
        undecided = [entry for entry in self.journal.entries() if entry.standing is Standing.OPEN]
        for entry in undecided[:MOST_AUDITED]:
            evidence = self.witness.look(entry.payment, entry.transaction)
            if evidence.standing is not Standing.OPEN:
                self.journal.record(entry.payment.id, **_facts(evidence))
                released = released or evidence.standing is Standing.UNPAID
        return released

    # Afterwards: nothing raises

    def proof(self, payment: Payment) -> dict[str, str]:
        """Prove that the payer itself asks again (standard J3); only our kind of seller reads it."""
        sign = self.signer.sign
        if sign is None or not payment.service or payment.payer != self.signer.address:
            return {}
        service, nonce, url = payment.service, payment.nonce, payment.public_url
        try:
            proof = make_proof(sign, service=service, nonce=nonce, public_url=url, now=self.now())
        except Exception:  # A key that is kept elsewhere may be out of reach; most resends need no proof.
            return {}
        return {PAYER_PROOF: proof}

    def keep(self, payment: Payment, reply: HttpReply, kind: str) -> tuple[str, ...]:
        """Save an answer before anything is done with it; returns what went wrong."""
        facts = {"kind": kind, "reply": dump_reply(reply)}
        return _noted("The journal", lambda: self.journal.record(payment.id, **facts))

    def close(
        self, payment: Payment, evidence: ChainAnswer, line: bytes, *, finished: bool
    ) -> tuple[str, ...]:
        """Write the receipt, then the end of the purchase; returns what went wrong."""
        facts = {**_facts(evidence), "finished": finished}
        written = _noted("The file of receipts", lambda: append(self._receipts, line))
        return (*written, *_noted("The journal", lambda: self.journal.record(payment.id, **facts)))


@contextmanager
def _nothing_sent() -> Iterator[None]:
    try:
        yield
    except (PaymentRejected, RpcError) as error:
        raise CannotSign(f"The payment cannot be signed: {error.detail}") from error
    except HeaderTooLarge:
        raise NoAcceptableOffer("The seller wants more sent back than fits into a header.") from None
    except OSError as error:
        raise CannotSign(f"The journal cannot be written, so nothing is sent: {error}") from error


def _quote(wanted: Wanted, offer: Offer, challenge: Mapping[str, Any]) -> Quote:
    resource = challenge.get("resource")
    description = resource.get("description") if isinstance(resource, Mapping) else None
    text = description if isinstance(description, str) else ""
    return Quote(wanted.url, wanted.input, token_units(offer.terms.amount), offer.terms, text)


def _seller(challenge: Mapping[str, Any]) -> ServiceAddress | None:
    """Find the public address of our kind of seller in what it calls the resource."""
    resource = challenge.get("resource")
    url = resource.get("url") if isinstance(resource, Mapping) else None
    return ServiceAddress.of(url) if isinstance(url, str) else None


def _facts(evidence: ChainAnswer) -> dict[str, Any]:
    found = {"standing": str(evidence.standing), "ledger": evidence.ledger}
    return found | ({"transaction": evidence.transaction} if evidence.transaction else {})


def _noted(what: str, write: Callable[[], None]) -> tuple[str, ...]:
    try:
        write()
    except (OSError, ValueError) as error:
        return (f"{what} cannot be written: {error}",)
    return ()
