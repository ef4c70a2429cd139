"""The one contract of the local chain: an asset contract with the calls a payment needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from stellar_sdk import scval, xdr

from provider.localnet.chain import auth, keys, xdrout
from provider.localnet.chain.auth import Consumed, World
from provider.localnet.chain.errors import HostError

MAX_BALANCE = 2**63 - 1


@dataclass(frozen=True)
class Call:
    """A contract call. `recording` collects authorisations instead of checking them.

    `footprint` bounds what may be touched; None, as in a simulation, bounds nothing.
    """

    args: xdr.InvokeContractArgs
    source: str
    auth: list[xdr.SorobanAuthorizationEntry] = field(default_factory=list)
    recording: bool = False
    upgraded: bool = False
    footprint: xdr.LedgerFootprint | None = None


@dataclass
class Effects:
    """What a call did: nothing of it holds before the caller writes it down."""

    value: xdr.SCVal = field(default_factory=lambda: auth.VOID)
    auth: list[xdr.SorobanAuthorizationEntry] = field(default_factory=list)
    events: list[xdr.ContractEvent] = field(default_factory=list)
    balances: dict[str, int] = field(default_factory=dict)
    consumed: list[Consumed] = field(default_factory=list)
    moved: list[tuple[str, str, int]] = field(default_factory=list)
    read_only: dict[bytes, xdr.LedgerKey] = field(default_factory=dict)
    read_write: dict[bytes, xdr.LedgerKey] = field(default_factory=dict)


def invoke(call: Call, world: World) -> Effects:
    """Run the call against `world`, which stays as it is. Raises HostError."""
    return _Run(call, world).run()


class _Run:
    def __init__(self, call: Call, world: World) -> None:
        self.call, self.world, self.token = call, world, world.token
        self.effects = Effects(auth=list(call.auth))

    def run(self) -> Effects:
        contract = keys.address_text(self.call.args.contract_address)
        self._touch(keys.instance_key(contract))
        if contract != self.token.contract:
            raise HostError(
                "Storage", "MissingValue", "trying to get non-existing value for contract instance"
            )
        name = self.call.args.function_name.sc_symbol.decode("ascii", "replace")
        functions: dict[str, Callable[[list[xdr.SCVal]], xdr.SCVal]] = {
            "transfer": self._transfer,
            "balance": self._balance_of,
            "decimals": lambda args: scval.to_uint32(self.token.decimals),
            "name": lambda args: scval.to_string(self.token.name),
            "symbol": lambda args: scval.to_string(self.token.code),
        }
        if name not in functions:
            raise HostError(
                "WasmVm", "MissingValue", f"trying to invoke non-existent contract function {name}"
            )
        arity = {"transfer": 3, "balance": 1}.get(name, 0)
        if len(self.call.args.args) != arity:
            raise HostError("WasmVm", "UnexpectedSize", "wrong number of arguments")
        self.effects.value = functions[name](self.call.args.args)
        return self.effects

    def _balance_of(self, args: list[xdr.SCVal]) -> xdr.SCVal:
        return scval.to_int128(self._balance(self._address(args[0])[0], write=False))

    def _transfer(self, args: list[xdr.SCVal]) -> xdr.SCVal:
        sender, sender_id = self._address(args[0])
        recipient, muxed_id = self._address(args[1])
        amount = self._amount(args[2])
        if sender_id is not None:
            raise HostError("Value", "UnexpectedType", "the sender cannot be a muxed address")
        self._require_auth(sender)
        self._change(sender, -amount)
        self._change(recipient, amount)
        self.effects.moved.append((sender, recipient, amount))
        self.effects.events.append(xdrout.movement(self.token, sender, recipient, amount, muxed_id))
        return auth.VOID

    def _require_auth(self, address: str) -> None:
        if self.call.recording:
            entry = auth.record(address, self.call.source, self.call.args, self.call.upgraded)
            self.effects.auth.append(entry)
            credentials = auth.address_credentials(entry.credentials)
            nonce = credentials.nonce.int64 if credentials else None
        else:
            consumed = auth.enforce(address, self.call.source, self.call.args, self.call.auth, self.world)
            nonce = consumed.nonce if consumed else None
            self.effects.consumed += [consumed] if consumed else []
        if nonce is not None:
            signer = keys.account_key if address.startswith("G") else keys.instance_key
            self._touch(signer(address))
            self._touch(keys.nonce_key(address, nonce), write=True)

    def _change(self, address: str, by: int) -> None:
        if address == self.token.issuer:
            return
        balance = self._balance(address, write=True) + by
        if not 0 <= balance <= MAX_BALANCE:
            raise HostError("Contract", "#10", "resulting balance is not within the allowed range")
        self.effects.balances[address] = balance

    def _balance(self, address: str, write: bool) -> int:
        if address == self.token.issuer:
            return MAX_BALANCE
        self._touch(keys.balance_key(address, self.token), write=write)
        account = self.world.account(address)
        if address.startswith("G") and not (account and account.trustline):
            raise HostError("Contract", "#13", f"trustline entry is missing for account {address}")
        return self.effects.balances.get(address, self.world.balance(address))

    def _touch(self, key: xdr.LedgerKey, write: bool = False) -> None:
        raw = key.to_xdr_bytes()
        (self.effects.read_write if write else self.effects.read_only)[raw] = key
        if self.call.footprint is None:
            return
        allowed = list(self.call.footprint.read_write)
        allowed += [] if write else self.call.footprint.read_only
        if not any(raw == item.to_xdr_bytes() for item in allowed):
            raise HostError("Storage", "ExceededLimit", "trying to access a key outside of the footprint")

    def _address(self, value: xdr.SCVal) -> tuple[str, int | None]:
        if value.address is None:
            raise HostError("Value", "UnexpectedType", "expected an address")
        return keys.muxed_parts(value.address)

    def _amount(self, value: xdr.SCVal) -> int:
        if value.i128 is None:
            raise HostError("Value", "UnexpectedType", "expected an i128")
        amount = scval.from_int128(value)
        if amount < 0:
            raise HostError("Contract", "#8", "negative amount is not allowed")
        return amount
