"""The stranger from outside: a process that takes orders, and the public chain that shows what it owns."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stellar_sdk import scval
from stellar_sdk.contract import ContractClient

from provider.localnet.demo import stranger
from provider.localnet.stack.children import begin_child
from provider.networks import PASSPHRASES

Json = dict[str, Any]


class DemoFailed(Exception):
    """Something in the demo was not as promised."""


class Visit:
    """Gives orders to the stranger and reads what it reports."""

    def __init__(self, platform: Json, process: "subprocess.Popen[str]") -> None:
        self._platform, self._process = platform, process

    def buy(self, service: str, value: Json) -> Iterator[Json]:
        """Have it buy a call; gives what it reports, the end of the purchase last."""
        return self._order(url=f"{self._platform['web_url']}/run/{service}", input=value)

    def send_again(self, payment: str, value: Json) -> Json:
        """Have it send a payment again, for this input; gives the end."""
        return list(self._order(again=payment, input=value))[-1]

    def balances(self) -> dict[str, int]:
        """Ask the token contract what the buyer and the payee own, in atomic units."""
        return {name: self._balance(self._platform[name]) for name in ("buyer", "payTo")}

    def _order(self, **order: Any) -> Iterator[Json]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            report: Json = json.loads(line)
            yield report
            if report["event"] == "end":
                return
        raise DemoFailed("Promised: the stranger reports how it ended. Seen: it went away.")

    def _balance(self, account: str) -> int:
        platform = self._platform
        token = ContractClient(platform["asset"], platform["rpc_url"], PASSPHRASES[platform["network"]])
        call = token.invoke(
            "balance", [scval.to_address(account)], parse_result_xdr_fn=lambda value: scval.from_int128(value)
        )
        amount = call.result()
        assert isinstance(amount, int)
        return amount


@contextmanager
def visiting(platform: Json, home: Path) -> Iterator[Visit]:
    """Run the stranger, with the play money of the platform's buyer."""
    account = {
        "secret": platform["buyer_secret"],
        "rpc_url": platform["rpc_url"],
        "ledger_seconds": platform["ledger_seconds"],
        "journal": str(home / "stranger.jsonl"),
    }
    with (
        (home / "stranger.log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-m", stranger.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for the demo to handle.
            preexec_fn=begin_child,
        ) as process,
    ):
        assert process.stdin is not None
        process.stdin.write(json.dumps(account) + "\n")
        try:
            yield Visit(platform, process)
        finally:
            process.kill()
