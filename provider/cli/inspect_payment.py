"""`provider inspect-payment`: run the offline check (standard §4) on one payment and show what it says."""

import json
from collections.abc import Sequence
from typing import Any, TextIO

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from provider import strict_json
from provider.errors import CallError, PaymentRejected
from provider.payments.headers import decode_payment_signature
from provider.payments.models import PaymentPayload, PaymentRequirements
from provider.payments.schemas import load_payload, load_requirements
from provider.payments.stellar.check import check_payment
from provider.payments.stellar.describe import FIELDS, describe_checked, describe_payload

VALID, INVALID, UNREADABLE = 0, 1, 2

_MAX_FILE_CHARS = 1024 * 1024


@click.command("inspect-payment")
@click.argument("file", type=click.File(encoding="utf-8", errors="replace"))
@click.option(
    "--requirements",
    type=click.File(encoding="utf-8"),
    help="JSON of one PaymentRequirements, a list of them, or a 402 body; else the payment's `accepted`.",
)
@click.option("--latest-ledger", type=click.IntRange(min=0), help="Compare the expiration with this ledger.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    ctx: click.Context, file: TextIO, requirements: TextIO | None, latest_ledger: int | None, as_json: bool
) -> None:
    """Decode a PAYMENT-SIGNATURE header or a payment payload and check it offline.

    FILE holds the base64 header or the payload JSON; "-" reads standard input. Exit status: 0 valid,
    1 invalid, 2 unreadable.
    """
    try:
        payload = _read_payload(file.read(_MAX_FILE_CHARS))
        offers = (
            [payload.accepted] if requirements is None else _read_offers(requirements.read(_MAX_FILE_CHARS))
        )
    except (CallError, ValueError) as error:
        _unreadable(str(error), as_json)
        ctx.exit(UNREADABLE)
    report = inspect(payload, offers, latest_ledger)
    click.echo(json.dumps(report)) if as_json else _show(report)
    if latest_ledger is None and not as_json:
        click.echo("Whether it has expired was not asked; --latest-ledger N compares.", err=True)
    ctx.exit(VALID if report["valid"] else INVALID)


def inspect(
    payload: PaymentPayload, offers: Sequence[PaymentRequirements], latest_ledger: int | None
) -> dict[str, Any]:
    """Check a payment; the report has every field that could be decoded, whatever the verdict."""
    try:
        checked = check_payment(payload, offers, latest_ledger=latest_ledger)
    except PaymentRejected as refusal:
        return {
            "valid": False,
            "reason": refusal.reason,
            "detail": refusal.detail,
            **describe_payload(payload),
        }
    return {"valid": True, "reason": None, "detail": None, **describe_checked(checked)}


def _read_payload(text: str) -> PaymentPayload:
    text = text.strip()
    return (
        load_payload(strict_json.parse_object(text))
        if text.startswith("{")
        else decode_payment_signature(text)
    )


def _read_offers(text: str) -> list[PaymentRequirements]:
    # A list is no object, so it is read as the `accepts` of one.
    try:
        found = strict_json.parse_object(f'{{"accepts": {text}}}' if text.lstrip().startswith("[") else text)
        accepts = found.get("accepts")
        return [load_requirements(offer) for offer in (accepts if isinstance(accepts, list) else [found])]
    except (CallError, ValueError) as error:
        raise ValueError(f"--requirements: {error}") from None


def _unreadable(problem: str, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"valid": False, "reason": None, "detail": problem, **dict.fromkeys(FIELDS)}))
    else:
        click.echo(f"Unreadable: {problem}", err=True)


def _show(report: dict[str, Any]) -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in report.items():
        if value is not None:
            table.add_row(Text(name, style="bold"), Text(_cell(value)))
    Console(highlight=False).print(table)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    # What a stranger wrote must not steer the terminal.
    return "".join(character if character.isprintable() else "?" for character in str(value))
