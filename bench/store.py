"""What the job store costs beyond Redis itself: a move against a bare EVALSHA, and an admission decision."""

import itertools
import statistics
import time
from collections.abc import Callable

from bench import servers
from bench.report import table
from bench.services import services
from provider.jobs.model.job import Draft, Job, Terms
from provider.jobs.model.job_id import place_for
from provider.jobs.model.status import INDEX_STEP, Status
from provider.jobs.store import keys
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.services import ChargePolicy

READS = "return 1"
WRITES = "return redis.call('HINCRBY', KEYS[1], 'version', 1)"
LEAST = 0.5
WAITING, MOST_MS = 10_000, 1.0


def rates(calls: dict[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """Give calls per second of each: they take turns of 50 calls, so that noise meets all alike."""
    took, made = dict.fromkeys(calls, 0.0), dict.fromkeys(calls, 0)
    while sum(took.values()) < seconds * len(calls):
        for name, call in calls.items():
            began = time.perf_counter()
            for _ in range(50):
                call()
            took[name] += time.perf_counter() - began
            made[name] += 50
    return {name: made[name] / took[name] for name in calls}


def new_job(store: JobStore, pay_to: str) -> Job:
    """Store one queued job."""
    job_id = f"echo.{1:032x}"
    terms = Terms(ChargePolicy.ON_SUCCESS, "stellar:testnet", pay_to, pay_to, pay_to, 1, 1, 9, None, 60)
    store.client.zadd(keys.reserved("echo"), {place_for(job_id, terms.claim): 2**52})
    created = store.create(job_id, Draft(Status.QUEUED, terms, "{}", "[]", 50, 120, 60))
    assert created is not None
    return created.job


def move_back_and_forth(store: JobStore, job: Job) -> Callable[[], object]:
    """Give a call that takes a job out of its lane, and the next time back into it."""
    state = itertools.cycle(((Status.RUNNING, ""), (Status.QUEUED, "lane")))

    def move() -> None:
        status, enter = next(state)
        version = store.move(job, status, {"retries": 1}, enter=enter, look=60)
        assert version is not None
        # In place: a copy would cost a tenth of what is measured, and no caller of ours makes one.
        object.__setattr__(job, "version", version)
        object.__setattr__(job, "status", status)

    return move


def moves(quick: bool, fsync: str) -> tuple[str, ...]:
    """Compare moves with the cheapest scripts that read and write."""
    with servers.redis_server() as url:
        settings = servers.settings_for(url, "http://127.0.0.1:9")
        store = servers.store_of(settings)
        store.client.config_set("appendfsync", fsync)
        reads, writes = (store.client.register_script(text) for text in (READS, WRITES))
        found = rates(
            {
                "move": move_back_and_forth(store, new_job(store, settings.pay_to)),
                "writes": lambda: writes(keys=["bench"]),
                "reads": lambda: reads(keys=["bench"]),
            },
            1 if quick else 5,
        )
    ratio = found["move"] / found["writes"]
    holds = "yes" if ratio >= LEAST else "NO"
    return (
        fsync,
        f"{found['move']:.0f}",
        f"{found['writes']:.0f}",
        f"{ratio:.2f}",
        str(LEAST),
        holds,
        f"{found['reads']:.0f}",
        f"{found['move'] / found['reads']:.2f}",
    )


def admission(quick: bool) -> list[tuple[str, ...]]:
    """Time the question whether a lane has a place, with that many jobs in it."""
    rows = []
    for waiting in (0, WAITING):
        with servers.redis_server() as url:
            store = servers.store_of(servers.settings_for(url, "http://127.0.0.1:9"))
            service, lanes = services.get("echo"), Lanes(store)
            if waiting:
                _crowd(store, waiting)
            times = sorted(_admit(lanes, service) for _ in range(500 if quick else 5000))
        median = statistics.median(times) * 1000
        p99 = times[int(len(times) * 0.99)] * 1000
        holds = "yes" if median <= MOST_MS else "NO"
        rows.append((f"{waiting:,}", f"{median:.2f}", f"{p99:.2f}", f"{MOST_MS:.0f}", holds))
    return rows


def _crowd(store: JobStore, waiting: int) -> None:
    ids = [f"echo.{number:032x}" for number in range(waiting)]
    code = Status.QUEUED.code * INDEX_STEP
    store.client.zadd(keys.index("echo"), {job_id: code + n for n, job_id in enumerate(ids)})
    store.client.zadd(keys.lane("echo"), {job_id: n for n, job_id in enumerate(ids)})


def _admit(lanes: Lanes, service) -> float:  # type: ignore[no-untyped-def]
    began = time.perf_counter()
    lanes.reserve(service, "", seconds=0, most_wait_seconds=3600)
    return time.perf_counter() - began


def run(quick: bool = False) -> None:
    """Measure both."""
    heads = ("appendfsync", "moves/s", "writing EVALSHA/s", "ratio", "least", "holds", "reading/s", "ratio")
    table(
        "Store moves, one client, in turn with bare scripts",
        heads,
        [moves(quick, fsync) for fsync in ("always", "everysec")],
    )
    heads = ("jobs in the lane", "p50 ms", "p99 ms", "most", "p50 holds")
    table("Admission decision", heads, admission(quick))
