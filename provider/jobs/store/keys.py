"""The key space, written once. No other module spells a key.

| key | type | meaning |
|---|---|---|
| `provider:{S}:job:<hex>` | hash | the record of job `S.<hex>` (`model.job.Job`), the only authority (J1) |
| `provider:{S}:work:<hex>` | hash | its checkpoints: `u:<unit>` done, `c:<unit>` cursor, `bytes` (R5) |
| `provider:{S}:index` | sorted set | every job of service S, score = status code × 10¹⁴ + createdAt in ms |
| `provider:{S}:lane` | sorted set | queued jobs that may start, score = place (µs of the claim or payment) |
| `provider:{S}:slots` | sorted set | jobs whose handler runs, score = lease expiry in ms |
| `provider:{S}:due` | sorted set | jobs the sweep must look at, score = when (ms) |
| `provider:{S}:kept` | sorted set | finished jobs that were charged, score = when retention begins (ms) |
| `provider:{S}:uncharged` | sorted set | the others |
| `provider:{S}:reserved` | sorted set | `<job id> D`: places of verified payments, score = kept until (ms) |
| `provider:{S}:open:<payer>` | sorted set | `D` of open on-success jobs, score = counts until (ms) |
| `provider:{S}:unpaid:<payer>` | string | how many of its jobs ended unpaid after work; expires (S5) |
| `provider:{S}:pace` | hash | `average_ms` of the service's handlers |
| `provider:{S}:fence` | string | written before `WAITAOF`, so that it confirms all earlier writes (C7) |
| `provider:{claim:D}` | hash | who used payment D first: job, call, envelope, identifier, client … (J2, J3) |
| `provider:{identifier:D}` | string | claim bound to an identifier of a payer (H8), expires with the job |
| `provider:{receipt:D}` | string | the job whose receipt is transaction D (§8), expires with the job |
| `provider:{S}:contradicted` | hash | job id → what the chain says against its record (§10, 7) |
| `provider:audit-later` | sorted set | jobs that were not over when the audit came by, score = when (ms) |
| `provider:client-key` | string | random key of the digests of clients' addresses in claims (J3) |
| `provider:workers` | hash | per remote worker, the digest of its token and its services (§11) |
| `provider:services` | set | names of all services that ever had a job, for stranded ones (Q7) |
| `provider:cursor:reconcile` | hash | per service, how far the reconciler got |
| `provider:figures` | hash | what processes measured, for metrics (`figures.Figures`) |
| `provider:round:<entry>` | hash | the last round of an entry of beat: `number`, `at_ms`, and `ran` (C3) |
| `provider:clock` | string | the latest ledger and its close time, for a ledger's length |

`S` is a service's name in braces: the hash tag that keeps all keys of one service on one node of a
Redis Cluster (J7). The claim key has a slot of its own and is taken before the job is written.
The channel `provider:{S}:job:<hex>` (the record's own key) carries a message after every change.
"""

import hashlib

from provider.jobs.model.job_id import split

PREFIX = "provider"
SERVICES = f"{PREFIX}:services"
WORKERS = f"{PREFIX}:workers"
RECONCILE_CURSOR = f"{PREFIX}:cursor:reconcile"
CLOCK = f"{PREFIX}:clock"
AUDIT_LATER = f"{PREFIX}:audit-later"
CLIENT_KEY = f"{PREFIX}:client-key"
FIGURES = f"{PREFIX}:figures"
EVENTS = f"{PREFIX}:*:job:*"
"""Pattern of all record channels."""


def job(job_id: str) -> str:
    service, token = split(job_id)
    return f"{PREFIX}:{{{service}}}:job:{token}"


def work(job_id: str) -> str:
    service, token = split(job_id)
    return f"{PREFIX}:{{{service}}}:work:{token}"


def job_id_of(channel: str) -> str:
    """Give the job id whose record lives under this key (or channel)."""
    _, tag, _, token = channel.split(":")
    return f"{tag[1:-1]}.{token}"


def index(service: str) -> str:
    return f"{PREFIX}:{{{service}}}:index"


def lane(service: str) -> str:
    return f"{PREFIX}:{{{service}}}:lane"


def slots(service: str) -> str:
    return f"{PREFIX}:{{{service}}}:slots"


def due(service: str) -> str:
    return f"{PREFIX}:{{{service}}}:due"


def kept(service: str, *, charged: bool = True) -> str:
    return f"{PREFIX}:{{{service}}}:{'kept' if charged else 'uncharged'}"


def reserved(service: str) -> str:
    return f"{PREFIX}:{{{service}}}:reserved"


def open_jobs(service: str, payer: str) -> str:
    return f"{PREFIX}:{{{service}}}:open:{payer}"


def unpaid(service: str, payer: str) -> str:
    return f"{PREFIX}:{{{service}}}:unpaid:{payer}"


def pace(service: str) -> str:
    return f"{PREFIX}:{{{service}}}:pace"


def fence(service: str) -> str:
    return f"{PREFIX}:{{{service}}}:fence"


def contradicted(service: str) -> str:
    return f"{PREFIX}:{{{service}}}:contradicted"


def claim(digest: str) -> str:
    return f"{PREFIX}:{{claim:{digest}}}"


def receipt(transaction: str) -> str:
    return f"{PREFIX}:{{receipt:{transaction.lower()}}}"


def round_of(entry: str) -> str:
    return f"{PREFIX}:round:{entry}"


def identifier(payer: str, value: str) -> str:
    text = f"{payer} {value}"
    return f"{PREFIX}:{{identifier:{hashlib.sha256(text.encode()).hexdigest()[:32]}}}"
