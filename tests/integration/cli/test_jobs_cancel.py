"""`provider jobs cancel` (R7)."""

import pytest

from provider.jobs.model.status import Status
from tests.integration.cli.conftest import Desk
from tests.support.standing import queued, running


def test_jobs_are_cancelled_or_stopped_once_the_operator_says_yes(desk: Desk) -> None:
    """He is asked first."""
    runs, waits = running(desk.platform), queued(desk.platform)
    done = desk.run("jobs", "cancel", waits.id, runs.id, typed="y\n")
    assert "Cancel 2 jobs?" in done.stderr
    told = dict(line.split(": ") for line in done.stdout.splitlines() if line)
    assert (told[waits.id], told[runs.id], done.exit_code) == ("cancelled", "stopping", 0)
    assert desk.platform.job(waits).status is Status.CANCELLED


def test_nothing_happens_without_a_yes(desk: Desk) -> None:
    job = desk.platform.buy()
    assert desk.run("jobs", "cancel", job.id, typed="n\n").exit_code == 1
    assert desk.run("jobs", "cancel", "--service", "after", typed="\n").exit_code == 1
    assert desk.platform.job(job) == job


def test_a_paid_job_needs_another_word(desk: Desk) -> None:
    """And the message says which; exit status 1."""
    job = queued(desk.platform, "before")
    refused = desk.run("jobs", "cancel", "--yes", job.id)
    assert (refused.exit_code, "forfeit_required" in refused.stdout) == (1, True)
    assert "--forfeit" in refused.stdout
    assert "?forfeit" not in refused.stdout
    assert desk.json("jobs", "cancel", "--yes", "--forfeit", job.id) == {job.id: "cancelled"}
    assert desk.platform.job(job).charged is True


def test_one_that_is_unknown_does_not_keep_the_others(desk: Desk) -> None:
    """Each is told; exit status 1."""
    job = desk.platform.buy()
    done = desk.run("jobs", "cancel", "--yes", "after." + "0" * 32, job.id)
    assert (done.exit_code, "job_not_found" in done.stdout) == (1, True)
    assert desk.platform.job(job).status is Status.CANCELLED


def test_all_queued_jobs_of_a_service_are_cancelled_and_no_others(desk: Desk) -> None:
    """R7: those that run go on, and so do other services; one look into the lane is enough."""
    runs, other = running(desk.platform), queued(desk.platform, "before")
    waiting = [desk.platform.buy() for _ in range(5)]
    desk.platform.wakeups.handled.clear()
    question = desk.run("jobs", "cancel", "--service", "after", "--queued", typed="n\n").stderr
    assert "Cancel the jobs of after: 5 queued?" in question
    told = desk.json("jobs", "cancel", "--service", "after", "--queued", "--yes")
    assert told == {"service": "after", "counts": {"cancelled": 5}}
    assert {desk.platform.job(job).status for job in waiting} == {Status.CANCELLED}
    assert desk.platform.job(runs) == runs
    assert desk.platform.job(other) == other
    assert desk.platform.wakeups.handled == []


def test_all_jobs_of_a_service_are_cancelled_or_stopped(desk: Desk) -> None:
    """Without --queued."""
    runs = running(desk.platform)
    desk.platform.buy()
    done = desk.run("jobs", "cancel", "--service", "after", "--yes")
    assert (done.exit_code, done.stdout) == (0, "cancelled: 1\nstopping: 1\n")
    assert desk.platform.job(runs).cancel is True


def test_paid_jobs_of_a_service_stay_without_forfeit(desk: Desk) -> None:
    """They are counted, and the lane is woken for them; exit status 1."""
    job = queued(desk.platform, "before")
    done = desk.run("jobs", "cancel", "--service", "before", "--yes")
    assert (done.exit_code, done.stdout) == (1, "forfeit_required: 1\n")
    assert "buyers lose" in desk.run(
        "jobs", "cancel", "--service", "before", "--forfeit", typed="n\n"
    ).stderr.replace("\n", " ")
    assert desk.json("jobs", "cancel", "--service", "before", "--yes", "--forfeit")["counts"] == {
        "cancelled": 1
    }
    assert desk.platform.job(job).status is Status.CANCELLED


def test_jobs_of_a_service_that_is_no_longer_offered_are_cancelled_too(desk: Desk) -> None:
    """Q7: who stops selling has something to do with the rest."""
    job = desk.platform.buy()
    desk.platform.registry._declared = []
    assert desk.run("jobs", "cancel", "--service", "after", "--yes").exit_code == 0
    assert desk.platform.job(job).status is Status.CANCELLED


@pytest.mark.parametrize("arguments", [[], ["after.x", "--service", "after"], ["after.x", "--queued"]])
def test_what_is_to_be_cancelled_must_be_said(desk: Desk, arguments: list[str]) -> None:
    """Exit status 2, as of every wrong usage."""
    assert desk.run("jobs", "cancel", "--yes", *arguments).exit_code == 2
