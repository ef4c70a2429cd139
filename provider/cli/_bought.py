"""How `provider pay` shows what came of a purchase: output to standard output, all else to standard error."""

import json
import sys
from collections.abc import Mapping
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.status import Status
from rich.syntax import Syntax

from provider.client import BuyerError, Delivery, NothingPaid, Paid
from provider.client.entry import dump_reply
from provider.client.exchange import HttpReply
from provider.client.reading import FINAL, ServiceAddress, printable
from provider.payments.models import Receipt

DELIVERED, NOTHING_PAID, UNDECIDED, PAID = 0, 1, 3, 4
"""Exit statuses; 2 is click's for wrong arguments."""
SHOWN_CHARS = 2000

Outcome = Delivery | BuyerError


def exit_status(outcome: Outcome) -> int:
    """Choose the exit status by what became of the money."""
    if isinstance(outcome, Delivery):
        return DELIVERED
    if isinstance(outcome, NothingPaid):
        return NOTHING_PAID
    return PAID if isinstance(outcome, Paid) else UNDECIDED


def as_json(outcome: Outcome) -> dict[str, Any]:
    """Spell an outcome for programs."""
    reply, payment, receipt = outcome.reply, outcome.payment, outcome.receipt
    error = outcome if isinstance(outcome, BuyerError) else None
    return {
        "outcome": error.code if error else "delivered",
        "detail": error.detail if error else None,
        "status": reply.status if reply else None,
        "price": payment.price if payment else None,
        "transaction": receipt.transaction if receipt else None,
        "verified": outcome.verified if isinstance(outcome, Delivery) else None,
        "job": outcome.job,
        "output": _printable(outcome.output) if isinstance(outcome, Delivery) else None,
        "answer": dump_reply(reply) if reply and outcome.job is None else None,
        "payment": payment.id if payment else None,
        "header": payment.header if payment and error else None,
    }


def show(outcome: Outcome) -> None:
    """Show an outcome to a person."""
    if isinstance(outcome, Delivery):
        _show_delivery(outcome)
    else:
        _show_error(outcome)


class Waiting:
    """Shows how a job goes on: one line that changes on a terminal, a line for each change elsewhere."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._status: Status | None = None
        self._last = ""

    def __call__(self, job: Mapping[str, Any]) -> None:
        text = _progress(job)
        if text == self._last or job.get("status") in FINAL:
            return
        self._last = text
        if not self._console.is_terminal:
            self._console.print(escape(text), soft_wrap=True)
        elif self._status is None:
            self._status = self._console.status(escape(text))
            self._status.start()
        else:
            self._status.update(escape(text))

    def stop(self) -> None:
        if self._status is not None:
            self._status.stop()


def _progress(job: Mapping[str, Any]) -> str:
    queue, progress = job.get("queue"), job.get("progress")
    parts = [str(job.get("status"))]
    if isinstance(queue, Mapping):
        parts.append(f"position {queue.get('position')}, start in {queue.get('estimatedStartSeconds')} s")
    if isinstance(progress, Mapping):
        total = progress.get("total")
        parts.append(f"{progress.get('done')}/{total}" if total else f"{progress.get('done')}")
        parts.append(str(progress.get("message") or ""))
    return printable("  ".join(part for part in parts if part), SHOWN_CHARS)


def _show_delivery(bought: Delivery) -> None:
    if bought.payment is None:
        _say("No payment was asked.")
    else:
        state = f"job {bought.job['id']}" if bought.job else f"status {bought.reply.status}"
        _say(f"succeeded  {bought.payment.price} USDC  {state}")
        _say(f"transaction {_receipt(bought.receipt, bought.verified)}")
    for note in bought.notes:
        _say(note)
    _print(bought.output)


def _show_error(error: BuyerError) -> None:
    _say(error.detail)
    if error.receipt is not None:
        _say(f"transaction {error.receipt.transaction or 'unknown'}")
    if isinstance(error, NothingPaid) or error.payment is None:
        return
    _show_reply(error.reply)
    if (address := ServiceAddress.of(error.payment.url)) is not None and error.job is not None:
        _say(f"job {address.job_url(str(error.job['id']))}")
    _say(f"Payment {error.payment.id} is in the journal: `provider pay --resume` asks again with it.")
    _say("Do not buy a second time.")


def _show_reply(reply: HttpReply | None) -> None:
    """Show the beginning of what was paid for, if anything came."""
    if reply is None or not reply.content:
        return
    text = reply.content[: SHOWN_CHARS + 1].decode("utf-8", "replace")
    _say(f"The answer, as far as it came ({len(reply.content)} bytes, all of them in the journal):")
    _say(printable(text, SHOWN_CHARS))


def _receipt(receipt: Receipt | None, verified: bool) -> str:
    if receipt is None:
        return "none"
    where = f"in ledger {receipt.ledger}" if receipt.ledger else "on the chain"
    return f"{receipt.transaction or 'unknown'}  {where if verified else 'not seen on the chain yet'}"


def _say(text: str) -> None:
    click.echo(text, err=True)


def _print(value: Any) -> None:
    if isinstance(value, bytes):
        sys.stdout.buffer.write(value)
        return
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    console = Console()
    if console.is_terminal and not isinstance(value, str):
        console.print(Syntax(text, "json", background_color="default"))
    else:
        click.echo(text)


def _printable(value: Any) -> Any:
    return None if isinstance(value, bytes) else value
