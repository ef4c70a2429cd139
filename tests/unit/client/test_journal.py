"""A journal has every payment before it is sent, whatever ends the process that writes it."""

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from provider.client import Journal, Payment
from provider.client.entry import dump_reply
from provider.client.errors import LimitReached
from provider.client.evidence import Standing
from provider.client.exchange import HttpReply
from tests.unit.client.conftest import payments

ROUNDS = 20
RESERVE = """if True:
    import json, sys, time
    from pathlib import Path
    from provider.client import Journal, Payment
    from provider.client.errors import LimitReached

    def check(counted):
        time.sleep(0.005)
        if counted:
            raise LimitReached

    refused = 0
    payment = Payment.from_json(json.loads(sys.stdin.readline()))
    print("ready", flush=True)
    for journal in json.loads(sys.stdin.readline()):
        try:
            Journal(journal).reserve(payment, check)
        except LimitReached:
            refused += 1
    print(refused)
"""
REPLY = HttpReply(200, {"content-type": "image/png", "x-other": "1"}, b"\x89PNG\xff")


def allow(counted: list[Payment]) -> None:
    pass


def at_most(count: int) -> Any:
    def check(counted: list[Payment]) -> None:
        if len(counted) >= count:
            raise LimitReached

    return check


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "payments.jsonl"


def test_what_was_written_is_read_by_another_process(path: Path, payment: Payment) -> None:
    Journal(path).reserve(payment, allow)
    read = Journal(path)
    assert read.open_payments() == [payment]
    read.record(payment.id, kind="delivered", reply=dump_reply(REPLY))
    read.record(payment.id, standing="paid", transaction="ab", ledger=9, finished=True)
    entry = Journal(path).find(payment.id)
    assert entry is not None
    assert (entry.standing, entry.transaction, entry.ledger) == (Standing.PAID, "ab", 9)
    assert entry.reply == HttpReply(200, {"content-type": "image/png"}, REPLY.content)
    assert Journal(path).open_payments() == []


def test_a_payment_is_on_the_disk_when_reserve_returns(
    path: Path, payment: Payment, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino) or real(handle))
    Journal(path).reserve(payment, allow)
    assert synced == [path.stat().st_ino, path.parent.stat().st_ino]


def test_only_its_owner_may_read_a_journal(path: Path, payment: Payment) -> None:
    Journal(path).reserve(payment, allow)
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("cut", range(2, 60, 7))
def test_a_line_that_a_crash_cut_short_harms_no_other(path: Path, cut: int) -> None:
    """A line that lacks its end alone is whole: it counts, though it was never sent."""
    first, second, third = payments(3)
    journal = Journal(path)
    journal.reserve(first, allow)
    whole = path.read_bytes()
    journal.reserve(second, allow)
    path.write_bytes(path.read_bytes()[:-cut])
    assert path.read_bytes().startswith(whole)
    after = Journal(path)
    after.reserve(third, allow)
    assert [one.id for one in Journal(path).open_payments()] == [first.id, third.id]


def test_a_limit_holds_over_processes(tmp_path: Path) -> None:
    """Four processes find one place, in twenty journals; red without the lock."""
    running = [_reserving(one) for one in payments(4)]
    journals = json.dumps([str(tmp_path / f"{n}.jsonl") for n in range(ROUNDS)])
    for process in running:
        assert process.stdin is not None
        process.stdin.write(journals + "\n")
        process.stdin.flush()
    assert sum(int(process.communicate(timeout=100)[0]) for process in running) == 3 * ROUNDS


def _reserving(payment: Payment) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", RESERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(payment.as_json()) + "\n")
    process.stdin.flush()
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("is_file", [True, False])
def test_a_limit_holds_over_threads(tmp_path: Path, is_file: bool) -> None:
    """Red without a lock, for the journal in memory."""
    for round_number in range(ROUNDS):
        journal = Journal(tmp_path / f"{round_number}.jsonl" if is_file else None)
        start, refused = threading.Barrier(8), []

        def check(counted: list[Payment]) -> None:
            time.sleep(0.001)
            at_most(1)(counted)

        def reserve(
            one: Payment, journal: Journal = journal, start: Any = start, refused: Any = refused
        ) -> None:
            start.wait()
            try:
                journal.reserve(one, check)
            except LimitReached:
                refused.append(one)

        threads = [threading.Thread(target=reserve, args=(one,)) for one in payments(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) == 7


def test_without_a_file_it_remembers_as_long_as_it_lives(payment: Payment) -> None:
    journal = Journal()
    journal.reserve(payment, allow)
    assert journal.open_payments() == [payment]


def test_a_payment_that_the_chain_disproves_counts_no_more(path: Path, payment: Payment) -> None:
    journal = Journal(path)
    journal.reserve(payment, allow)
    with pytest.raises(LimitReached):
        journal.check(at_most(1))
    journal.record(payment.id, standing="unpaid")
    journal.check(at_most(1))


def test_a_compacted_journal_counts_as_before(path: Path) -> None:
    """Another process that has the journal open goes on with it, too."""
    old, late, unfinished = payments(3)
    late, other = replace(late, signed_at=90_000.0), Journal(path)
    for one in (old, late, unfinished):
        other.reserve(one, allow)
    for one in (old, late):
        other.record(one.id, kind="delivered", reply=dump_reply(REPLY))
        other.record(one.id, standing="paid", transaction="ab", finished=True)
    before = path.stat().st_size
    Journal(path).compact(now=100_000.0)
    assert path.stat().st_size < before
    for journal in (other, Journal(path)):
        assert [entry.payment.id for entry in journal.entries()] == [old.id, late.id, unfinished.id]
        assert journal.open_payments() == [unfinished]
        found = [journal.find(one.id) for one in (old, late)]
        assert [entry and entry.reply for entry in found] == [
            None,
            HttpReply(200, {"content-type": "image/png"}, REPLY.content),
        ]
        with pytest.raises(LimitReached):
            journal.check(at_most(3))
    assert "input" in path.read_text()
    other.reserve(replace(unfinished, id="pay_new"), allow)
    assert len(Journal(path).entries()) == 4


def test_lines_of_a_later_version_are_read_as_far_as_they_are_known(path: Path, payment: Payment) -> None:
    Journal(path).reserve(payment, allow)
    line = json.loads(path.read_text())
    line["payment"]["later"] = {"a": 1}
    path.write_text(json.dumps({"event": "unknown", "id": "pay_9"}) + "\n7\n\n" + json.dumps(line) + "\n")
    assert Journal(path).open_payments() == [payment]
