"""All that is stored about one job, for its operator: the record, and where the job lies."""

from dataclasses import dataclass
from typing import Any

from provider.errors import JobNotFound
from provider.jobs.model.codec import job_from_hash
from provider.jobs.model.job import Job
from provider.jobs.model.job_id import service_of
from provider.jobs.model.status import Status
from provider.jobs.model.wire import dump_job, wire_time
from provider.jobs.store import keys
from provider.jobs.store.client import node_of, reaching_redis
from provider.jobs.store.jobs import JobStore


@dataclass(frozen=True, slots=True)
class Dossier:
    """One job at one moment."""

    job: Job
    position: int | None
    """In its lane; 1 is next."""
    slot_until_ms: int | None
    due_ms: int | None
    """When the sweep looks at it."""
    units_done: int
    """Units of work that are complete (R5)."""

    def as_object(self, *, input_too: bool = False, output_too: bool = False) -> dict[str, Any]:
        """Spell it as JSON; input, and the output once it is paid (J14), only on request."""
        job = self.job
        wire = dump_job(job)
        shown = wire.pop("output", None)
        wire |= {
            "version": job.version,
            "terms": _terms(job),
            "starts": {"made": job.starts, "interrupted": job.interruptions, "retries": job.retries},
            "queue": {"position": self.position, "notBefore": wire_time(job.not_before_ms)},
            "lease": _lease(self),
            "deadline": wire_time(job.deadline_ms),
            "paymentExpires": wire_time(job.expires_at_ms),
            "settlingSince": wire_time(job.settling_since_ms),
            "cancelAsked": job.cancel,
            "outputStored": job.output is not None,
            "unitsDone": self.units_done,
            "due": wire_time(self.due_ms),
        }
        if input_too:
            wire["input"] = job.input
        if output_too and job.status is Status.SUCCEEDED:
            wire["output"] = shown
        return wire


def read_dossier(store: JobStore, job_id: str) -> Dossier:
    """Read all about a job. Raises JobNotFound."""
    try:
        service = service_of(job_id)
    except ValueError:
        raise JobNotFound from None
    with reaching_redis():
        pipe = node_of(store.client, keys.job(job_id)).pipeline(transaction=True)
        pipe.hgetall(keys.job(job_id))
        pipe.zrank(keys.lane(service), job_id)
        pipe.zscore(keys.slots(service), job_id)
        pipe.zscore(keys.due(service), job_id)
        pipe.hkeys(keys.work(job_id))
        record, rank, slot, due, units = pipe.execute()
    if not record:
        raise JobNotFound
    position = None if rank is None else rank + 1
    done = sum(name.startswith("u:") for name in units)
    return Dossier(job_from_hash(job_id, record), position, _whole(slot), _whole(due), done)


def _whole(score: float | None) -> int | None:
    return None if score is None else int(score)


def _terms(job: Job) -> dict[str, Any]:
    terms = job.terms
    return {
        "network": terms.network,
        "asset": terms.asset,
        "payer": terms.payer,
        "payTo": terms.pay_to,
        "amount": str(terms.amount),
        "nonce": str(terms.nonce),
        "expirationLedger": terms.expiration_ledger,
        "claimLedger": terms.claim_ledger,
        "maxTimeoutSeconds": terms.max_timeout_seconds,
    }


def _lease(dossier: Dossier) -> dict[str, Any] | None:
    if dossier.job.owner is None:
        return None
    return {
        "owner": dossier.job.owner,
        "until": wire_time(dossier.job.lease_until_ms),
        "slotUntil": wire_time(dossier.slot_until_ms),
        "workUntil": wire_time(dossier.job.work_until_ms),
    }
