"""Redis memory of a finished job with 200 bytes of input and of output, over many jobs."""

import time

from bench import servers
from bench.payments import payments
from bench.report import table
from bench.services import services
from provider.jobs.model.job import Lease
from provider.settings import Settings

BYTES = 200


class Nobody:
    """A dispatcher that wakes nobody."""

    def handle(self, job_id: str) -> None: ...

    def settle(self, job_id: str) -> None: ...


def finish_jobs(settings: Settings, count: int) -> None:
    """Take so many jobs from a signed payment to a receipt, with the real parts but for the two queues."""
    platform, service = servers.platform_of(settings, dispatcher=Nobody()), services.get("echo")
    store, desk = platform.store, platform.desk
    value = {"text": "x" * (BYTES - len('{"text":""}'))}
    output = '{"text":"' + "y" * (BYTES - len('{"text":""}')) + '"}'
    for number, payment in enumerate(payments(desk.quote(service), count)):
        job = desk.call(service, lambda: value, payment)
        lease = platform.lanes.lease(service, job.id, f"{number:016x}", lease_seconds=30)
        assert isinstance(lease, Lease)
        platform.outcomes.output(lease.job, output, {})
        store.begin_settlement(store.get(job.id), f"{number:016x}", give_up_seconds=60)
        platform.settler.record_paid(job.id, f"{number:064x}")


def run(quick: bool = False) -> None:
    """Compare Redis' memory before and after."""
    count = 500 if quick else 10_000
    with servers.redis_server() as redis_url, servers.facilitator(0) as url:
        settings = servers.settings_for(redis_url, url)
        store = servers.store_of(settings)
        finish_jobs(settings, 10)  # Scripts are loaded, the first keys are there.
        before = store.client.info("memory")["used_memory_dataset"]
        finish_jobs(settings, count)
        time.sleep(1)
        after = store.client.info("memory")["used_memory_dataset"]
    each = (after - before) / count
    rows = [(str(count), f"{each:.0f}", "2560", "yes" if each <= 2560 else "NO")]
    table(
        f"Memory of a finished job ({BYTES} bytes in and out)", ("jobs", "bytes each", "most", "holds"), rows
    )
