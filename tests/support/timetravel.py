"""Let time pass for what is stored: Redis' clock cannot be set, so every stored time moves into the past.

Processes may be at work meanwhile, so each key is aged at one moment: what is written a step later than it
was read would give a job its slot back, or a status that it has left.
"""

from typing import Any

from redis import Redis

from provider.jobs.store import keys

AGE_SCORES = """
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  redis.call('ZINCRBY', KEYS[1], -ARGV[1], member)
end
"""
AGE_RECORD = """
local record = redis.call('HGETALL', KEYS[1])
for at = 1, #record, 2 do
  if record[at]:sub(-3) == '_ms' then redis.call('HINCRBY', KEYS[1], record[at], -ARGV[1]) end
end
"""


def pass_time(client: "Redis", seconds: float) -> None:
    """Move every time of every service by so much into the past, as if the store had slept for as long."""
    ms = int(seconds * 1000)
    connection: Any = client
    for service in connection.smembers(keys.SERVICES):
        of_payers = connection.scan_iter(keys.open_jobs(service, "*"))
        kept = [keys.kept(service, charged=charged) for charged in (True, False)]
        lists = (keys.due(service), keys.slots(service), keys.reserved(service), keys.index(service))
        for key in (*lists, *kept, *of_payers):
            connection.eval(AGE_SCORES, 1, key, ms)
        for job_id in connection.zrange(keys.index(service), 0, -1):
            connection.eval(AGE_RECORD, 1, keys.job(job_id), ms)
