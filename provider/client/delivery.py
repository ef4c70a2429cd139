"""What a purchase brings, and its receipt as a line of JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from provider.client.entry import dump_reply
from provider.client.exchange import HttpReply
from provider.client.payment import Payment
from provider.client.reading import output_of
from provider.payments.models import Receipt


@dataclass(frozen=True, slots=True)
class Delivery:
    """What was bought."""

    url: str
    reply: HttpReply
    """The answer that ended the purchase."""
    job: Mapping[str, Any] | None = None
    """The job object, of a seller that runs this software."""
    payment: Payment | None = None
    """None when the seller wanted no money."""
    receipt: Receipt | None = None
    """None when nothing was paid, as far as the seller and the chain show."""
    verified: bool = False
    """The chain shows the payment of the receipt."""
    notes: tuple[str, ...] = field(default=(), repr=False)
    """What went wrong beside the purchase, such as a journal on a full disk."""

    @property
    def output(self) -> Any:
        """The output of the job, or the content of the answer: JSON, text or bytes by its media type."""
        return output_of(self.reply) if self.job is None else self.job.get("output")

    @property
    def price(self) -> str | None:
        """What was signed, in token units."""
        return self.payment.price if self.payment else None

    @property
    def transaction(self) -> str | None:
        """Hash of the settlement, once it is known."""
        return (self.receipt.transaction or None) if self.receipt else None


def receipt_line(
    payment: Payment,
    outcome: str,
    receipt: Receipt | None,
    verified: bool,
    reply: HttpReply | None,
    now: float,
) -> bytes:
    """Spell what was paid and what came for it as one line of JSON, the answer and the payment included."""
    known = {
        "at": datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds"),
        "outcome": outcome,
        "url": payment.url,
        "input": payment.input,
        "paid": asdict(receipt) | {"amount": str(receipt.amount)} if receipt else None,
        "verified": verified,
        "payment": payment.as_json(),
        "answer": dump_reply(reply) if reply else None,
    }
    return json.dumps(known).encode() + b"\n"
