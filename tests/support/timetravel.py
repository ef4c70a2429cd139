"""Let time pass for what is stored: Redis' clock cannot be set, so every stored time moves into the past."""

from typing import Any

from redis import Redis

from provider.jobs.store import keys


def pass_time(client: "Redis", seconds: float) -> None:
    """Move every time of every service by so much into the past, as if the store had slept for as long."""
    ms = int(seconds * 1000)
    connection: Any = client
    for service in connection.smembers(keys.SERVICES):
        of_payers = connection.scan_iter(keys.open_jobs(service, "*"))
        kept = [keys.kept(service, charged=charged) for charged in (True, False)]
        for key in (keys.due(service), keys.slots(service), keys.reserved(service), *kept, *of_payers):
            _age_scores(connection, key, ms)
        for job_id, score in connection.zrange(keys.index(service), 0, -1, withscores=True):
            connection.zadd(keys.index(service), {job_id: int(score) - ms})
            _age_record(connection, keys.job(job_id), ms)


def _age_scores(connection: Any, key: str, ms: int) -> None:
    for member in connection.zrange(key, 0, -1):
        connection.zincrby(key, -ms, member)


def _age_record(connection: Any, key: str, ms: int) -> None:
    for name, text in connection.hgetall(key).items():
        if name.endswith("_ms"):
            connection.hset(key, name, int(text) - ms)
