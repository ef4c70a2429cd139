"""`provider stats` and `provider stranded`."""

from provider.jobs.model.status import Status
from tests.integration.cli.conftest import Desk
from tests.support.jobs import service
from tests.support.standing import queued, running


def test_jobs_are_counted_by_service_and_status(desk: Desk) -> None:
    """And each lane says what it does now."""
    desk.platform.finish(desk.platform.buy())
    queued(desk.platform, "before"), desk.platform.buy("before"), running(desk.platform)
    told = {service["name"]: service for service in desk.json("stats")["services"]}
    after, before = told["after"], told["before"]
    assert {status: count for status, count in after["jobs"].items() if count} == {
        "running": 1,
        "succeeded": 1,
    }
    assert {status: count for status, count in before["jobs"].items() if count} == {"pending": 1, "queued": 1}
    assert (after["waiting"], after["busy"], after["concurrency"]) == (0, 1, 2)
    assert (before["waiting"], before["waitSeconds"]) == (2, 5)
    assert set(after["jobs"]) == {status.value for status in Status}


def test_the_oldest_uncertain_payment_is_told(desk: Desk) -> None:
    """It is what to wake somebody up for."""
    desk.platform.facilitator.settle = lambda _: (500, {})
    desk.platform.finish(desk.platform.buy())
    told = {service["name"]: service["oldestUncertainSeconds"] for service in desk.json("stats")["services"]}
    assert told["before"] is None
    assert 0 <= told["after"] < 60


def test_the_tables_fit_80_columns(desk: Desk) -> None:
    """Nothing is cut off, and a name of twenty letters stays on its line."""
    queued(desk.platform, "before")
    desk.platform.registry.add(service("monte-carlo-extended"))
    lines = desk.run("stats").stdout.splitlines()
    assert lines[0].split() == [
        "jobs",
        "pending",
        "queued",
        "running",
        "uncertain",
        "succeeded",
        "failed",
    ] + ["cancelled"]
    assert max(len(line.rstrip()) for line in lines) <= 80
    assert "…" not in "".join(lines)
    assert sum(line.startswith("monte-carlo-extended ") for line in lines) == 2


def test_open_jobs_of_a_service_that_nobody_offers_are_stranded(desk: Desk) -> None:
    """Q7: told with their number and age; those that ended are not."""
    queued(desk.platform, "before"), desk.platform.buy("before")
    desk.platform.finish(desk.platform.buy("after"))
    assert desk.json("stranded") == {}
    assert "is of a service that is offered" in desk.run("stranded").stdout
    desk.platform.registry._declared = []
    found = desk.json("stranded")
    assert found == {"before": {"pending": 1, "queued": 1, "oldestSeconds": found["before"]["oldestSeconds"]}}
    assert 0 <= found["before"]["oldestSeconds"] < 60
    assert desk.run("stranded").stdout.splitlines()[1].split()[:5] == ["before", "1", "1", "0", "0"]
    assert "Not offered, with open jobs: before." in desk.run("stats").stdout
    assert desk.json("stats")["stranded"] == ["before"]
