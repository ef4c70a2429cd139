"""Does the facilitator settle what is offered?"""

from typing import Any

from provider.doctor.finding import Finding, fail, ok
from provider.errors import FacilitatorUnreachable
from provider.payments.facilitator import FacilitatorClient
from provider.payments.models import X402_VERSION


def check_facilitator(client: FacilitatorClient, network: str) -> Finding:
    """Ask the facilitator whether it settles what we offer (`/supported`)."""
    name = "facilitator"
    try:
        kinds = client.supported()["kinds"]
    except FacilitatorUnreachable as error:
        return fail(
            name,
            error.for_operators or error.detail,
            "start it, or mend FACILITATOR_URL and FACILITATOR_API_KEY",
        )
    if any(_is_ours(kind, network) for kind in kinds):
        return ok(name, f"settles exact on {network}")
    found = sorted(
        {f"{kind.get('scheme')} on {kind.get('network')}" for kind in kinds if isinstance(kind, dict)}
    )
    todo = "choose another facilitator, or mend NETWORK"
    return fail(name, f"settles {', '.join(found) or 'nothing'}, not exact on {network} (x402 v2)", todo)


def _is_ours(kind: Any, network: str) -> bool:
    wanted = {"x402Version": X402_VERSION, "scheme": "exact", "network": network}
    return isinstance(kind, dict) and wanted.items() <= kind.items()
