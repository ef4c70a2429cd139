"""`provider jobs purge`: an operator makes room (issue 9.12)."""

from typing import Any

from tests.integration.cli.conftest import Desk
from tests.support.timetravel import pass_time


def test_finished_jobs_are_deleted_by_age_service_and_status(desk: Desk) -> None:
    """What is not over, or younger, stays; so does one whose payment could still land."""
    platform = desk.platform
    old, other = platform.finish(platform.buy()), platform.finish(platform.buy("before"))
    open_job = platform.buy()

    def purged(*options: str) -> Any:
        return desk.json("jobs", "purge", "--yes", *options)

    assert purged("--older-than", "0s") == {}
    pass_time(platform.store.client, 3_000)
    young = platform.finish(platform.buy())
    assert purged("--older-than", "30m", "--service", "after", "--status", "failed") == {}
    platform.store.client.config_set("maxmemory", 1)
    try:
        assert purged("--older-than", "30m", "--service", "after") == {"after": 1}
    finally:
        platform.store.client.config_set("maxmemory", 0)
    left = {job["id"] for job in desk.json("jobs", "list")["jobs"]}
    assert left == {other.id, open_job.id, young.id}
    assert old.id not in left


def test_it_asks_first(desk: Desk) -> None:
    """Nothing is deleted by a no."""
    desk.platform.finish(desk.platform.buy())
    assert desk.run("jobs", "purge", "--older-than", "0s", typed="n\n").exit_code == 1
    assert len(desk.json("jobs", "list")["jobs"]) == 1
