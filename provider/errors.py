"""Every error this project raises, in one tree.

The docstring of a class is its default message. `status` and `code` are what an HTTP caller sees
(standard H7); an error without them never reaches a caller.
"""

from typing import Any


class ProviderError(Exception):
    """Something went wrong."""

    status = 500
    code = "internal_error"
    for_operators = ""
    """What an operator reads instead of the message, which is for callers."""

    def __init__(self, detail: str | None = None, **fields: Any) -> None:
        self.detail = detail or (type(self).__doc__ or "").strip().splitlines()[0]
        self.fields = fields
        super().__init__(self.detail)


# Start-up


class ConfigurationError(ProviderError):
    """The configuration is wrong; the process does not start."""

    code = "configuration_error"
    heading = "The configuration is wrong:"

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join([self.heading, *(f"  - {line}" for line in problems)]))


class SettingsError(ConfigurationError):
    """The environment holds wrong settings; the process does not start."""

    heading = "Wrong settings in the environment:"


# Calls


class CallError(ProviderError):
    """The call cannot be served as it stands."""

    status = 400
    code = "bad_request"


class InvalidHeader(CallError):
    """The PAYMENT-SIGNATURE header is not base64 of a JSON object."""

    code = "invalid_payment_header"


class InvalidBody(CallError):
    """The body is not a JSON object."""

    code = "invalid_body"


class InvalidInput(CallError):
    """The input does not fit the service's input schema."""

    code = "invalid_input"


class BodyTooLarge(CallError):
    """The body is larger than 1 MiB."""

    status = 413
    code = "body_too_large"


class BodiesFull(CallError):
    """Too many large bodies are on their way to this process; send the call again later."""

    status = 503
    code = "bodies_full"
    retry_after_seconds = 5


class ServiceNotFound(CallError):
    """No service of this name is for sale; GET /services lists them."""

    status = 404
    code = "service_not_found"


class JobNotFound(CallError):
    """No job has this id; jobs are deleted some days after they finished."""

    status = 404
    code = "job_not_found"


class OutputNotReady(CallError):
    """The job has no output yet, or none that may be read."""

    status = 409
    code = "output_not_ready"


class PaymentMismatch(CallError):
    """This payment was used before, and this call does not show that it is the same one (standard J3)."""

    status = 409
    code = "payment_mismatch"
    what_to_send = (
        "This payment was used before. Its job is given for the identical call alone: the same input and "
        "PAYMENT-SIGNATURE, with its payment identifier or, without one, a PAYER-PROOF header. "
        "Do not pay again."
    )

    def __init__(self, detail: str | None = None) -> None:
        super().__init__(detail or self.what_to_send)


class PaymentUsed(CallError):
    """This payment was made already, and its job is not known here any more. Do not pay for it again."""

    status = 409
    code = "payment_used"


class PaymentTooOld(CallError):
    """This payment expired, and the chain no longer shows whether it was made: look into your account."""

    status = 409
    code = "payment_too_old"


class ChainUnreachable(ProviderError):
    """It cannot be seen now whether this payment was made already; send the same call again later."""

    status = 503
    code = "chain_unreachable"
    retry_after_seconds = 5


class IdentifierMismatch(CallError):
    """This payment identifier was already used with another payment."""

    status = 409
    code = "payment_identifier_mismatch"


class InvalidIdentifier(CallError):
    """The payment identifier must be 16 to 128 characters of A-Z, a-z, 0-9, "-" and "_"."""

    code = "invalid_payment_identifier"


class CancelRefused(CallError):
    """The job cannot be cancelled."""

    status = 409
    code = "cancel_refused"


class JobFinished(CancelRefused):
    """The job is finished already; GET /jobs/<id> shows how."""

    code = "job_finished"


class SettlementBegun(CancelRefused):
    """The work is done and its payment is being settled: the job can no longer be cancelled."""

    code = "settlement_begun"


class PaymentPending(CancelRefused):
    """The payment is being settled; once the job is queued it can be cancelled with ?forfeit=true."""

    code = "payment_pending"
    retry_after_seconds = 2


class PaymentUncertain(CancelRefused):
    """Whether the payment landed is not known yet: wait, and do not pay again."""

    code = "payment_uncertain"
    retry_after_seconds = 15


class ForfeitRequired(CancelRefused):
    """The job is paid and the payment does not come back; to cancel it all the same, add ?forfeit=true."""

    code = "forfeit_required"


class InvalidToken(CallError):
    """The request needs a valid worker token: Authorization: Bearer <token>."""

    status = 401
    code = "invalid_token"


class ServiceNotAllowed(CallError):
    """The token does not allow jobs of this service."""

    status = 403
    code = "service_not_allowed"


class UnknownService(CallError):
    """The token allows it, but no remote service of this name is for sale here."""

    code = "unknown_service"


class TokenExists(CallError):
    """This worker has a token already; revoke it first."""

    status = 409
    code = "token_exists"


class NotAdmitted(CallError):
    """The service takes this call later, if it is sent again."""

    status = 429

    def __init__(self, retry_after_seconds: int, detail: str | None = None) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(detail)


class LaneFull(NotAdmitted):
    """The service has no free place now; try again later."""

    status = 503
    code = "lane_full"


class TooManyOpenJobs(NotAdmitted):
    """This account has as many unpaid jobs of this service open as it may; send the call again later."""

    code = "too_many_open_jobs"


class UnpaidEndings(NotAdmitted):
    """Work for this account was not paid for several times; the service takes its calls again later."""

    code = "unpaid_endings"


class StreamsFull(CallError):
    """This process holds as many event streams as it may; look the job up, or try again later."""

    status = 503
    code = "streams_full"
    retry_after_seconds = 10


# Payments


class PaymentRequired(CallError):
    """Payment is required."""

    status = 402
    code = "payment_required"


class PaymentRejected(PaymentRequired):
    """The payment does not pay for this call."""

    code = "payment_rejected"

    def __init__(self, reason: str, detail: str | None = None, **fields: Any) -> None:
        self.reason = reason
        super().__init__(detail or reason, **fields)


class PaymentLooksUsed(PaymentRejected):
    """The payment is refused as one would be that was made already."""


class HeaderTooLarge(ProviderError):
    """A payment header would be larger than 8 KB, which proxies cut off; declare less."""

    code = "header_too_large"


class FacilitatorUnreachable(ProviderError):
    """The facilitator does not answer; send the same call again later."""

    status = 503
    code = "facilitator_unreachable"

    def __init__(self, for_operators: str = "", retry_after_seconds: int | None = None) -> None:
        super().__init__()
        self.for_operators = for_operators
        self.retry_after_seconds = retry_after_seconds or 5


# Storage and network


class StoreError(ProviderError):
    """The job store does not do what it was asked."""


class StoreRefused(StoreError):
    """The job store refuses this write, and would refuse it again."""

    for_operators = "Redis refuses a command for good; the log has its answer. Trying again changes nothing."


class StoreUnavailable(StoreError):
    """The job store does not answer; send the same call again later."""

    for_operators = (
        "Redis does not answer, or refuses: see that it runs at REDIS_URL and takes commands "
        "(`provider doctor` tells more). Nothing was decided; the command may be run again."
    )
    status = 503
    code = "store_unavailable"
    retry_after_seconds = 5


class RecordUnreadable(ProviderError):
    """The record of this job cannot be read."""


class NotDurable(ProviderError):
    """Redis did not confirm that a write reached the disk in time."""


class RpcError(ProviderError):
    """The Stellar RPC answered with an error."""


class RpcUnreachable(RpcError):
    """The Stellar RPC does not answer."""


# Remote workers


class PlatformUnreachable(ProviderError):
    """The platform does not answer, or not now."""


class PlatformRefused(ProviderError):
    """The platform refuses what this worker asks."""

    def __init__(self, detail: str, answered: int) -> None:
        self.answered = answered
        super().__init__(detail)


# Operators


class NothingToRetry(ProviderError):
    """The job waits for nothing that could be done now."""


# Handlers (public: raised by services)


class HandlerError(ProviderError):
    """A handler failed."""


class TransientError(HandlerError):
    """A handler failed for a passing reason: the job is tried again (standard R6)."""


class DeterministicError(HandlerError):
    """A handler failed and would fail again: the job fails at once (standard R6)."""


class InvalidProgress(DeterministicError):
    """This is no progress that could be shown."""

    status = 400
    code = "invalid_progress"


class CheckpointRefused(DeterministicError):
    """This checkpoint cannot be stored."""

    status = 400
    code = "checkpoint_refused"


class NotThisProcess(DeterministicError):
    """The context of a job works in the handler's own process only, not in one that it forked."""
