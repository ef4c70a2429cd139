"""A chain, a store and claims whose settlement nobody knows: what the reconciler is for."""

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from redis import Redis
from stellar_sdk import Account, Asset, Keypair, TransactionBuilder, TransactionEnvelope, xdr

from provider.jobs.model.codec import dump_receipt
from provider.jobs.model.job import Draft, Job, Terms
from provider.jobs.model.job_id import place_for
from provider.jobs.model.status import Status
from provider.jobs.reconcile.run import Reconciler, ReconcileReport
from provider.jobs.settle.settler import Settler
from provider.jobs.store import keys
from provider.jobs.store.client import connect
from provider.jobs.store.durability import Durability
from provider.jobs.store.jobs import JobStore
from provider.localnet.chain.faults import Faults
from provider.localnet.chain.model import ChainConfig, Token
from provider.localnet.chain.rpc import Rpc
from provider.localnet.chain.server import ChainServer
from provider.localnet.chain.settings import TESTNET_TEMPORARY_TTL
from provider.localnet.chain.state import ChainState
from provider.networks import TESTNET
from provider.payments.facilitator import FacilitatorClient
from provider.payments.models import PaymentPayload, PaymentRequirements
from provider.payments.stellar.check import identify_payment
from provider.services import ChargePolicy
from provider.settings import Settings
from tests.support.counting import CountingRpc
from tests.support.jobs import Wakeups
from tests.support.payments import PASSPHRASES, signed_payment

PRICE = 500_000
VALID_LEDGERS = 12
WINDOW = TESTNET_TEMPORARY_TTL - 1
"""For so many ledgers after the claim an unused nonce proves that nothing was paid (standard §10)."""


@dataclass(frozen=True)
class Claim:
    """A job whose payment is uncertain, and that payment."""

    job: Job
    payment: PaymentPayload

    @property
    def id(self) -> str:
        return self.job.id

    @property
    def nonce(self) -> int:
        return self.job.terms.nonce


@dataclass
class Scene:
    """Everything around a reconciler; `rpcs` are the views that it has of the one chain."""

    state: ChainState
    servers: Sequence[ChainServer]
    redis_url: str
    buyer: Keypair = field(default_factory=Keypair.random)
    seller: Keypair = field(default_factory=Keypair.random)
    submitter: Keypair = field(default_factory=Keypair.random)
    wakeups: Wakeups = field(default_factory=Wakeups)
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(1, 1_000_000)))

    def __post_init__(self) -> None:
        self.own = Rpc(self.state, Faults())
        for keypair in (self.buyer, self.seller, self.submitter):
            self.state.fund(keypair.public_key, "1000")

    @cached_property
    def settings(self) -> Settings:
        return Settings(pay_to=self.seller.public_key, asset=self.asset, redis_url=self.redis_url)

    @property
    def asset(self) -> str:
        return self.state.config.token.contract

    @cached_property
    def store(self) -> JobStore:
        return JobStore(connect(self.redis_url))

    @property
    def redis(self) -> "Redis":
        return self.store.client

    @cached_property
    def settler(self) -> Settler:
        client = FacilitatorClient("http://127.0.0.1:9")
        durability = Durability(self.redis, timeout_ms=1000)
        return Settler(self.store, client, durability, self.wakeups, self.settings)

    @cached_property
    def rpcs(self) -> list[CountingRpc]:
        return [CountingRpc(server.url) for server in self.servers]

    @property
    def asked(self) -> Counter[str]:
        return self.rpcs[0].asked

    @property
    def faults(self) -> Faults:
        return self.servers[0].faults

    @property
    def ledger(self) -> int:
        return self.state.latest.sequence

    # The reconciler

    def reconcile(self, *, rpcs: int = 1, **options: Any) -> ReconcileReport:
        return Reconciler(self.store, self.rpcs[:rpcs], self.settler, self.settings).run(**options)

    def decide(self, claim: Claim, **options: Any) -> tuple[str, str]:
        """Reconcile everything, and give the verdict on one job with its reason."""
        decisions = {decision.job_id: decision for decision in self.reconcile(**options).decisions}
        return decisions[claim.id].verdict.value, decisions[claim.id].reason

    def job(self, claim: Claim) -> Job:
        return self.store.get(claim.id)

    # Claims

    def sign(self, payer: Keypair | None = None, **options: Any) -> PaymentPayload:
        amount, pay_to = options.pop("amount", PRICE), options.pop("pay_to", self.seller.public_key)
        offer = PaymentRequirements(TESTNET, self.asset, amount, pay_to, 60)
        expiration = options.pop("expiration", self.ledger + VALID_LEDGERS)
        return signed_payment(offer, payer or self.buyer, expiration, **options)

    def claim(self, charge: ChargePolicy = ChargePolicy.ON_SUCCESS, **options: Any) -> Claim:
        """Make a job whose settlement was begun and never answered, so that nobody knows how it ended.

        `hint` is the hash that the facilitator named, `claim_ledger` None means that the clock was away,
        `output` False that it got lost; `service`, `token` and those of `sign` may be given, too.
        """
        hint = options.pop("hint", "")
        claim = self.settling(charge, **options)
        note = {"settlement": f'{{"reason":"no_answer_in_time","transaction":"{hint}"}}'}
        assert self.store.move(self.job(claim), Status.PAYMENT_UNCERTAIN, note)
        return Claim(self.job(claim), claim.payment)

    def settling(self, charge: ChargePolicy, *, give_up_seconds: float = 60, **options: Any) -> Claim:
        """Make a job whose settlement was begun."""
        output, claim_ledger = options.pop("output", True), options.pop("claim_ledger", self.ledger)
        service = options.pop("service", "after" if charge is ChargePolicy.ON_SUCCESS else "before")
        expiration = options.setdefault("expiration", self.ledger + VALID_LEDGERS)
        payment = options.pop("payment", None) or self.sign(**options)
        job = self._running(service, terms_of(payment, charge, expiration, claim_ledger), output)
        assert self.store.begin_settlement(job, "settler", give_up_seconds=give_up_seconds)
        return Claim(self.store.get(job.id), payment)

    def _running(self, service: str, terms: Terms, output: bool) -> Job:
        job_id = f"{service}.{next(self.numbers):032x}"
        self.redis.zadd(keys.reserved(service), {place_for(job_id, terms.claim): 2**52})
        upfront = terms.charge.pays_first
        status = Status.PENDING if upfront else Status.QUEUED
        draft = Draft(status, terms, "{}", "[]", math.inf if upfront else 50, 120, 60)
        created = self.store.create(job_id, draft)
        assert created is not None
        job = created.job
        if upfront:
            return job
        self.store.move(job, Status.RUNNING, {"output": '{"a":1}'} if output else {})
        return self.store.get(job.id)

    # What happens on the chain

    def build(self, payment: PaymentPayload, source: Keypair | None = None) -> Any:
        """Build the transaction that a facilitator (or anybody) makes of a payment."""
        source = source or self.submitter
        known = self.state.account(source.public_key)
        assert known is not None
        signed = TransactionEnvelope.from_xdr(payment.transaction, PASSPHRASES[TESTNET])
        found = self.own.call("simulateTransaction", {"transaction": payment.transaction})
        assert "error" not in found, found["error"]
        data = xdr.SorobanTransactionData.from_xdr(found["transactionData"])
        call = signed.transaction.operations[0]
        account = Account(source.public_key, known.sequence)
        builder = TransactionBuilder(account, PASSPHRASES[TESTNET], base_fee=100).add_time_bounds(0, 0)
        envelope = builder.append_operation(call).set_soroban_data(data).build()
        envelope.sign(source)
        return envelope

    def send(self, envelope: Any, *, fails: bool = False) -> str:
        """Submit a transaction, close the ledger, and return the hash."""
        if fails:
            self.own.faults.add("fail_next")
        sent = self.own.call("sendTransaction", {"transaction": envelope.to_xdr()})
        assert sent["status"] == "PENDING", sent
        self.state.close()
        return str(sent["hash"])

    def land(self, payment: PaymentPayload, source: Keypair | None = None) -> str:
        """Have a payment settled in the next ledger."""
        return self.send(self.build(payment, source))

    def land_all(self, payments: Sequence[PaymentPayload]) -> list[str]:
        """Have many payments settled in one ledger, each by a submitter of its own."""
        hashes = []
        for payment in payments:
            source = Keypair.random()
            self.state.fund(source.public_key)
            envelope = self.build(payment, source)
            hashes.append(self.own.call("sendTransaction", {"transaction": envelope.to_xdr()})["hash"])
        self.state.close()
        return hashes

    def expire(self) -> None:
        """Let all payments of now run out."""
        self.state.close(VALID_LEDGERS + 1)

    def receipt(self, claim: Claim, tx_hash: str) -> None:
        """Have the facilitator name this transaction as the one that paid a settled job."""
        self.receipt_of(claim.id, claim.job.terms, tx_hash)

    def receipt_of(self, job_id: str, terms: Terms, tx_hash: str) -> None:
        self.redis.hset(keys.job(job_id), "receipt", dump_receipt(terms.receipt(tx_hash)))

    def expire_by_clock(self, claim: Claim) -> None:
        """Let a payment have run out by the clock of Redis, too: its job is audited from then on."""
        self.redis.hset(keys.job(claim.id), "expires_at_ms", self.store.now_ms())

    def rewrite_event(self, change: Any) -> None:
        """Change the event of the last transaction, to play another token or a newer protocol."""
        event = self.state.applied[-1].events[0].body.v0
        assert event is not None
        change(event)

    def received(self) -> int:
        """Atomic units that came from the buyer."""
        return sum(item.amount for item in self.state.transfers if item.recipient == self.seller.public_key)


def terms_of(
    payment: PaymentPayload, charge: ChargePolicy, expiration: int, claim_ledger: int | None
) -> Terms:
    identity = identify_payment(payment)
    return Terms(
        charge=charge,
        network=identity.network,
        asset=identity.asset,
        payer=identity.payer,
        pay_to=payment.accepted.pay_to,
        amount=payment.accepted.amount,
        nonce=identity.nonce,
        expiration_ledger=expiration,
        claim_ledger=claim_ledger,
        max_timeout_seconds=60,
    )


def own_token(issuer: str) -> Token:
    """Make a token of an account's own."""
    return Token("OWN", issuer, Asset("OWN", issuer).contract_id(PASSPHRASES[TESTNET]))


@contextmanager
def running_scene(redis_url: str, certificates: Path, **config: Any) -> Iterator[Scene]:
    """Open a scene on an empty Redis; two RPCs serve the same chain, each with faults of its own.

    `issuer` is the keypair of a seller with a token of its own, `age` how many ledgers the network has had.
    """
    age = config.pop("age", 0)
    issuer = config.pop("issuer", None)
    if issuer is not None:
        config["token"] = own_token(issuer.public_key)
    chain = ChainConfig(manual=True, **config)
    state = ChainState(chain, clock=lambda: time.time() - age * chain.ledger_seconds)
    state.close(age)
    servers = [ChainServer(state, tls_port=None, data_dir=certificates).start() for _ in range(2)]
    try:
        yield Scene(state, servers, redis_url, seller=issuer or Keypair.random())
    finally:
        for server in servers:
            server.stop()
