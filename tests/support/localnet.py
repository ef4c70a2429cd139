"""A local network in this process: chain, facilitator, a buyer with money, a seller with a trustline."""

import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import requests
from stellar_sdk import Address, Keypair

from provider.client import sign_payment
from provider.facilitator.config import FacilitatorConfig
from provider.facilitator.server import FacilitatorServer
from provider.localnet.chain.model import ChainConfig
from provider.localnet.chain.server import ChainServer
from provider.localnet.chain.state import ChainState
from provider.payments.models import PaymentPayload, PaymentRequirements
from provider.payments.schemas import dump_payload, dump_requirements
from tests.support.payments import envelope, signed_entry, transfer

PRICE = 10_000


@dataclass
class LocalNet:
    """Everything a payment test needs; `options` are those of FacilitatorConfig."""

    chain: ChainServer
    secret: str
    options: dict[str, Any]
    buyer: Keypair
    seller: Keypair
    http: requests.Session = field(default_factory=requests.Session)
    facilitator: FacilitatorServer = field(init=False)

    @property
    def state(self) -> ChainState:
        return self.chain.state

    @property
    def received(self) -> int:
        """Atomic units that the seller got."""
        return self.state.balance(self.seller.public_key)

    @property
    def sent(self) -> list[str]:
        """Hashes of all transactions that were ever included or wait to be."""
        waiting = [item.envelope.hash.hex() for item in self.state.queue]
        return [item.envelope.hash.hex() for item in self.state.applied] + waiting

    def config(self, **changes: Any) -> FacilitatorConfig:
        return FacilitatorConfig(rpc_url=self.chain.url, secret=self.secret, **{**self.options, **changes})

    def start_facilitator(self, **changes: Any) -> FacilitatorServer:
        """Start one in place of the present one, as after a crash."""
        config = self.config(**changes)
        for keypair in config.keypairs():
            if self.state.account(keypair.public_key) is None:
                self.state.fund(keypair.public_key)
        self.facilitator = FacilitatorServer(config).start()
        return self.facilitator

    def requirements(self, amount: int = PRICE, **changes: Any) -> PaymentRequirements:
        given: dict[str, Any] = {
            "network": "stellar:testnet",
            "asset": self.state.config.token.contract,
            "amount": amount,
            "pay_to": self.seller.public_key,
            "max_timeout_seconds": 60 if self.state.config.manual else 600,
            "extra": {"areFeesSponsored": True},
        }
        return PaymentRequirements(**{**given, **changes})

    def payment(self, requirements: PaymentRequirements | None = None, **options: Any) -> PaymentPayload:
        """Sign a payment, by default for the ledgers that this network's facilitator takes for granted."""
        options = {"rpc_url": self.chain.url, "ledger_seconds": 5.0, **options}
        return sign_payment(requirements or self.requirements(), self.buyer, **options)

    def post(
        self, path: str, payment: PaymentPayload, requirements: PaymentRequirements | None = None
    ) -> Any:
        offer = dump_requirements(requirements or payment.accepted)
        return self.post_wire(path, {"paymentPayload": dump_payload(payment), "paymentRequirements": offer})

    def payment_of(self, wallet: str, signer: Keypair) -> PaymentPayload:
        """Pay from a contract wallet: `signer` signs as its owner, whether it is or not."""
        offer = self.requirements()
        call = transfer(offer, wallet)
        passphrase, expiration = self.state.config.passphrase, self.state.latest.sequence + 12
        entry = signed_entry(call, signer, expiration, secrets.randbits(63), passphrase, "address")
        assert entry.credentials.address is not None
        entry.credentials.address.address = Address(
            wallet
        ).to_xdr_sc_address()  # The signature leaves it out.
        return PaymentPayload(offer, envelope(call, [entry], passphrase))

    def ask(self, path: str, payment: PaymentPayload, url: str | None = None) -> requests.Response:
        body = {
            "paymentPayload": dump_payload(payment),
            "paymentRequirements": dump_requirements(payment.accepted),
        }
        return self.http.post((url or self.facilitator.url) + path, json=body, timeout=30)

    def post_wire(self, path: str, body: dict[str, Any]) -> Any:
        """Ask the facilitator over HTTP; refusals have status 200, too."""
        answer = self.http.post(self.facilitator.url + path, json={"x402Version": 2, **body}, timeout=30)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def verify(self, payment: PaymentPayload, requirements: PaymentRequirements | None = None) -> Any:
        return self.post("/verify", payment, requirements)

    def settle(self, payment: PaymentPayload, requirements: PaymentRequirements | None = None) -> Any:
        return self.post("/settle", payment, requirements)

    def settling(self, payment: PaymentPayload) -> Future[Any]:
        """Settle in the background."""
        pool = ThreadPoolExecutor(1)
        future = pool.submit(self.settle, payment)
        pool.shutdown(wait=False)
        return future

    def change_account(self, **changes: Any) -> None:
        """Do to the facilitator's account what its owner might do elsewhere."""
        address = self.config().keypairs()[0].public_key
        with self.state.lock:
            account = self.state.account(address)
            assert account is not None
            self.state.accounts[address].put(self.state.latest.sequence, replace(account, **changes))

    def settle_many(self, payments: list[PaymentPayload]) -> list[Any]:
        """Settle all at once; each answer in the order of the payments."""
        with ThreadPoolExecutor(len(payments)) as pool:
            return list(pool.map(self.settle, payments))


@contextmanager
def running_localnet(
    state_dir: Path | None = None,
    *,
    manual: bool = False,
    close_seconds: float = 0.2,
    keys: dict[str, Keypair] | None = None,
    **options: Any,
) -> Iterator[LocalNet]:
    """Run a network. A manual chain closes ledgers when told, each after 5 s of its time.

    `close_seconds` are those of the chain, which parties take for `ledger_seconds`; `keys` are those of
    facilitator, buyer and seller, where recorded payments need them.
    """
    keys = keys or {name: Keypair.random() for name in ("facilitator", "buyer", "seller")}
    state = ChainState(ChainConfig(manual=manual, ledger_seconds=5 if manual else close_seconds))
    defaults = {"poll_seconds": 0.02, "wait_seconds": 10, "state_dir": state_dir, "channels": 1}
    with ChainServer(state, tls_port=None) as chain:
        secret, settings = keys["facilitator"].secret, {**defaults, **options}
        net = LocalNet(chain, secret, settings, keys["buyer"], keys["seller"])
        state.fund(net.buyer.public_key, "100")
        state.fund(net.seller.public_key)
        net.start_facilitator()
        try:
            yield net
        finally:
            net.facilitator.stop()


def eventually(condition: Callable[[], Any], seconds: float = 10) -> Any:
    """Wait until something is true, and return it."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it never became true"
        time.sleep(0.01)
    return found
