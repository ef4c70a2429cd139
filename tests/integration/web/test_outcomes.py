"""What is said about a job, wherever it stands (standard H3, H5, J5, J14)."""

from typing import Any

import pytest

from provider.jobs.model.status import ErrorCode
from tests.integration.web.conftest import Shop
from tests.integration.web.test_unpaid import decoded


def look(shop: Shop, job_id: str, **headers: str) -> Any:
    return shop.client.get(f"/jobs/{job_id}", headers=headers)


def test_a_succeeded_job_gives_output_and_receipt(shop: Shop) -> None:
    """200, and PAYMENT-RESPONSE tells the transaction."""
    job_id = shop.call().json["id"]
    shop.worker.finish(job_id)
    answer = look(shop, job_id)
    assert (answer.status_code, answer.json["output"]) == (200, {"said": "hi"})
    settlement = decoded(answer.headers["PAYMENT-RESPONSE"])
    assert settlement["success"] is True
    assert settlement["transaction"] == answer.json["payment"]["transaction"]
    assert len(settlement["transaction"]) == 64
    assert "Location" not in answer.headers


def test_output_is_withheld_until_its_payment_is_certain(shop: Shop) -> None:
    """No endpoint shows it (J14)."""
    header = shop.pay()
    job_id = shop.call(header=header).json["id"]
    shop.worker.produce(job_id)
    for answer in (look(shop, job_id), shop.client.get(f"/jobs/{job_id}/output"), shop.call(header=header)):
        assert "said" not in answer.text
    assert shop.client.get(f"/jobs/{job_id}/output").status_code == 409


def test_output_alone_is_the_output_as_it_was_produced(shop: Shop) -> None:
    """For buyers that want no envelope."""
    job_id = shop.call().json["id"]
    shop.worker.finish(job_id)
    answer = shop.client.get(f"/jobs/{job_id}/output")
    assert (answer.status_code, answer.data) == (200, b'{"said":"hi"}')
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_refused_payment_is_402_without_a_new_challenge(shop: Shop) -> None:
    """PAYMENT-RESPONSE says false; a challenge here would make clients pay for a look-up (H4, H5)."""
    shop.facilitator.settle = lambda _: (200, _refusal("insufficient_funds"))
    job_id = shop.call().json["id"]
    shop.worker.finish(job_id)
    answer = look(shop, job_id)
    assert (answer.status_code, answer.json["error"]["code"]) == (402, "payment_failed")
    assert decoded(answer.headers["PAYMENT-RESPONSE"])["success"] is False
    assert decoded(answer.headers["PAYMENT-RESPONSE"])["errorReason"] == "insufficient_funds"
    assert "PAYMENT-REQUIRED" not in answer.headers


@pytest.mark.parametrize("status", [200, 500, 402])
def test_an_uncertain_payment_is_202_never_402(shop: Shop, status: int) -> None:
    """Reference clients sign a fresh payment for every 402 they see (H4)."""
    shop.facilitator.settle = lambda _: (status, {"success": False, "errorReason": "settlement_pending"})
    header = shop.pay()
    job_id = shop.call(header=header).json["id"]
    shop.worker.finish(job_id)
    for answer in (look(shop, job_id), shop.call(header=header)):
        assert (answer.status_code, answer.json["status"]) == (202, "payment_uncertain")
        assert "PAYMENT-RESPONSE" not in answer.headers
        assert int(answer.headers["Retry-After"]) >= 5


@pytest.mark.parametrize(
    ("code", "status"),
    [(ErrorCode.SERVICE_FAILED, 500), (ErrorCode.OUTPUT_INVALID, 500), (ErrorCode.TIMEOUT, 504)],
)
def test_a_failed_job_says_why_and_that_it_cost_nothing(shop: Shop, code: ErrorCode, status: int) -> None:
    """On-success charges nothing for work that failed (S1)."""
    job_id = shop.call().json["id"]
    shop.worker.fail(job_id, code)
    answer = look(shop, job_id)
    assert (answer.status_code, answer.json["error"]["code"]) == (status, code)
    assert answer.json["error"]["charged"] is False


def test_an_upfront_receipt_is_shown_while_the_job_is_open(shop: Shop) -> None:
    """Every answer that knows the settlement tells it (H5)."""
    job_id = shop.call("prepaid").json["id"]
    shop.worker.settler.settle(job_id)
    answer = look(shop, job_id)
    assert (answer.status_code, answer.json["status"]) == (202, "queued")
    assert decoded(answer.headers["PAYMENT-RESPONSE"])["success"] is True


def test_a_queued_job_tells_its_place(shop: Shop) -> None:
    """1 is next (Q5)."""
    first, second = shop.call().json["id"], shop.call().json["id"]
    assert look(shop, first).json["queue"]["position"] == 1
    assert look(shop, second).json["queue"]["position"] == 2


@pytest.mark.parametrize("job_id", ["echo." + "0" * 32, "echo", "../x", "echo.zz", "%00", "x" * 5000])
def test_an_unknown_job_is_404(shop: Shop, job_id: str) -> None:
    """Also for ids that cannot be one."""
    answer = shop.client.get(f"/jobs/{job_id}")
    assert (answer.status_code, answer.content_type) == (404, "application/problem+json")


def test_there_is_no_list_of_jobs(shop: Shop) -> None:
    """The id is the capability (H9)."""
    shop.call()
    assert shop.client.get("/jobs").status_code == 404


def _refusal(reason: str) -> dict[str, Any]:
    return {"success": False, "errorReason": reason, "transaction": "", "network": "stellar:testnet"}
