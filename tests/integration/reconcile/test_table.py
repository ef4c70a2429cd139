"""Every fate of a payment, asked about in every way: decided as the money went, or left with a reason."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from provider.jobs.reconcile.audit import Audit
from provider.jobs.reconcile.decide import Verdict
from provider.jobs.reconcile.quorum import Quorum
from provider.jobs.store import keys
from provider.jobs.store.reconcile_cursor import Cursors
from tests.support.payment_table import (
    HINTS,
    HISTORIES,
    RPCS,
    TIMES,
    WINDOW,
    Asked,
    Cell,
    Fate,
    Payment,
    Table,
)
from tests.support.reconciling import Scene, running_scene

DOC = Path(__file__).parents[3] / "docs" / "reconciliation.md"
HEADING = "### What one RPC cannot decide"

Key = tuple[Fate, Asked]


@pytest.fixture(scope="module")
def cells() -> dict[Key, Cell]:
    """Fill the table; its ledgers close as fast as it is asked."""
    table = Table()
    return {(cell.fate, cell.asked): cell for time in table.play() for cell in table.ask(time)}


def test_every_cell_is_decided_as_the_money_went_or_not_at_all(cells: dict[Key, Cell]) -> None:
    """Line 1 to 3 of the faults that the chain's source showed; red before for 537 of the 5 760 cells."""
    assert len(cells) == 5 * 4 * 2 * 3 * 3 * 4 * 4
    for (fate, _), cell in cells.items():
        truth = Verdict.PAID if fate.is_paid else Verdict.UNPAID
        assert cell.decision.verdict in (truth, Verdict.UNDECIDED), cell
        assert cell.decision.reason, cell


# What cannot be decided is in the documentation


def rows() -> Iterator[list[str]]:
    """Read the table of what one RPC cannot decide."""
    lines = DOC.read_text().partition(HEADING)[2].splitlines()
    table = [line for line in lines if line.startswith("|")]
    for line in table[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def is_named(fate: Fate, asked: Asked, row: list[str]) -> bool:
    """Tell whether a row of the documentation is about a cell."""
    time, entry, history, use, hint, _ = row
    begins = {
        "whole": "with the claim",
        "from before the use": "between claim and use",
    }.get(asked.history, "after the use")
    matches = [
        time in ("any", "before the expiration" if asked.time == TIMES[0] else "after it"),
        entry == fate.entry(asked.time),
        history in ("any", begins),
        use == "any" or fate.use in use.split(" or "),
        hint == "any" or asked.hint != "right" or not fate.is_used,
    ]
    return all(matches)


def test_the_cells_that_one_rpc_cannot_decide_are_named_in_the_documentation(cells: dict[Key, Cell]) -> None:
    """Each row of it is about undecided cells, and each undecided cell is in a row, with its reason."""
    table, used = list(rows()), set()
    for (fate, asked), cell in cells.items():
        if asked.rpcs != "one":
            continue
        named = [place for place, row in enumerate(table) if is_named(fate, asked, row)]
        undecided = cell.decision.verdict is Verdict.UNDECIDED
        assert bool(named) == undecided, cell
        assert all(table[place][-1] in cell.decision.reason for place in named), cell
        used |= set(named)
    assert used == set(range(len(table)))


def test_of_two_rpcs_the_second_can_only_keep_a_payment_from_being_called_unpaid(
    cells: dict[Key, Cell],
) -> None:
    for (fate, asked), cell in cells.items():
        alone = cells[fate, Asked(asked.time, asked.hint, asked.history, "one")].decision.verdict
        if asked.rpcs == "two":
            assert cell.decision.verdict is alone
        if asked.rpcs == RPCS[2]:
            assert cell.decision.verdict is (Verdict.UNDECIDED if alone is Verdict.UNPAID else alone)
        if asked.rpcs == RPCS[3] and cell.decision.verdict is Verdict.UNPAID:
            assert alone is Verdict.UNPAID


# The audit of settled jobs


@pytest.fixture
def audited(redis_url: str, certificates: Path) -> Iterator[Table]:
    """Fill the table with settled jobs: each payment once recorded as charged, and once as not."""
    with running_scene(redis_url, certificates, min_temporary_ttl=WINDOW + 1) as scene:
        table = Table(scene, records=(True, False))
        for payment in table.payments:
            settle(scene, payment, table)
        yield table


def settle(scene: Scene, payment: Payment, table: Table) -> None:
    """Record a payment as settled, or refused, and let it have expired two hours ago."""
    claim = scene.claim(payment=payment.payload, expiration=table.expiration)
    if payment.charged:
        scene.settler.record_paid(claim.id, "ab" * 32)
    else:
        scene.settler.record_unpaid(claim.id, "invalid")
    payment.job = claim.job
    scene.redis.hset(keys.job(claim.id), "expires_at_ms", scene.store.now_ms() - 7_200_000)


def test_the_audit_finds_each_contradiction_that_the_chain_can_show_and_no_other(
    audited: Table, cells: dict[Key, Cell]
) -> None:
    """Red before: each settled job that was touched after its expiration was a contradiction."""
    scene = audited.scene
    for time in audited.play():
        if time == TIMES[0]:
            continue
        for hint in HINTS:
            for payment in audited.payments:
                named(scene, payment, hint)
            for history in HISTORIES:
                for rpcs in RPCS:
                    check(audited, Asked(time, hint, history, rpcs), cells)


def named(scene: Scene, payment: Payment, hint: str) -> None:
    """Have the facilitator have named a transaction."""
    claim_id, tx_hash = payment.job.id, payment.hashes[hint]
    if payment.charged:
        scene.receipt_of(claim_id, payment.job.terms, tx_hash)
    else:
        scene.redis.hset(keys.job(claim_id), "settlement", f'{{"transaction":"{tx_hash}"}}')


def check(table: Table, asked: Asked, cells: dict[Key, Cell]) -> None:
    """Audit all jobs once, and hold the contradictions against the money."""
    scene = table.scene
    scene.redis.delete(keys.RECONCILE_CURSOR)
    quorum = Quorum(table.nodes(asked), table.settings)
    confirmed, found = Audit(scene.store, Cursors(scene.store), quorum).run(1_000)
    told = {decision.job_id for decision in found}
    undecided = 0
    for payment in table.payments:
        cell = cells[payment.fate, asked]
        is_decided = cell.decision.verdict is not Verdict.UNDECIDED
        is_wrong = payment.charged != payment.fate.is_paid
        assert (payment.job.id in told) == (is_wrong and is_decided), (cell, payment.charged)
        undecided += not is_decided
    assert confirmed == len(table.payments) - len(told) - undecided
