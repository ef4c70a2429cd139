"""Buy a call: get the price, sign once, and hold on to that one payment until there is an answer.

For every 402 the reference clients sign another payment (facts D2). This one signs a single payment for a
call, and sends that again after lost replies and refusals for now: the provider gives the same job (J3).
"""

import time
from collections.abc import Callable, Collection
from decimal import Decimal
from typing import Any

import requests
from stellar_sdk import Keypair

from provider.client.call import Call, Waiting
from provider.client.errors import CallRefused
from provider.client.offers import choose, identifier_extension
from provider.client.purchase import Purchase
from provider.client.sign import sign_payment
from provider.errors import CallError
from provider.payments.headers import (
    MAX_ANSWER_CHARS,
    PAYMENT_REQUIRED,
    decode_object,
    decode_payment_signature,
    encode_payment_signature,
)
from provider.payments.models import PaymentChallenge, PaymentRequirements
from provider.payments.schemas import dump_payload, load_payment_required


class Buyer:
    """Pays for calls from one G account. `max_price` in token units, for each call."""

    def __init__(
        self,
        keypair: Keypair,
        rpc_url: str,
        *,
        max_price: Decimal = Decimal(1),
        networks: Collection[str] = ("stellar:testnet",),
        assets: Collection[str] = (),
        ledger_seconds: float = 5.0,
        credentials: str = "v1",
        session: requests.Session | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keypair, self._rpc_url, self._max_price = keypair, rpc_url, max_price
        self._networks, self._assets = networks, assets
        self._ledger_seconds, self._credentials = ledger_seconds, credentials
        self._session = session or requests.Session()
        self._sleep, self._clock = sleep, clock

    def buy(
        self, url: str, json: Any = None, *, wait: float = 120, max_price: Decimal | None = None
    ) -> Purchase:
        """Call a service and pay for it; give up waiting, not the payment, after `wait` seconds.

        Raises:
            CallRefused, NoAcceptableOffer: nothing was signed.
            PaymentRefused: the service does not take the payment.
            NoAnswer: whether the payment was used is not known; `resume` with its header.
        """
        call = self._call(url, json, wait)
        answer = call.ask()
        if answer.status_code != 402:
            return call.without_payment(answer)
        challenge = read_challenge(answer)
        limit = self._max_price if max_price is None else max_price
        offer = choose(challenge, max_price=limit, networks=self._networks, assets=self._assets)
        return call.pay(self._sign(offer, challenge), offer)

    def resume(self, url: str, json: Any, header: str, *, wait: float = 120) -> Purchase:
        """Send a payment again that was signed for this very call."""
        offer = decode_payment_signature(header).accepted
        return self._call(url, json, wait).pay(header, offer)

    def _call(self, url: str, json: Any, wait: float) -> Call:
        return Call(self._session, url, json, Waiting(wait, self._sleep, self._clock))

    def _sign(self, offer: PaymentRequirements, challenge: PaymentChallenge) -> str:
        payment = sign_payment(
            offer,
            self._keypair,
            rpc_url=self._rpc_url,
            ledger_seconds=self._ledger_seconds,
            credentials=self._credentials,
            resource=challenge.resource,
            extensions=identifier_extension(challenge),
        )
        return encode_payment_signature(dump_payload(payment))


def read_challenge(answer: requests.Response) -> PaymentChallenge:
    """Read a 402, from its header or, where a proxy took that away, from its body."""
    try:
        text = answer.headers.get(PAYMENT_REQUIRED)
        body = decode_object(text, max_chars=MAX_ANSWER_CHARS) if text else answer.json()
        return load_payment_required(body)
    except (CallError, ValueError) as error:
        raise CallRefused(f"The 402 answer cannot be read: {error}") from None
