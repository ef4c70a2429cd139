"""The facilitator put together: what its HTTP API calls."""

import threading
import time
from typing import Any

from provider.chain.node import Node
from provider.errors import ConfigurationError, PaymentRejected
from provider.facilitator.attempts import Attempts
from provider.facilitator.channels import Channels
from provider.facilitator.config import FacilitatorConfig
from provider.facilitator.settle import Settlements
from provider.facilitator.settlement import Desk
from provider.facilitator.verify import Verifier
from provider.payments.models import SCHEME, X402_VERSION, PaymentPayload, PaymentRequirements
from provider.payments.stellar.check import identify_payment

STOP_SECONDS = 3.0
KEEP_SECONDS = 30 * 86_400
"""How long decided attempts are kept; authorisations are valid for hours at most."""


class Facilitator:
    """Verifies and settles payments of one network. Open attempts of an earlier run are resumed."""

    def __init__(self, config: FacilitatorConfig) -> None:
        problems = config.problems()
        if problems:
            raise ConfigurationError(problems)
        self.config = config
        self._node = Node(config.rpc_url, timeout_seconds=config.rpc_timeout_seconds)
        self._attempts = Attempts(config.state_dir)
        self._stopping = threading.Event()
        self._attempts.forget(int(time.time()) - KEEP_SECONDS)
        unfinished = self._attempts.open()
        self._channels = Channels(config.keypairs(), busy={attempt.channel for attempt in unfinished})
        self._verifier = Verifier(self._node, config, self.addresses)
        desk = Desk(self._node, self._attempts, self._channels, config, self._stopping)
        self._settler = Settlements(desk, self._verifier)
        self._settler.resume(unfinished)

    @property
    def addresses(self) -> list[str]:
        """The accounts that submit; each must exist and hold some XLM."""
        return self._channels.addresses

    def verify(self, payload: PaymentPayload, requirements: PaymentRequirements) -> dict[str, Any]:
        """Answer a `VerifyResponse`; raises RpcError when the chain does not answer."""
        try:
            verified = self._verifier.verify(payload, requirements)
        except PaymentRejected as error:
            payer = _payer(payload)
            answer = {"isValid": False, "invalidReason": error.reason, "invalidMessage": error.detail}
            return answer | ({"payer": payer} if payer else {})
        return {"isValid": True, "payer": verified.payment.payer}

    def settle(self, payload: PaymentPayload, requirements: PaymentRequirements) -> dict[str, Any]:
        """Answer a `SettlementResponse`; a repeated call returns the same, or the outcome since then."""
        return self._settler.settle(payload, requirements).as_json()

    def supported(self) -> dict[str, Any]:
        """Answer what this facilitator can do."""
        kind = {
            "x402Version": X402_VERSION,
            "scheme": SCHEME,
            "network": self.config.network,
            "extra": {"areFeesSponsored": True},
        }
        return {"kinds": [kind], "extensions": [], "signers": {"stellar:*": self.addresses}}

    def health(self) -> dict[str, Any]:
        """Report the load; raises RpcError when the chain does not answer."""
        return {
            "status": "ok",
            "ledger": self._node.clock().ledger,
            "channels": {"total": len(self.addresses), "idle": self._channels.idle},
            "open": len(self._attempts.open()),
        }

    def stop_waiting(self) -> None:
        """Answer all waiting calls with what is known now; open attempts are resumed at the next start."""
        self._stopping.set()

    def close(self) -> None:
        """Stop, and let another facilitator have the state directory."""
        self.stop_waiting()
        self._settler.join(STOP_SECONDS)
        self._attempts.close()


def _payer(payload: PaymentPayload) -> str | None:
    try:
        return identify_payment(payload).payer
    except PaymentRejected:
        return None
