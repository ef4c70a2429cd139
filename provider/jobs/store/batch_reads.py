"""Looking at many jobs at once, without what is withheld: for event streams and held answers."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import fields

from provider.jobs.model.codec import readable
from provider.jobs.model.job import Job
from provider.jobs.model.job_id import service_of
from provider.jobs.store import keys
from provider.jobs.store.client import node_of, reaching_redis
from provider.jobs.store.jobs import JobStore

WITHHELD = frozenset({"input", "payment", "output"})
"""Large fields, and the output that is withheld until it is paid (J14), are not read."""
SHOWN = [f.name for f in fields(Job) if f.name not in WITHHELD and f.name != "id"]


def glance(store: JobStore, job_ids: Iterable[str]) -> dict[str, Job]:
    """Read jobs with one round trip a service; what is gone or unreadable is left out.

    Their input, payment and output are left empty. Raises StoreUnavailable.
    """
    found: dict[str, Job] = {}
    for ids in by_service(job_ids).values():
        with reaching_redis():
            pipe = node_of(store.client, keys.job(ids[0])).pipeline(transaction=False)
            for job_id in ids:
                pipe.hmget(keys.job(job_id), SHOWN)
            records = pipe.execute()
        known = {i: _record(values) for i, values in zip(ids, records, strict=True)}
        found |= {job.id: job for job in readable(known)}
    return found


def _record(values: list[str | None]) -> dict[str, str]:
    record = {name: text for name, text in zip(SHOWN, values, strict=True) if text is not None}
    return {**record, "input": ""} if record else {}


def by_service(job_ids: Iterable[str]) -> Mapping[str, list[str]]:
    """Group job ids by the service that they name, each once."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for job_id in dict.fromkeys(job_ids):
        groups[service_of(job_id)].append(job_id)
    return groups
