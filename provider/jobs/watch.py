"""Looking at many jobs at once, without what is withheld: for event streams and held answers."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import fields

from provider.jobs import keys
from provider.jobs.connection import node_of, reaching_redis
from provider.jobs.models import Job
from provider.jobs.record import job_from_hash
from provider.jobs.store import JobStore

WITHHELD = frozenset({"input", "payment", "output"})
"""What can be large, and what nobody may see before it is paid (J14), is not even read."""
SHOWN = [f.name for f in fields(Job) if f.name not in WITHHELD and f.name != "id"]


def glance(store: JobStore, job_ids: Iterable[str]) -> dict[str, Job]:
    """Read jobs with one round trip a service; those that are gone are left out. Raises StoreUnavailable.

    Their input, payment and output are left empty.
    """
    found: dict[str, Job] = {}
    for ids in by_service(job_ids).values():
        with reaching_redis():
            pipe = node_of(store.client, keys.job(ids[0])).pipeline(transaction=False)
            for job_id in ids:
                pipe.hmget(keys.job(job_id), SHOWN)
            records = pipe.execute()
        for job_id, values in zip(ids, records, strict=True):
            known = {name: text for name, text in zip(SHOWN, values, strict=True) if text is not None}
            if "version" in known:
                found[job_id] = job_from_hash(job_id, {**known, "input": ""})
    return found


def by_service(job_ids: Iterable[str]) -> Mapping[str, list[str]]:
    """Group job ids by the service that they name, each once."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for job_id in dict.fromkeys(job_ids):
        groups[keys.split(job_id)[0]].append(job_id)
    return groups
