"""Payments with every fate that the chain can give them, on one chain, and every way to ask about them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

from stellar_sdk import Keypair, xdr

from provider.chain.rpc import StellarRpc, result_of
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.reconcile.decide import Decision
from provider.jobs.reconcile.quorum import Quorum
from provider.localnet.chain import keys
from provider.localnet.chain.faults import Faults
from provider.localnet.chain.model import ChainConfig
from provider.localnet.chain.rpc import Rpc
from provider.localnet.chain.state import ChainState
from provider.payments.models import PaymentPayload
from provider.services import ChargePolicy
from provider.settings import Settings
from tests.support.reconciling import Scene, terms_of
from tests.support.strangers import extend, touch

WINDOW = 24
"""Ledgers that an entry lives after its own, on this network."""
VALID = 10
"""Ledgers that each payment is valid for."""

FATES = ("unpaid", "paid", "spent elsewhere", "FAILED", "FAILED, then paid")
TOUCHES = ("never", "before the expiration", "after it", "before and after it")
TIMES = ("before the expiration", "after it", "when an entry may have gone")
HINTS = ("right", "wrong", "none")
HISTORIES = ("whole", "from before the use", "from after the use", "from after the expiration")
ENTRIES = (
    "live, written by the expiration",
    "live, written after it",
    "none",
    "none, and the window is over",
)
RPCS = ("one", "two", "the second is behind", "the first lost the entries")


@dataclass(frozen=True)
class Fate:
    """What becomes of a payment."""

    money: str
    touched: str
    extended: bool

    @property
    def is_paid(self) -> bool:
        return self.money in ("paid", "FAILED, then paid")

    def entry(self, time: str) -> str:
        """Say what there is of a nonce entry at a time."""
        if time == TIMES[2] and self.is_used and not self.extended:
            return ENTRIES[3]
        if not self.is_used:
            return ENTRIES[3] if time == TIMES[2] else ENTRIES[2]
        late = time != TIMES[0] and self.touched in TOUCHES[2:]
        return ENTRIES[1] if late else ENTRIES[0]

    @property
    def is_used(self) -> bool:
        return self.use != "unused"

    @property
    def use(self) -> str:
        """Say what the nonce was used for."""
        return "paid" if self.is_paid else self.money if self.money == "spent elsewhere" else "unused"


@dataclass(frozen=True)
class Asked:
    """When and how the RPCs are asked."""

    time: str
    hint: str
    history: str
    rpcs: str


@dataclass(frozen=True)
class Cell:
    """One cell of the table, with what was decided in it."""

    fate: Fate
    asked: Asked
    decision: Decision


class Node(StellarRpc):
    """An RPC in this process, with faults of its own; it keeps its answers, since asking changes nothing."""

    def __init__(self, state: ChainState, answers: dict[str, bytes], *, forgets: bool = False) -> None:
        super().__init__(f"in-process://{id(self)}")
        self.faults = Faults()
        self._rpc = Rpc(state, self.faults)
        self._answers = answers
        self._forgets = forgets

    def call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Answer as over HTTP; one that `forgets` has lost all nonce entries."""
        result = result_of(method, json.loads(self._answer(method, params)))
        if method == "getLedgerEntries" and self._forgets:
            kept = [item for item in result["entries"] if not _is_nonce(item["key"])]
            result = {**result, "entries": kept}
        return result

    def _answer(self, method: str, params: dict[str, Any] | None) -> bytes:
        request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        faults = [fault.as_json() for fault in self.faults.listed()]
        key = f"{self._rpc.state.latest.sequence} {faults} {request}"
        if key not in self._answers:
            self._answers[key] = self._rpc.answer(request.encode())
        return self._answers[key]


def _is_nonce(key: str) -> bool:
    data = xdr.LedgerKey.from_xdr(key).contract_data
    return data is not None and data.key.nonce_key is not None


@dataclass
class Payment:
    """A payment with a fate, its job, and the transactions that a facilitator may name for it."""

    fate: Fate
    payload: PaymentPayload
    job: Job
    other: PaymentPayload
    """An equal payment by the same payer: what a wrong hash is of."""
    charged: bool = False
    """What its record says, once it is settled."""
    hashes: dict[str, str] = field(default_factory=lambda: {"right": "ab" * 32, "wrong": "", "none": ""})

    @property
    def nonce(self) -> int:
        return self.job.terms.nonce

    @property
    def key(self) -> xdr.LedgerKey:
        return keys.nonce_key(self.job.terms.payer, self.nonce)


def make_chain() -> ChainState:
    """Start a chain that keeps entries for a short time."""
    return ChainState(ChainConfig(manual=True, min_temporary_ttl=WINDOW + 1))


@dataclass
class Table:
    """All payments on one chain: `play` lets its ledgers close, and pauses where questions are asked."""

    scene: Scene = field(default_factory=lambda: Scene(make_chain(), (), ""))
    records: Sequence[bool] = (False,)
    """Each payment is there once for each of these, as what a settled job says about its charge."""

    def __post_init__(self) -> None:
        self.state = self.scene.state
        self._answers: dict[str, bytes] = {}
        self.first = self.scene.ledger
        self.expiration = self.first + VALID
        fates = [Fate(*parts) for parts in product(FATES, TOUCHES, (False, True))]
        self.payments = [self._payment(fate, charged) for fate in fates for charged in self.records]

    @cached_property
    def settings(self) -> Settings:
        return Settings(pay_to=self.scene.seller.public_key, asset=self.scene.asset)

    def _payment(self, fate: Fate, charged: bool) -> Payment:
        payload, other = (self.scene.sign(expiration=self.expiration) for _ in range(2))
        terms = terms_of(payload, ChargePolicy.ON_SUCCESS, self.expiration, self.first)
        job = Job(f"after.{terms.nonce:032x}", 1, Status.PAYMENT_UNCERTAIN, terms, "{}", 0, 0)
        return Payment(fate, payload, job, other, charged)

    # The history

    def play(self) -> Iterator[str]:
        """Close the ledgers, and give each time at which to ask."""
        self._land([(one, "wrong", one.other) for one in self.payments])  # Equal payments, of other claims.
        failed = self._with("FAILED", "FAILED, then paid")
        self._land([(one, "right", one.payload) for one in failed], fails=True)
        self.use = self.scene.ledger + 1
        paid = [(one, "right", one.payload) for one in self._with("paid", "FAILED, then paid")]
        cheap = [(one, "right", self._cheap(one)) for one in self._with("spent elsewhere")]
        self._land([*paid, *cheap])
        extend(self.state, [one.key for one in self.payments if one.fate.extended], 10_000)
        self._touch("before the expiration")
        yield TIMES[0]
        self.state.close(self.expiration - self.scene.ledger)
        self._touch("after it")
        yield TIMES[1]
        self.state.close(max(self.expiration, self.use + WINDOW) - self.scene.ledger + 1)
        yield TIMES[2]

    def _with(self, *fates: str) -> list[Payment]:
        return [one for one in self.payments if one.fate.money in fates]

    def _cheap(self, payment: Payment) -> PaymentPayload:
        return self.scene.sign(nonce=payment.nonce, amount=1, expiration=self.expiration)

    def _touch(self, when: str) -> None:
        marks = {"before the expiration": TOUCHES[1], "after it": TOUCHES[2]}
        touched = [one.key for one in self.payments if one.fate.touched in (marks[when], TOUCHES[3])]
        touch(self.state, *touched)

    def _land(self, payments: Sequence[tuple[Payment, str, PaymentPayload]], *, fails: bool = False) -> None:
        """Have payments settled in the next ledger, and keep their hashes as hints."""
        for payment, name, payload in payments:
            source = Keypair.random()
            self.state.fund(source.public_key)
            if fails:
                self.scene.own.faults.add("fail_next")
            envelope = self.scene.build(payload, source)
            sent = self.scene.own.call("sendTransaction", {"transaction": envelope.to_xdr()})
            assert sent["status"] == "PENDING", sent
            payment.hashes[name] = sent["hash"]
        self.state.close()

    # The questions

    def ask(self, time: str) -> Iterator[Cell]:
        """Decide all payments in every way to ask now."""
        for hint, history, rpcs in product(HINTS, HISTORIES, RPCS):
            asked = Asked(time, hint, history, rpcs)
            jobs = [hinted(one.job, one.hashes[hint]) for one in self.payments]
            decisions = Quorum(self.nodes(asked), self.settings).decide(jobs)
            for payment, decision in zip(self.payments, decisions, strict=True):
                yield Cell(payment.fate, asked, decision)

    def nodes(self, asked: Asked) -> list[Node]:
        """Open the RPCs that are asked."""
        count = 1 if asked.rpcs == "one" else 2
        lost = [asked.rpcs == RPCS[3], False][:count]
        nodes = [Node(self.state, self._answers, forgets=forgets) for forgets in lost]
        oldest = {"from before the use": self.use, "from after the use": self.use + 1}
        oldest["from after the expiration"] = self.scene.ledger
        for node in nodes:
            if asked.history in oldest:
                node.faults.add("prune", oldest=oldest[asked.history])
        if asked.rpcs == RPCS[2]:
            nodes[1].faults.add("lag", ledgers=self.scene.ledger - self.first)
        return nodes


def hinted(job: Job, tx_hash: str) -> Job:
    """Have the facilitator name a transaction."""
    return replace(job, settlement={"transaction": tx_hash} if tx_hash else {})
