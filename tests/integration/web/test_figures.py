"""What workers measured, as a scrape of web shows it (standard §14)."""

import time
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from provider.chain.clock import LedgerClock
from provider.chain.rpc import StellarRpc
from provider.errors import NotDurable
from provider.jobs.reconcile.run import Reconciler
from provider.jobs.recover.sweep import Sweep
from provider.jobs.run.runner import Runner
from provider.jobs.store import keys
from provider.jobs.store.metrics import SETTLE_SECONDS, SWEEP_SECONDS, SWEPT_AT, Figures, Unhurried, timed
from tests.integration.web.conftest import NoCache, Shop
from tests.support.facilitator import Answer
from tests.support.reconciling import Scene, running_scene
from tests.support.timetravel import pass_time

REFUSED = {"success": False, "transaction": "", "errorReason": "insufficient_funds"}


def scrape(shop: Shop) -> dict[tuple[str, frozenset[Any]], float]:
    """Read every sample, by name and labels, as Prometheus would."""
    families = text_string_to_metric_families(shop.client.get("/metrics").text)
    samples = [sample for family in families for sample in family.samples]
    return {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples}


def value(shop: Shop, name: str, **labels: str) -> float | None:
    return scrape(shop).get((f"provider_{name}", frozenset(labels.items())))


def sweep(shop: Shop) -> Sweep:
    clock = LedgerClock(None, NoCache())
    once = Sweep(shop.store, shop.registry, shop.worker.settler, clock, shop.wake_ups, shop.settings)
    once.run()
    return once


@pytest.mark.parametrize(
    ("answer", "outcome"), [((200, REFUSED), "refused"), ((500, "broken"), "uncertain"), (None, "settled")]
)
def test_settlements_are_counted_by_their_outcome(shop: Shop, answer: Answer | None, outcome: str) -> None:
    """And the facilitator's time for /verify, asked by web, and for /settle, asked by a worker."""
    verified = value(shop, "facilitator_verify_seconds_count") or 0
    if answer:
        shop.facilitator.settle = lambda _: answer
    shop.worker.finish(shop.call().json["id"])
    assert value(shop, "settlements_total", service="echo", outcome=outcome) == 1
    assert value(shop, "facilitator_settle_seconds_count") == 1
    assert value(shop, "facilitator_verify_seconds_count") == verified + 1


def test_an_attempt_that_was_not_durable_is_counted_and_not_timed(shop: Shop) -> None:
    """C7: the facilitator was not asked."""

    class Unsure:
        def confirm(self, service: str) -> None:
            raise NotDurable

    shop.worker.settler._durability = Unsure()  # type: ignore[assignment]
    shop.worker.finish(shop.call().json["id"])
    assert value(shop, "settlements_total", service="echo", outcome="not_durable") == 1
    assert value(shop, "facilitator_settle_seconds_count") is None


def test_a_handlers_time_is_shown_by_how_it_ended(shop: Shop) -> None:
    """Durations of §14; the handler runs in a process of its own."""
    shop.call()
    Runner(shop.store, shop.registry, shop.wake_ups, shop.settings).run_next("echo")
    assert value(shop, "handler_seconds_count", service="echo", end="succeeded") == 1


def test_a_sweep_tells_its_time_its_actions_and_what_waits_for_it(shop: Shop) -> None:
    """§9: an upfront job whose settle message got lost is due after 15 s; here for five more."""
    shop.call("prepaid")
    pass_time(shop.store.client, 20)
    assert 5 <= (value(shop, "lane_sweep_lag_seconds", service="prepaid") or 0) < 15
    sweep(shop)
    assert value(shop, "lane_sweep_lag_seconds", service="prepaid") == 0
    assert value(shop, "sweep_actions_total", action="settle_again") == 1
    assert value(shop, "sweep_seconds_count") == 1
    assert time.time() - 30 < (value(shop, "sweep_last_run_timestamp_seconds") or 0) <= time.time()


def test_sweeps_that_find_nothing_are_written_once_a_minute(shop: Shop) -> None:
    """§9: their cost is that of what is due; none of them is left out of the count in the end."""
    gathering = Unhurried(Figures(shop.store), SWEPT_AT, seconds=60)
    for matters, written in ((False, 1), (False, 1), (True, 3), (False, 3)):
        gathering.add(timed(SWEEP_SECONDS, 0.001), matters=matters)
        assert value(shop, "sweep_seconds_count") == written
    hasty = Unhurried(Figures(shop.store), SWEPT_AT, seconds=0)
    for written in (4, 5):
        hasty.add(timed(SWEEP_SECONDS, 0.001), matters=False)
        assert value(shop, "sweep_seconds_count") == written


def test_an_idle_sweep_writes_nothing(shop: Shop) -> None:
    """The first one writes that there is a sweep at all."""
    idle = sweep(shop)
    before = shop.store.client.info("persistence")["aof_current_size"]
    idle.run()
    assert shop.store.client.info("persistence")["aof_current_size"] == before


@pytest.fixture
def scene(redis_url: str, tmp_path: Path) -> Any:
    """A chain beside the shop, and claims on its Redis."""
    with running_scene(redis_url, tmp_path) as scene:
        yield scene


def reconcile(shop: Shop, scene: Scene) -> None:
    rpc = StellarRpc(scene.servers[0].url, observer=Figures(shop.store).rpc_called)
    Reconciler(scene.store, [rpc], scene.settler, scene.settings).run()


def test_a_reconcile_run_tells_its_time_its_decisions_and_the_rpcs(shop: Shop, scene: Scene) -> None:
    """§10: one payment landed, one never did, and one was called settled and never landed."""
    paid, _, lied = (scene.claim() for _ in range(3))
    scene.land(paid.payment)
    scene.settler.record_paid(lied.id, "ab" * 32)
    scene.expire()
    pass_time(scene.redis, 3600)
    reconcile(shop, scene)
    assert value(shop, "reconcile_decisions_total", verdict="paid") == 1
    assert value(shop, "reconcile_decisions_total", verdict="unpaid") == 1
    assert value(shop, "contradictions_total") == 1
    assert value(shop, "reconcile_seconds_count") == 1
    assert (value(shop, "rpc_seconds_count", method="getLedgerEntries") or 0) >= 1
    assert time.time() - 30 < (value(shop, "reconcile_last_run_timestamp_seconds") or 0) <= time.time()


def test_an_rpc_that_does_not_answer_is_timed_too(shop: Shop) -> None:
    """Otherwise an RPC would look best while it is away."""
    rpc = StellarRpc("http://127.0.0.1:9", observer=Figures(shop.store).rpc_called)
    assert LedgerClock(rpc, NoCache()).read() is None
    assert value(shop, "rpc_seconds_count", method="getHealth") == 1


def test_figures_of_all_processes_add_up_in_buckets(shop: Shop) -> None:
    """Prometheus' buckets hold all that took no longer; each process adds to its own bucket."""
    for seconds in (0.25, 0.3, 400.0):
        Figures(shop.store).add(timed(SETTLE_SECONDS, seconds))
    buckets = {
        bound: value(shop, "facilitator_settle_seconds_bucket", le=bound) for bound in ("0.1", "0.25", "0.5")
    }
    assert buckets == {"0.1": 0, "0.25": 1, "0.5": 2}
    assert value(shop, "facilitator_settle_seconds_bucket", le="60.0") == 2
    assert value(shop, "facilitator_settle_seconds_bucket", le="+Inf") == 3
    assert value(shop, "facilitator_settle_seconds_sum") == pytest.approx(400.55)


def test_a_figure_is_never_worth_a_job(shop: Shop) -> None:
    """Redis refuses the figures, here because something else lies under their key: the settlement stands."""
    shop.store.client.set(keys.FIGURES, "no hash")
    job_id = shop.call().json["id"]
    shop.worker.finish(job_id)
    sweep(shop)
    assert shop.store.get(job_id).charged
