"""A buyer that uses nothing of this project: HTTP, a key with play money, and the public chain."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import requests
from stellar_sdk import Keypair, scval
from stellar_sdk.contract import ContractClient

from provider.client import sign_payment
from provider.networks import PASSPHRASES
from provider.payments.headers import (
    MAX_ANSWER_CHARS,
    PAYMENT_REQUIRED,
    PAYMENT_RESPONSE,
    PAYMENT_SIGNATURE,
    decode_object,
    encode_payment_signature,
)
from provider.payments.models import PaymentRequirements
from provider.payments.schemas import dump_payload, load_payment_required

ASK_SECONDS = 40
LOOK_SECONDS = 0.4
OPEN = ("pending", "queued", "running", "payment_uncertain")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer, and how long it took."""

    status: int
    body: Json
    seconds: float
    receipt: Json = field(default_factory=dict)
    """The decoded PAYMENT-RESPONSE, if there was one."""
    offer: PaymentRequirements | None = None
    """What the service costs, on a 402."""


class Stranger:
    """Asks, signs, pays and looks at balances."""

    def __init__(self, platform: Json) -> None:
        self._platform = platform
        self._keypair = Keypair.from_secret(platform["buyer_secret"])
        self._http = requests.Session()
        self._http.trust_env = False

    def call(self, service: str, value: Json, payment: str | None = None) -> Answer:
        """Call a service, with a payment or without."""
        headers = {PAYMENT_SIGNATURE: payment} if payment else {}
        began = time.monotonic()
        url = f"{self._platform['web_url']}/run/{service}"
        answer = self._http.post(url, json=value, headers=headers, timeout=ASK_SECONDS)
        return _read(answer, time.monotonic() - began)

    def sign(self, offer: PaymentRequirements) -> str:
        """Sign a transfer that pays an offer; nothing is sent yet."""
        payment = sign_payment(
            offer,
            self._keypair,
            rpc_url=self._platform["rpc_url"],
            ledger_seconds=self._platform["ledger_seconds"],
        )
        return encode_payment_signature(dump_payload(payment))

    def follow(self, job_id: str, seconds: float = 60) -> Iterator[Json]:
        """Look at a job again and again, until it is final or the time is over."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            job: Json = self._http.get(
                f"{self._platform['web_url']}/jobs/{job_id}", timeout=ASK_SECONDS
            ).json()
            yield job
            if job["status"] not in OPEN:
                return
            time.sleep(LOOK_SECONDS)

    def balances(self) -> dict[str, int]:
        """Ask the token contract what the buyer and the payee own, in atomic units."""
        return {name: self._balance(self._platform[name]) for name in ("buyer", "payTo")}

    def _balance(self, account: str) -> int:
        platform = self._platform
        token = ContractClient(platform["asset"], platform["rpc_url"], PASSPHRASES[platform["network"]])
        call = token.invoke(
            "balance", [scval.to_address(account)], parse_result_xdr_fn=lambda value: scval.from_int128(value)
        )
        amount = call.result()
        assert isinstance(amount, int)
        return amount


def _read(answer: requests.Response, seconds: float) -> Answer:
    receipt, offer = answer.headers.get(PAYMENT_RESPONSE), answer.headers.get(PAYMENT_REQUIRED)
    challenge = load_payment_required(decode_object(offer, max_chars=MAX_ANSWER_CHARS)) if offer else None
    return Answer(
        answer.status_code,
        answer.json(),
        seconds,
        decode_object(receipt, max_chars=MAX_ANSWER_CHARS) if receipt else {},
        challenge.accepts[0] if challenge else None,
    )
