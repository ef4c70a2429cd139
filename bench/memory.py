"""Redis memory of a finished job with 200 bytes of input and of output, over many jobs."""

import time

from bench import servers
from bench.payments import payments
from bench.report import table
from bench.services import services
from provider.chain.clock import LedgerClock
from provider.jobs.claim.desk import ClaimDesk
from provider.jobs.model.job import Lease
from provider.jobs.run.transitions import Outcomes
from provider.jobs.settle.settler import Settler
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.jobs.store.ledger_cache import LedgerCache
from provider.payments.facilitator import FacilitatorClient

BYTES = 200


class Nobody:
    """A dispatcher that wakes nobody."""

    def handle(self, job_id: str) -> None: ...

    def settle(self, job_id: str) -> None: ...


def finish_jobs(store: JobStore, facilitator_url: str, settings, count: int) -> None:  # type: ignore[no-untyped-def]
    """Take so many jobs from a signed payment to a receipt, with the real parts but for the two queues."""
    service, nobody = services.get("echo"), Nobody()
    lanes, outcomes = Lanes(store), Outcomes(store, nobody, settings)
    client = FacilitatorClient(facilitator_url)
    settler = Settler(store, client, None, nobody, settings)  # type: ignore[arg-type]
    desk = ClaimDesk(store, client, LedgerClock(None, LedgerCache(store)), nobody, settings)
    value = {"text": "x" * (BYTES - len('{"text":""}'))}
    output = '{"text":"' + "y" * (BYTES - len('{"text":""}')) + '"}'
    for number, payment in enumerate(payments(desk.quote(service), count)):
        job = desk.call(service, lambda: value, payment)
        lease = lanes.lease(service, job.id, f"{number:016x}", lease_seconds=30)
        assert isinstance(lease, Lease)
        outcomes.output(lease.job, output, {})
        store.begin_settlement(store.get(job.id), f"{number:016x}", give_up_seconds=60)
        settler.record_paid(job.id, f"{number:064x}")


def run(quick: bool = False) -> None:
    """Compare Redis' memory before and after."""
    count = 500 if quick else 10_000
    with servers.redis_server() as redis_url, servers.facilitator(0) as url:
        settings = servers.settings_for(redis_url, url)
        store = servers.store_of(settings)
        finish_jobs(store, url, settings, 10)  # Scripts are loaded, the first keys are there.
        before = store.client.info("memory")["used_memory_dataset"]
        finish_jobs(store, url, settings, count)
        time.sleep(1)
        after = store.client.info("memory")["used_memory_dataset"]
    each = (after - before) / count
    rows = [(str(count), f"{each:.0f}", "2560", "yes" if each <= 2560 else "NO")]
    table(
        f"Memory of a finished job ({BYTES} bytes in and out)", ("jobs", "bytes each", "most", "holds"), rows
    )
