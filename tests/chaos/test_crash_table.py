"""The crash table: a process is killed right after each stored step, and everything still ends as it must.

Steps are scripts (`provider.jobs.store.scripts.STEPS`); `nth` counts them in the process that dies.
"""

from dataclasses import dataclass, field
from importlib import resources
from itertools import product
from typing import Any

import pytest

from provider.jobs.model.status import Status
from provider.jobs.store.scripts import STEPS
from tests.chaos.crashing import write_plan
from tests.chaos.stage import NOWHERE, Stage
from tests.support.invariants import check_invariants
from tests.support.processes import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

HARMLESS = {
    "begin_round",
    "run_round",
    "abandon",
    "bind",
    "write",
    "vacate",
    "checkpoint",
    "fence",
    "forget",
    "mismatch",
    "pace",
    "ready",
    "reserve",
    "unlist",
    "unpaid",
}
"""Scripts that neither promise nor decide anything: dying after one is dying a little later."""
SUCCEEDED, FAILED, CANCELLED = Status.SUCCEEDED, Status.FAILED, Status.CANCELLED
LONG: dict[str, Any] = {"seconds": 20}
"""Work that ends in time only when it is cancelled."""


@dataclass(frozen=True)
class Row:
    """Who dies after which step of which job, and how the job ends all the same."""

    service: str
    kind: str
    step: str
    nth: int = 1
    ends: Status = SUCCEEDED
    charges: int = 1
    input: dict[str, Any] = field(default_factory=dict)
    before: str = ""
    """A step after which another process died first, as `kind step`; `nowhere`: no facilitator at first."""
    cancel: bool = False
    """Whether the buyer cancels the job, once it runs if it is served."""

    def __str__(self) -> str:
        given = "-".join([*map(str, self.input.values()), *(["cancelled"] if self.cancel else [])])
        return " ".join(
            filter(None, (self.service, given, self.before, self.kind, f"{self.step}:{self.nth}"))
        )


ROWS = [
    # On-success, in the order of a job's life.
    Row("after", "web", "claim"),
    Row("after", "web", "create"),
    Row("after", "handle", "lease"),
    Row("after", "handle", "renew"),
    Row("after", "handle", "move"),
    Row("after", "settle", "begin_settlement", ends=FAILED, charges=0),
    Row("after", "settle", "withdraw_settlement", before="nowhere"),
    Row("after", "settle", "move"),
    # Upfront.
    Row("before", "web", "claim"),
    Row("before", "web", "create"),
    Row("before", "settle", "begin_settlement", ends=FAILED, charges=0),
    Row("before", "settle", "withdraw_settlement", before="nowhere"),
    Row("before", "settle", "move"),
    Row("before", "handle", "lease"),
    Row("before", "handle", "renew"),
    Row("before", "handle", "move"),
    # Work that fails: for good, and at first.
    Row("after", "handle", "move", input={"fail": "always"}, ends=FAILED, charges=0),
    Row("before", "handle", "move", input={"fail": "always"}, ends=FAILED),
    Row("after", "handle", "move", input={"fail": "once"}),
    Row("before", "handle", "move", input={"fail": "once"}),
    # Cancelled: while it waits, and while it runs.
    Row("unserved", "web", "move", cancel=True, ends=CANCELLED, charges=0),
    Row("after", "web", "ask_cancel", input=LONG, cancel=True, ends=CANCELLED, charges=0),
    Row("before", "web", "ask_cancel", input=LONG, cancel=True, ends=CANCELLED),
    Row("after", "handle", "move", input=LONG, cancel=True, ends=CANCELLED, charges=0),
    Row("after", "sweep", "move", before="handle lease", cancel=True, ends=CANCELLED, charges=0),
    # The sweep and the reconciler die at what they repair.
    Row("before", "sweep", "move", before="handle lease"),
    Row("after", "sweep", "move", before="handle lease"),
    Row("unserved", "sweep", "move", ends=FAILED, charges=0),
    Row("after", "sweep", "move", before="settle begin_settlement", ends=FAILED, charges=0),
    Row("after", "reconcile", "move", before="settle begin_settlement", ends=FAILED, charges=0),
    Row("before", "reconcile", "move", before="settle begin_settlement", ends=FAILED, charges=0),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_crash_after_a_step_changes_nothing_in_the_end(stage: Stage, row: Row) -> None:
    """Issue: final status, number of charges and all invariants."""
    prepare(stage, row)
    if row.kind == "web":
        write_plan(stage.plan, row.kind, row.step, row.nth)
    job_id = stage.buy(row.service, row.input)
    with stage.watched(job_id):
        die_first(stage, row)
        if row.cancel:
            cancel(stage, row, job_id)
        job = stage.recover(job_id)
    assert wait_until(lambda: not stage.plan.exists(), 5), "nobody died"
    assert (job.status, stage.charges(job)) == (row.ends, row.charges)
    check_invariants(stage.evidence())


def prepare(stage: Stage, row: Row) -> None:
    """Write the plan, for the process that dies first."""
    if row.before == "nowhere":
        stage.stop("settle")
        stage.settle_facilitator = NOWHERE
        stage.start("settle")
        stage.settle_facilitator = stage.net.facilitator.url
    kind, step = row.before.split() if " " in row.before else (row.kind, row.step)
    if not dies_of_a_cancel(row):
        write_plan(stage.plan, kind, step, 1 if " " in row.before else row.nth)


def die_first(stage: Stage, row: Row) -> None:
    """Wait for the first death of two, and plan the second."""
    if " " in row.before:
        assert stage.sees(lambda: not stage.plan.exists())
        write_plan(stage.plan, row.kind, row.step, row.nth)


def cancel(stage: Stage, row: Row, job_id: str) -> None:
    """Cancel a job where it waits or runs; a worker that is to die of that works on no other by then."""
    assert stage.has_come_to(job_id, Status.QUEUED if row.service == "unserved" else Status.RUNNING)
    if dies_of_a_cancel(row):
        write_plan(stage.plan, row.kind, row.step, row.nth)
    stage.cancel(job_id)


def dies_of_a_cancel(row: Row) -> bool:
    return row.cancel and row.kind == "handle"


def test_every_stored_step_has_a_row_for_both_policies() -> None:
    """Issue: a new step without a row fails."""
    held = {(row.service, row.step) for row in ROWS}
    assert held >= set(product(("after", "before"), STEPS))


def test_every_script_is_a_step_or_is_known_to_be_harmless() -> None:
    """A script that was forgotten in STEPS would have no row."""
    folder = resources.files("provider.jobs.store") / "lua"
    scripts = {entry.name.removesuffix(".lua") for entry in folder.iterdir()}
    assert scripts == set(STEPS) | HARMLESS
