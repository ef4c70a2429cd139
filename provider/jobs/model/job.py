"""The job record: what is stored of a job, and what is handed around with it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from provider import strict_json
from provider.jobs.model.job_id import service_of
from provider.jobs.model.status import ErrorCode, Status
from provider.payments.models import Receipt, claim_digest
from provider.services import ChargePolicy


@dataclass(frozen=True, slots=True)
class Terms:
    """What was agreed at the claim; never changes afterwards."""

    charge: ChargePolicy
    network: str
    asset: str
    payer: str
    pay_to: str
    amount: int
    """Atomic units of the token."""
    nonce: int
    expiration_ledger: int
    claim_ledger: int | None
    """Latest ledger known when the job was claimed: the payment cannot have landed before it."""
    max_timeout_seconds: int

    @property
    def claim(self) -> str:
        """Digest of network, asset, payer and nonce: the claim key (J2)."""
        return claim_digest(self.network, self.asset, self.payer, self.nonce)

    def receipt(self, transaction: str, ledger: int | None = None) -> Receipt:
        """Give the proof that these terms were met; the record keeps only what they do not say."""
        return Receipt(self.network, transaction, self.payer, self.amount, self.asset, ledger)

    def dumps(self) -> str:
        return strict_json.dumps([getattr(self, f.name) for f in fields(self)])

    @classmethod
    def loads(cls, text: str) -> "Terms":
        charge, *rest = json.loads(text)
        return cls(ChargePolicy(charge), *rest)


@dataclass(frozen=True, slots=True)
class Job:
    """One record as it was read. Times are Redis-clock milliseconds since the epoch."""

    id: str
    version: int
    status: Status
    terms: Terms
    input: str
    """JSON text; empty once the job ended uncharged."""
    created_at_ms: int
    expires_at_ms: int
    """When the payment has surely expired by wall clock: createdAt + maxTimeoutSeconds + margin."""
    deadline_ms: int | None = None
    """Latest time for the work to end (S2); None under upfront."""
    started_at_ms: int | None = None
    finished_at_ms: int | None = None
    starts: int = 0
    """How often a handler was started."""
    interruptions: int = 0
    """Starts that ended with the worker's death or a stall."""
    retries: int = 0
    """Transient failures that led to another start."""
    place: int | None = None
    """Order in the lane: µs of the claim, or of the payment under upfront."""
    owner: str | None = None
    lease_until_ms: int | None = None
    work_until_ms: int | None = None
    leased_at_ms: int | None = None
    """When the present attempt began."""
    moved_at_ms: int | None = None
    """When a remote worker's progress or checkpoint was last written; local ones keep that to themselves."""
    reported_at_ms: int | None = None
    """When a remote worker reported the stored progress: another process may hold a later one back."""
    not_before_ms: int | None = None
    output: str | None = None
    """JSON text; withheld until the job succeeded (J14)."""
    settling_since_ms: int | None = None
    settler: str | None = None
    payment: str | None = None
    """JSON `[payload, requirements]` for the facilitator; leaves the record when the job is final."""
    receipt: Receipt | None = None
    settlement: Mapping[str, str] = field(default_factory=dict)
    """What is known about an unfinished or refused settlement: reason, transaction."""
    error: ErrorCode | None = None
    charged: bool = False
    progress: Mapping[str, Any] = field(default_factory=dict)
    cancel: bool = False
    """A cancel was asked for while the handler ran."""
    stands: "Place | None" = field(default=None, compare=False)
    """Where it stands in its lane, if that was read together with the record; never stored."""

    @property
    def service(self) -> str:
        return service_of(self.id)

    @property
    def charge(self) -> ChargePolicy:
        return self.terms.charge

    @property
    def is_final(self) -> bool:
        return self.status.is_final

    @property
    def is_settling(self) -> bool:
        """A settlement was begun and its answer is not recorded. A charged job has its answer."""
        begun = self.settling_since_ms is not None and not self.charged
        return begun and self.status in (Status.PENDING, Status.RUNNING)

    @property
    def may_be_public(self) -> bool:
        """A settlement of its payment was begun, so that the envelope may be on the chain for all to read."""
        begun = self.settling_since_ms is not None or self.charged or bool(self.settlement)
        return begun or self.status is Status.PAYMENT_UNCERTAIN or self.error is ErrorCode.PAYMENT_FAILED

    @property
    def lacks_output(self) -> bool:
        """The output that the payment is for is missing: the job cannot succeed (§10, 6)."""
        return self.charge.withholds_output and self.output is None

    @property
    def is_first_start(self) -> bool:
        """It was never leased before, not even by a worker that handed it back: no work was done on it."""
        return self.started_at_ms == self.leased_at_ms

    @property
    def attempt(self) -> int:
        return self.starts


@dataclass(frozen=True, slots=True)
class Draft:
    """A job about to be written. Durations count from the moment it is, by Redis' clock."""

    status: Status
    terms: Terms
    input: str
    payment: str
    window_seconds: float
    """Time until the work must have ended (S2); may be infinite."""
    expires_seconds: float
    """Time until the payment has surely expired by wall clock."""
    look_seconds: float
    """Time until the sweep must look at the job; may be infinite."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a queued job stands in its lane."""

    position: int
    """1 is next."""
    estimated_start_seconds: int


@dataclass(frozen=True, slots=True)
class Written:
    """A job that was just written, or had been; in a lane it is behind `ahead` others while `busy` run."""

    job: Job
    ahead: int | None = None
    busy: int = 0


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to run one job for a while."""

    job: Job
    owner: str
    lease_seconds: float
    budget_seconds: float
    """Time the handler has, from now."""


LEASE = ("owner", "lease_until_ms", "work_until_ms", "leased_at_ms", "moved_at_ms", "reported_at_ms")
"""Fields of a job whose handler runs."""
PAYMENT = ("payment", "settler", "settling_since_ms", "deadline_ms")
TURN = ("place", "not_before_ms", "cancel")
LEAVES_WHEN_FINAL = (*LEASE, *PAYMENT, *TURN)
"""Fields a finished record no longer needs."""
LEAVES_UNCHARGED = ("input", "output")
"""What a job takes that ended without a charge: it may be large, and cost nothing."""
