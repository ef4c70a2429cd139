"""A buyer who knows nothing of this project but its published client: a program, in a process of its own.

It imports `provider.client` and nothing else of the platform that it buys from. Standard input has its
account on the first line, then orders, one JSON object each; what happens comes out as JSON objects, the last
one of an order with `"event": "end"`.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from stellar_sdk import Keypair

from provider.client import Buyer, BuyerError, Delivery, Limits, Quote

Order = Mapping[str, Any]


class Stranger:
    """Carries out orders, and reports on them."""

    def __init__(self, account: Order) -> None:
        self._buyer = Buyer(
            Keypair.from_secret(account["secret"]),
            account["rpc_url"],
            ledger_seconds=account["ledger_seconds"],
            journal=account["journal"],
            limits=Limits(approve=self._approve),
        )
        self._began = 0.0

    def obey(self, order: Order) -> None:
        """Buy a call, or send the payment of an earlier one again, be it with another input."""
        if "again" not in order:
            self._run(lambda: self._buyer.buy(order["url"], order["input"], on_progress=self._progress))
            return
        entry = self._buyer.journal.find(order["again"])
        assert entry is not None
        # Under another id, so that it is sent and not looked up in the journal.
        payment = replace(entry.payment, id=f"{entry.payment.id}_again", input=order["input"])
        self._run(lambda: self._buyer.resume(payment, wait=10))

    def _run(self, purchase: Callable[[], Delivery]) -> None:
        self._began = time.monotonic()
        try:
            end: Delivery | BuyerError = purchase()
        except BuyerError as error:
            end = error
        self._report(
            "end",
            outcome=end.code if isinstance(end, BuyerError) else "delivered",
            status=end.reply.status if end.reply else None,
            job=end.job,
            payment=end.payment.id if end.payment else None,
            transaction=end.receipt.transaction if end.receipt else None,
            verified=isinstance(end, Delivery) and end.verified,
        )

    def _approve(self, quote: Quote) -> bool:
        self._report("quote", price=quote.price)
        return True

    def _progress(self, job: Mapping[str, Any]) -> None:
        self._report("job", job={name: value for name, value in job.items() if name != "output"})

    def _report(self, event: str, **facts: Any) -> None:
        found = {"event": event, "seconds": time.monotonic() - self._began, **facts}
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


def main() -> None:
    stranger = Stranger(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        stranger.obey(json.loads(line))


if __name__ == "__main__":
    main()
