"""Why a purchase did not happen; `paid` tells whether money may have moved."""

from typing import Any

from provider.errors import ProviderError


class BuyerError(ProviderError):
    """The purchase did not happen."""


class NoAcceptableOffer(BuyerError):
    """Nothing on offer can be paid within the buyer's limits."""


class CallRefused(BuyerError):
    """The service refused the call; nothing was paid."""


class PaymentRefused(BuyerError):
    """The service refused the payment. No other one is signed: this one is usable until it expires."""


class NoAnswer(BuyerError):
    """The service did not answer the paid call. The payment may be used: send the same header again."""

    def __init__(self, detail: str, header: str) -> None:
        self.header = header
        """The PAYMENT-SIGNATURE to send again, see `Buyer.resume`."""
        super().__init__(detail)


def problem_text(body: Any, status: int) -> str:
    """The gist of a refusal: the detail of a problem, or the `error` of a 402."""
    if not isinstance(body, dict):
        return f"the answer has status {status}"
    told = [body[name] for name in ("detail", "error", "title") if isinstance(body.get(name), str)][:1]
    fields = body.get("fields")
    for field in fields if isinstance(fields, list) else ():
        if isinstance(field, dict):
            told.append(f"{field.get('field') or 'it'} {field.get('message')}")
    return f"{status}: {'; '.join(told)}"
