"""What a finished job costs (issue: at most 2.5 KB at 200 bytes of input and output)."""

from typing import Any

from provider.jobs.store import keys
from tests.support.jobs import Platform

FIELD = "x" * 180
JOBS = 50


def test_a_finished_job_takes_at_most_two_and_a_half_kilobytes(platform: Platform) -> None:
    """Record, claim and list entries together; `bench` measures 10 000 of them."""
    client: Any = platform.store.client
    for _ in range(JOBS):
        platform.finish(platform.buy("after", {"text": FIELD}))
    own = client.keys("provider:*")
    used = sum(client.memory_usage(key, samples=0) for key in own)
    assert used / JOBS <= 2560
    assert client.zcard(keys.index("after")) == JOBS
