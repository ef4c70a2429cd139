"""Buyers that are killed at a chosen line, one process each: `python -m tests.support.killed_buyer`.

Standard input has one JSON object a line, {kill, journal, …}; each is answered by one line of JSON, in any
order. With `kill: 0` a process finishes what an earlier one left; with `kill: null` it lists its lines.
Processes are forked from this one, which has imported everything.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from stellar_sdk import Keypair

import provider.client
from provider.client import Buyer, Delivery
from provider.client.reading import output_of

OURS = str(Path(provider.client.__file__).parent)
FIRST = "_signed"
"""The function that signs: lines count from its first one on."""
AT_ONCE = 6


class Lines:
    """Counts the lines of the client that run from the signature on, and kills the process at one of them."""

    def __init__(self, kill_at: int | None) -> None:
        self._kill_at, self.count, self._on = kill_at, 0, False
        self.places: list[str] = []

    def trace(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        if not code.co_filename.startswith(OURS):
            return None
        self._on = self._on or code.co_name == FIRST
        if self._on and event == "line":
            self.count += 1
            self.places.append(f"{Path(code.co_filename).name}:{frame.f_lineno}")
            if self.count == self._kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.trace


def buyer_of(order: dict[str, Any]) -> Buyer:
    return Buyer(
        Keypair.from_secret(order["secret"]),
        order["rpc"],
        ledger_seconds=order["ledger_seconds"],
        journal=order["journal"],
        receipts=order["receipts"],
    )


def finish(buyer: Buyer, order: dict[str, Any]) -> Any:
    """Do what a restarted program does: go on, take what is there, or buy if nothing was signed away."""
    entries = buyer.journal.entries()
    if open_payments := buyer.open_payments():
        return next(buyer.resume(payment).output for payment in open_payments)
    if not entries:
        return buyer.buy(order["url"], order["input"]).output
    finished = buyer.journal.find(entries[0].payment.id)
    assert finished is not None
    assert finished.reply is not None
    return output_of(finished.reply)["output"]


def run(order: dict[str, Any]) -> dict[str, Any]:
    buyer = buyer_of(order)
    if order["kill"] == 0:
        return {"output": finish(buyer, order), "payments": len(buyer.journal.entries())}
    lines = Lines(order["kill"])
    sys.settrace(lines.trace)
    bought: Delivery = buyer.buy(order["url"], order["input"])
    sys.settrace(None)
    return {"output": bought.output, "lines": lines.count, "places": lines.places}


def forked(order: dict[str, Any], children: dict[int, int]) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        children[child] = reading
        return
    try:
        answer = run(order)
    except BaseException as error:
        answer = {"error": repr(error)}
    with os.fdopen(writing, "w") as out:
        json.dump({**answer, "n": order["n"]}, out)
    os._exit(0)


def reap(children: dict[int, int]) -> None:
    child, status = os.wait()
    with os.fdopen(children.pop(child)) as answer:
        text = answer.read()
    found = json.loads(text) if text else {"killed": os.waitstatus_to_exitcode(status)}
    sys.stdout.write(json.dumps(found) + "\n")


def main() -> None:
    children: dict[int, int] = {}
    for line in sys.stdin:
        if len(children) >= AT_ONCE:
            reap(children)
        forked(json.loads(line), children)
    while children:
        reap(children)


if __name__ == "__main__":
    main()
