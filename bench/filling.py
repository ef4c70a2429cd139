"""Fill a store with finished jobs: copies of one that went the whole way, keys and fields included."""

from bench.memory import finish_jobs
from provider.jobs.model.job import Job
from provider.jobs.model.status import INDEX_STEP, Status
from provider.jobs.store import keys
from provider.jobs.store.jobs import JobStore
from provider.settings import Settings

CHUNK = 1000
COPY = """
-- Copy a finished job and its claim: new id and claim for each, the same fields, the same next look.
--
-- KEYS  1 job · 2 claim · 3 index · 4 due · then job and claim of each copy
-- ARGV  1 index score · 2 when due (ms) · then the id of each copy
local record, claim = redis.call('HGETALL', KEYS[1]), redis.call('HGETALL', KEYS[2])
for n = 3, #ARGV do
  redis.call('HSET', KEYS[2 * n - 1], unpack(record))
  redis.call('HSET', KEYS[2 * n], unpack(claim))
  redis.call('ZADD', KEYS[3], ARGV[1] + n, ARGV[n])
  redis.call('ZADD', KEYS[4], ARGV[2] + n, ARGV[n])
end
return #ARGV - 2
"""


def fill(store: JobStore, settings: Settings, count: int) -> None:
    """Store so many finished jobs, none of them due before its retention is over."""
    finish_jobs(settings, 1)
    (job_id,) = store.client.zrange(keys.index("echo"), 0, -1)
    _copy(store, store.get(job_id), count - 1)


def _copy(store: JobStore, job: Job, count: int) -> None:
    due_ms = int(store.client.zscore(keys.due(job.service), job.id))
    score = Status.SUCCEEDED.code * INDEX_STEP + job.created_at_ms
    shared = [keys.job(job.id), keys.claim(job.terms.claim), keys.index(job.service), keys.due(job.service)]
    copy = store.client.register_script(COPY)
    for start in range(0, count, CHUNK):
        numbers = range(start, min(start + CHUNK, count))
        ids = [f"{job.service}.{number:032x}" for number in numbers]
        own = [key for number, i in zip(numbers, ids, strict=True) for key in (keys.job(i), _claim(number))]
        copy(keys=[*shared, *own], args=[score + start, due_ms + start, *ids])


def _claim(number: int) -> str:
    return keys.claim(f"{number:032x}")
