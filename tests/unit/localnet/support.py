"""A small chain with a payer, a merchant and a facilitator, and the steps of one payment."""

from dataclasses import dataclass, field
from typing import Any

from stellar_sdk import Account, InvokeHostFunction, Keypair, TransactionBuilder, scval, xdr
from stellar_sdk.auth import authorize_entry

from provider.localnet.chain.faults import Faults
from provider.localnet.chain.model import NULL_ACCOUNT, ChainConfig
from provider.localnet.chain.rpc import Rpc
from provider.localnet.chain.state import ChainState

NOW = 1_796_007_119
Kinds = xdr.SorobanCredentialsType


class FakeClock:
    """Seconds that only a test moves."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@dataclass
class Town:
    """`pay` goes all the way; the other methods are its steps, for tests that leave the way."""

    state: ChainState
    faults: Faults = field(default_factory=Faults)
    payer: Keypair = field(default_factory=Keypair.random)
    merchant: Keypair = field(default_factory=Keypair.random)
    facilitator: Keypair = field(default_factory=Keypair.random)
    pauses: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rpc = Rpc(self.state, self.faults, pause=self.pauses.append)
        self.state.fund(self.payer.public_key, "100")
        self.state.fund(self.merchant.public_key)
        self.state.fund(self.facilitator.public_key)

    @property
    def ledger(self) -> int:
        return self.state.latest.sequence

    @property
    def passphrase(self) -> str:
        return self.state.config.passphrase

    def builder(self, source: str = NULL_ACCOUNT, sequence: int = 0, fee: int = 100) -> TransactionBuilder:
        return TransactionBuilder(Account(source, sequence), self.passphrase, base_fee=fee).add_time_bounds(
            0, 0
        )

    def call(self, *args: xdr.SCVal, function: str = "transfer") -> str:
        """An unsigned call of the token, as clients simulate it."""
        token = self.state.config.token.contract
        return self.builder().append_invoke_contract_function_op(token, function, args).build().to_xdr()

    def transfer(self, amount: int = 10_000, payer: str = "", to: str = "") -> str:
        sender, recipient = payer or self.payer.public_key, to or self.merchant.public_key
        return self.call(scval.to_address(sender), scval.to_address(recipient), scval.to_int128(amount))

    def simulate(self, transaction: str, **params: Any) -> dict[str, Any]:
        return self.rpc.call("simulateTransaction", {"transaction": transaction, **params})

    def authorize(
        self, transaction: str, signer: Keypair | None = None, expiration: int = 0, **params: Any
    ) -> xdr.SorobanAuthorizationEntry:
        """Simulate, and sign what the simulation asks for."""
        entry = self.simulate(transaction, **params)["results"][0]["auth"][0]
        return authorize_entry(entry, signer or self.payer, expiration or self.ledger + 12, self.passphrase)

    def settlement(
        self,
        transaction: str,
        auth: list[xdr.SorobanAuthorizationEntry],
        source: Keypair | None = None,
        signer: Keypair | None = None,
        **changes: Any,
    ) -> Any:
        """A signed transaction of the facilitator around the call. `changes`: data, sequence, fee, bounds."""
        source = source or self.facilitator
        known = self.state.account(source.public_key)
        sequence = changes.get("sequence", known.sequence if known else 0)
        builder = self.builder(source.public_key, sequence, changes.get("fee", 100))
        if "bounds" in changes:
            builder.time_bounds = None
            builder.add_time_bounds(*changes["bounds"])
        function = host_function(transaction)
        builder.append_operation(InvokeHostFunction(function, auth=auth))
        data = changes.get("data") or self.data(transaction)
        envelope = builder.set_soroban_data(data).build()
        envelope.sign(signer or source)
        return envelope

    def data(self, transaction: str, entry: xdr.SorobanAuthorizationEntry | None = None) -> Any:
        """The resources of the call; with an entry the nonce in the footprint is that of the entry."""
        text = self.simulate(transaction if entry is None else with_auth(self, transaction, entry))
        return xdr.SorobanTransactionData.from_xdr(text["transactionData"])

    def ready(self, amount: int = 10_000, expiration: int = 0, **changes: Any) -> Any:
        """A signed settlement of a fresh payment."""
        call = self.transfer(amount)
        entry = self.authorize(call, expiration=expiration)
        return self.settlement(call, [entry], data=self.data(call, entry), **changes)

    def send(self, envelope: Any) -> dict[str, Any]:
        return self.rpc.call("sendTransaction", {"transaction": envelope.to_xdr()})

    def get(self, tx_hash: str) -> dict[str, Any]:
        return self.rpc.call("getTransaction", {"hash": tx_hash})

    def pay(self, amount: int = 10_000) -> str:
        """Pay, close the ledger, and return the hash."""
        sent = self.send(self.ready(amount))
        assert sent["status"] == "PENDING"
        self.state.close()
        return str(sent["hash"])

    def balances(self) -> tuple[int, int]:
        return self.state.balance(self.payer.public_key), self.state.balance(self.merchant.public_key)


def manual_town(**config: Any) -> Town:
    return Town(ChainState(ChainConfig(manual=True, **config), clock=FakeClock()))


def host_function(transaction: str) -> xdr.HostFunction:
    envelope = xdr.TransactionEnvelope.from_xdr(transaction)
    assert envelope.v1 is not None
    operation = envelope.v1.tx.operations[0].body.invoke_host_function_op
    assert operation is not None
    return operation.host_function


def with_auth(town: Town, transaction: str, entry: xdr.SorobanAuthorizationEntry) -> str:
    operation = InvokeHostFunction(host_function(transaction), auth=[entry])
    return town.builder().append_operation(operation).build().to_xdr()


def nonce_of(entry: xdr.SorobanAuthorizationEntry) -> int:
    credentials = entry.credentials.address or entry.credentials.address_v2
    assert credentials is not None
    return credentials.nonce.int64


def result_code(text: str) -> str:
    return xdr.TransactionResult.from_xdr(text).result.code.name
