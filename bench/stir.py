"""`python -m bench.stir REDIS_URL PER_SECOND`: jobs of `echo` start, move on and fail, until killed."""

import sys
import time
from itertools import count

from bench.services import services
from provider.jobs.model.job import Lease
from provider.jobs.model.status import ErrorCode, Status
from provider.jobs.store.client import connect
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes


def main(redis_url: str, per_second: float) -> None:
    store = JobStore(connect(redis_url))
    lanes, service = Lanes(store), services.get("echo")
    for number in count():
        time.sleep(1 / per_second)
        ids = lanes.next("echo", 1)
        lease = lanes.lease(service, ids[0], f"{number:016x}", lease_seconds=30) if ids else None
        if not isinstance(lease, Lease):
            continue
        lanes.renew(lease.job.id, lease.owner, lease_seconds=30, progress={"done": 1, "total": 2})
        store.move(store.get(lease.job.id), Status.FAILED, {"error": ErrorCode.SERVICE_FAILED.value})


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
