"""The admin verbs: what tests and the demo do to the chain from outside. Loopback only; see server.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from provider.localnet.chain.faults import KINDS, Faults
from provider.localnet.chain.model import TokenMove
from provider.localnet.chain.state import ChainState

MAX_CLOSE = 100_000

Json = dict[str, Any]


class Admin:
    """`get` and `post` take a verb and raise KeyError for an unknown one, ValueError for a bad body."""

    def __init__(self, state: ChainState, faults: Faults) -> None:
        self.state, self.faults = state, faults
        self._gets: dict[str, Callable[[], Json]] = {"state": self._state, "faults": self._faults}
        self._posts: dict[str, Callable[..., Json]] = {
            "fund": self._fund,
            "close": self._close,
            "fault": self._fault,
            "clear": self._clear,
            "credentials": self._credentials,
            "settings": self._settings,
        }

    def get(self, verb: str) -> Json:
        return self._gets[verb]()

    def post(self, verb: str, body: Json) -> Json:
        act = self._posts[verb]
        try:
            return act(**body)
        except (TypeError, ArithmeticError) as error:
            raise ValueError(f"{verb}: {error}") from error

    def _state(self) -> Json:
        state = self.state
        with state.lock:
            state.tick()
            return {
                "ledger": state.latest.sequence,
                "closeTime": int(state.latest.closed_at),
                "oldestLedger": state.oldest(state.latest.sequence),
                "credentials": state.credentials,
                "pending": [item.envelope.hash.hex() for item in state.queue],
                "balances": {address: str(state.balance(address)) for address in state.balances},
                "transfers": [_transfer(item) for item in state.transfers],
                "failed": [
                    {"txHash": item.envelope.hash.hex(), "ledger": item.ledger, "error": item.error}
                    for item in state.applied
                    if not item.successful
                ],
            }

    def _faults(self) -> Json:
        kinds = {
            name: {"meaning": kind.meaning, "method": kind.method, "count": kind.count, **kind.params}
            for name, kind in KINDS.items()
        }
        return {"active": [fault.as_json() for fault in self.faults.listed()], "kinds": kinds}

    def _fund(self, account: str, **given: Any) -> Json:
        if not all(isinstance(text, str | None) for text in (account, given.get("signer"))):
            raise ValueError("account and signer must be text")
        funded = self.state.fund(account, **given)
        return {
            "account": account,
            "balance": str(self.state.balance(account)),
            "stroops": str(funded.stroops),
            "trustline": funded.trustline,
        }

    def _close(self, ledgers: int = 1) -> Json:
        if type(ledgers) is not int or not 1 <= ledgers <= MAX_CLOSE:
            raise ValueError(f"ledgers must be a number from 1 to {MAX_CLOSE}")
        closed = self.state.close(ledgers)
        return {"ledger": closed.sequence, "closeTime": int(closed.closed_at)}

    def _fault(self, name: str, **given: Any) -> Json:
        return self.faults.add(name, **given).as_json()

    def _clear(self, name: str | None = None) -> Json:
        self.faults.clear(name)
        return self._faults()

    def _credentials(self, mode: str) -> Json:
        self.state.set_credentials(mode)
        return {"mode": mode}

    def _settings(self, min_temporary_ttl: int) -> Json:
        self.state.set_min_temporary_ttl(min_temporary_ttl)
        return {"min_temporary_ttl": min_temporary_ttl}


def _transfer(item: TokenMove) -> Json:
    """Amount and nonce as strings: both exceed what JSON numbers hold in many languages."""
    return {
        "txHash": item.tx_hash,
        "ledger": item.ledger,
        "from": item.sender,
        "to": item.recipient,
        "amount": str(item.amount),
        "nonce": None if item.nonce is None else str(item.nonce),
    }
