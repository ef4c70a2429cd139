"""`DELETE /jobs/<id>` (R7)."""

import threading
from typing import Any

import pytest

from provider.jobs.model.status import Status
from tests.integration.web.conftest import Shop
from tests.support.processes import wait_until


def delete(shop: Shop, job_id: str, query: str = "", **headers: str) -> Any:
    return shop.client.delete(f"/jobs/{job_id}{query}", headers=headers)


def paid(shop: Shop) -> str:
    """Buy a job that is paid before it runs."""
    job_id: str = shop.call("prepaid").json["id"]
    shop.worker.settler.settle(job_id)
    return job_id


def test_a_queued_job_is_cancelled_with_200(shop: Shop) -> None:
    """The request succeeded; a look at the job says 409, as of every cancelled call (H3)."""
    job_id = shop.call().json["id"]
    answer = delete(shop, job_id)
    assert (answer.status_code, answer.json["id"], answer.json["status"]) == (200, job_id, "cancelled")
    assert answer.json["error"]["charged"] is False
    assert answer.headers["Cache-Control"] == "no-store"
    assert shop.client.get(f"/jobs/{job_id}").status_code == 409


def test_cancelling_twice_gives_the_same_job(shop: Shop) -> None:
    """R7: harmless."""
    job_id = shop.call().json["id"]
    assert delete(shop, job_id).json == delete(shop, job_id).json
    assert delete(shop, job_id).status_code == 200


def test_a_running_job_is_202_while_its_handler_is_stopped(shop: Shop) -> None:
    """Location says where to look."""
    job_id = shop.call().json["id"]
    shop.worker.start(job_id)
    answer = delete(shop, job_id)
    assert (answer.status_code, answer.json["status"]) == (202, "running")
    assert answer.json["cancelAsked"] is True
    assert answer.headers["Location"].endswith(f"/jobs/{job_id}")
    assert delete(shop, job_id).status_code == 202


def test_a_cancel_may_wait_until_the_handler_has_stopped(shop: Shop) -> None:
    """`Prefer: wait=N`, as everywhere."""
    job_id = shop.call().json["id"]
    shop.worker.start(job_id)

    def stop_when_asked() -> None:
        assert wait_until(lambda: shop.store.get(job_id).cancel)
        shop.worker.outcomes.cancel(shop.store.get(job_id))

    thread = threading.Thread(target=stop_when_asked)
    thread.start()
    answer = delete(shop, job_id, Prefer="wait=2")
    thread.join()
    assert (answer.status_code, answer.json["status"]) == (200, "cancelled")
    assert "cancelAsked" not in answer.json
    assert answer.headers["Preference-Applied"] == "wait=2"


@pytest.mark.parametrize("query", ["", "?forfeit=false", "?forfeit"])
def test_a_paid_job_is_cancelled_only_by_who_forfeits_the_payment(shop: Shop, query: str) -> None:
    """409 says how; the answer to the right call says that the job was charged."""
    job_id = paid(shop)
    refused = delete(shop, job_id, query)
    assert (refused.status_code, refused.json["code"]) == (409, "forfeit_required")
    assert "?forfeit=true" in refused.json["detail"]
    answer = delete(shop, job_id, "?forfeit=true")
    assert (answer.status_code, answer.json["error"]["charged"]) == (200, True)
    assert "PAYMENT-RESPONSE" in answer.headers


def test_a_refusal_says_where_the_job_stands_and_when_to_ask_again(shop: Shop) -> None:
    """A payment that is being settled is no end."""
    job_id = shop.call("prepaid").json["id"]
    answer = delete(shop, job_id, "?forfeit=true")
    assert (answer.status_code, answer.content_type) == (409, "application/problem+json")
    assert (answer.json["code"], answer.json["jobStatus"]) == ("payment_pending", "pending")
    assert answer.headers["Retry-After"] == "2"


def test_a_finished_job_is_409_and_stays_as_it_is(shop: Shop) -> None:
    """Its buyer asked for what cannot be had any more, and is told what there is instead."""
    job_id = shop.call().json["id"]
    shop.worker.finish(job_id)
    answer = delete(shop, job_id)
    assert (answer.status_code, answer.json["code"]) == (409, "job_finished")
    assert answer.json["jobStatus"] == "succeeded"
    assert shop.store.get(job_id).status is Status.SUCCEEDED


@pytest.mark.parametrize("job_id", ["echo." + "0" * 32, "echo", "%00"])
def test_an_unknown_job_is_404(shop: Shop, job_id: str) -> None:
    """Also for ids that cannot be one."""
    assert delete(shop, job_id).status_code == 404


def test_any_page_may_cancel(shop: Shop) -> None:
    """H6: a preflight allows DELETE, and every answer may be read."""
    preflight = shop.client.options("/jobs/x", headers={"Access-Control-Request-Method": "DELETE"})
    assert "DELETE" in preflight.headers["Access-Control-Allow-Methods"]
    assert delete(shop, "x").headers["Access-Control-Allow-Origin"] == "*"
