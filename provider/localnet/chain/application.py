"""What a transaction does to the books when its ledger closes."""

from __future__ import annotations

from dataclasses import replace

from stellar_sdk import xdr

from provider.localnet.chain import changes, extension, host, xdrout
from provider.localnet.chain.books import Books
from provider.localnet.chain.errors import HostError
from provider.localnet.chain.model import Applied, History, Pending, TokenMove
from provider.localnet.chain.world import Snapshot


class Application:
    """One transaction in one ledger; `moved` are its transfers once it ran."""

    def __init__(self, books: Books, item: Pending, ledger: int, order: int) -> None:
        self._books, self._envelope, self._fails = books, item.envelope, item.fail
        self._ledger, self._order = ledger, order
        self._world = Snapshot(books, ledger, ledger)
        self.moved: list[TokenMove] = []

    def run(self) -> Applied:
        """Charge fee and sequence in any case; keep the effects of an operation that did not fail."""
        self._charge()
        longer = self._envelope.extension
        return self._call() if longer is None else self._extend(longer)

    def _charge(self) -> None:
        envelope = self._envelope
        for address, fee, step in (
            (envelope.fee_source, xdrout.fee_charged(envelope), 0),
            (envelope.source, 0, 1),
        ):
            account = self._world.account(address)
            assert account is not None
            stroops, sequence = account.stroops - fee, account.sequence + step
            changed = replace(account, stroops=stroops, sequence=sequence)
            self._books.accounts[address].put(self._ledger, changed)

    def _call(self) -> Applied:
        args, entries = self._envelope.contract_call()
        call = host.Call(args, self._envelope.source, entries, footprint=self._envelope.footprint)
        try:
            if self._fails:
                raise HostError("Budget", "ExceededLimit", "made to fail")
            effects = host.invoke(call, self._world)
        except HostError as error:
            shown = xdrout.error_diagnostics(self._world.token.contract, error.text)
            return self._applied(xdrout.called(None, []), None, [], shown, error.text)
        before = changes.seen(self._envelope.footprint.read_write, self._world)
        self._keep(effects)
        self._write_back()
        shown = xdrout.diagnostics(args, effects.events, effects.value)
        result = xdrout.called(effects.value, effects.events)
        changed = changes.since(before, self._world)
        return self._applied(result, effects.value, effects.events, shown, changed=changed)

    def _extend(self, longer: xdr.ExtendFootprintTTLOp) -> Applied:
        if self._fails:
            return self._applied(extension.FAILURE, None, [], [], "made to fail")
        before = changes.seen(self._envelope.footprint.read_only, self._world)
        for key, last in extension.extended(longer, self._envelope.footprint, self._world).items():
            self._books.live(key, last, self._ledger)
        changed = changes.since(before, self._world)
        return self._applied(extension.SUCCESS, xdrout.VOID, [], [], changed=changed)

    def _keep(self, effects: host.Effects) -> None:
        for address, balance in effects.balances.items():
            self._books.balances.setdefault(address, History()).put(self._ledger, balance)
        for used in effects.consumed:
            self._books.live(used.key, used.live_until, self._ledger)
        nonce = effects.consumed[0].nonce if effects.consumed else None
        tx_hash = self._envelope.hash.hex()
        for sender, recipient, amount in effects.moved:
            self.moved.append(TokenMove(tx_hash, self._ledger, sender, recipient, amount, nonce))

    def _write_back(self) -> None:
        """Write every live entry that the footprint lets be written, changed or not.

        rs-soroban-env e2e_invoke.rs:312-326 gives all of them back, stellar-core
        InvokeHostFunctionOpFrame.cpp:780-819 upserts each. So a call by any account moves the "last
        modified" of a nonce that its footprint names, without a signature of the owner.
        """
        for key in self._envelope.footprint.read_write:
            if self._world.entry(key) is not None:
                self._books.write(key.to_xdr_bytes(), self._ledger)

    def _applied(
        self,
        operation: xdr.OperationResultTr,
        value: xdr.SCVal | None,
        events: list[xdr.ContractEvent],
        shown: list[xdr.DiagnosticEvent],
        error: str = "",
        changed: xdr.LedgerEntryChanges | None = None,
    ) -> Applied:
        successful = value is not None
        result = xdrout.outcome(self._envelope, operation, successful)
        meta = xdrout.meta(value, events, shown, changed)
        return Applied(
            self._envelope, self._ledger, self._order, successful, result, meta, events, shown, error
        )
