"""`provider jobs list` and `show`: an operator finds a job, and reads about it."""

import json

import pytest

from provider.jobs.model.status import Status
from tests.integration.cli.conftest import Desk
from tests.support.standing import produced, queued, running


def test_a_list_goes_on_where_the_page_before_ended(desk: Desk) -> None:
    """Newest first; --after is printed where a pipe does not see it."""
    bought = [desk.platform.buy().id for _ in range(3)]
    first = desk.run("jobs", "list", "--limit", "2", columns=120)
    assert (bought[0] in first.stdout, bought[2] in first.stdout) == (False, True)
    cursor = first.stderr.rpartition("--after ")[2].strip()
    last = desk.run("jobs", "list", "--limit", "2", "--after", cursor, columns=120)
    assert (bought[0] in last.stdout, last.stderr) == (True, "")


def test_a_list_is_narrowed_by_service_status_and_time(desk: Desk) -> None:
    """Each may be given more than once."""
    paid, free = queued(desk.platform, "before"), desk.platform.buy()
    pending = desk.platform.buy("before")

    def ids(*options: str) -> list[str]:
        return [job["id"] for job in desk.json("jobs", "list", *options)["jobs"]]

    assert ids("--service", "before") == [pending.id, paid.id]
    assert ids("--service", "before", "--service", "after", "--status", "queued") == [free.id, paid.id]
    assert ids("--status", "pending", "--status", "queued", "--since", "1h") == [pending.id, free.id, paid.id]
    assert ids("--since", "2100-01-01") == []


def test_a_list_shows_neither_input_nor_output_nor_payment(desk: Desk) -> None:
    """What buyers sent and bought is no business of a list."""
    desk.platform.finish(desk.platform.buy("after", {"say": "a secret"}))
    told = desk.run("jobs", "list", "--json").stdout
    assert ("secret" in told, "output" in told) == (False, False)
    assert json.loads(told)["jobs"][0]["status"] == "succeeded"


def test_an_id_is_never_cut_off(desk: Desk) -> None:
    """It is needed whole for the next command, however narrow the terminal."""
    job = desk.platform.buy()
    told = desk.run("jobs", "list", columns=30).stdout.splitlines()
    assert told[1].split()[:2] == [job.id, "queued"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--service", "aftr"], "no service aftr; there are: after, before"),
        (["--after", "nonsense"], "'nonsense' is not what a page ended with"),
        (["--since", "yesterday"], "'yesterday' is no time: say 90m"),
        (["--status", "done"], "'done' is not one of"),
        (["--limit", "0"], "0 is not in the range"),
    ],
)
def test_what_cannot_be_listed_is_said(desk: Desk, options: list[str], told: str) -> None:
    """Exit status 2."""
    desk.platform.buy()
    done = desk.run("jobs", "list", *options)
    assert (done.exit_code, told in done.stderr) == (2, True), done.stderr


def test_an_empty_store_lists_nothing(desk: Desk) -> None:
    assert desk.run("jobs", "list").stdout == "No jobs.\n"
    assert desk.json("jobs", "list") == {"jobs": [], "after": None}


def test_a_service_that_was_never_called_has_no_jobs(desk: Desk) -> None:
    """It is for sale, so asking for it is no mistake."""
    desk.platform.buy("before")
    assert desk.json("jobs", "list", "--service", "after") == {"jobs": [], "after": None}


def test_a_waiting_job_shows_its_place_and_what_was_agreed(desk: Desk) -> None:
    """Everything that is stored, but the signed payment."""
    desk.platform.buy()
    job = desk.platform.buy("after", {"say": "a secret"})
    told = desk.json("jobs", "show", job.id)
    assert told["queue"] == {"position": 2, "notBefore": None}
    assert told["terms"]["payer"] == job.terms.payer
    assert told["terms"]["nonce"] == str(job.terms.nonce)
    assert (told["due"] is not None, told["deadline"] is not None) == (True, True)
    assert "secret" not in str(told)
    assert (job.payment or "?")[:50] not in json.dumps(told)


def test_a_running_job_shows_its_lease(desk: Desk) -> None:
    """Who has it, and until when."""
    job = running(desk.platform)
    desk.platform.canceller.cancel(job.id)
    desk.platform.store.checkpoint(job.id, "worker", "unit", "")
    told = desk.json("jobs", "show", job.id)
    assert (told["lease"]["owner"], told["cancelAsked"], told["unitsDone"]) == ("worker", True, 1)
    assert told["lease"]["until"] == told["lease"]["slotUntil"] == told["due"]


def test_input_and_paid_output_are_shown_when_asked_for(desk: Desk) -> None:
    """In plain text a line each."""
    job = desk.platform.finish(desk.platform.buy("after", {"say": "hi"}))
    told = desk.json("jobs", "show", job.id, "--input", "--output")
    assert (told["input"], told["output"]) == ('{"say":"hi"}', {"echo": {"say": "hi"}, "attempt": 1})
    plain = desk.run("jobs", "show", job.id, "--input").stdout
    lines = dict(line.split(maxsplit=1) for line in plain.splitlines() if line[:1].strip())
    assert (lines["status"], lines["input"]) == ("succeeded", '{"say":"hi"}')
    assert "output" not in lines


def test_an_output_that_is_not_paid_is_shown_to_nobody(desk: Desk) -> None:
    """J14."""
    job = produced(desk.platform)
    done = desk.run("jobs", "show", job.id, "--output", "--json")
    assert ("secret" in done.output, "J14" in done.stderr) == (False, True)
    assert json.loads(done.stdout)["outputStored"] is True
    assert desk.platform.job(job).status is Status.RUNNING


def test_an_unknown_job_is_a_message(desk: Desk) -> None:
    for job_id in ("after." + "0" * 32, "nonsense"):
        done = desk.run("jobs", "show", job_id)
        assert (done.exit_code, "No job has this id" in done.stderr) == (1, True)
