"""The page of a job, for people (standard §2, J14)."""

import re
from collections.abc import Callable

import pytest

from provider.jobs.model.status import ErrorCode, Status
from provider.services import Registry
from tests.integration.web.conftest import Shop, sell

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


def page(shop: Shop, job_id: str) -> str:
    answer = shop.client.get(f"/jobs/{job_id}", headers={"Accept": BROWSER})
    assert answer.content_type == "text/html; charset=utf-8"
    return str(answer.text)


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "application/json, text/html;q=0.9"])
def test_programs_get_json(shop: Shop, accept: str | None) -> None:
    """Unless they prefer a page, as browsers do; caches are told."""
    headers = {"Accept": accept} if accept else {}
    answer = shop.client.get(f"/jobs/{shop.call().json['id']}", headers=headers)
    assert answer.content_type == "application/json"
    assert answer.headers["Vary"] == "Accept"


def test_each_status_has_its_words(shop: Shop) -> None:
    """And a queued job its place."""
    job_id = shop.call().json["id"]
    assert 'Number <b id="position">1</b> in the queue' in page(shop, job_id)
    shop.worker.start(job_id)
    assert "Running" in page(shop, job_id)
    shop.store.move(shop.store.get(job_id), Status.PAYMENT_UNCERTAIN)
    assert "Do not pay again" in page(shop, job_id)


def test_progress_is_a_bar(shop: Shop) -> None:
    """Without a script too: the page comes again every five seconds until the job is final."""
    job_id = shop.call().json["id"]
    shop.worker.start(job_id)
    told = {"done": 3, "total": 10, "message": "third of <ten>"}
    shop.worker.lanes.renew(job_id, "worker", lease_seconds=30, progress=told)
    text = page(shop, job_id)
    assert re.search(r'<progress id="bar"[^>]* value="30" max="100">', text)
    assert "third of &lt;ten&gt;" in text
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in text


def test_a_success_shows_its_output_and_its_receipt(shop: Shop) -> None:
    """Escaped, since the output may be anything; with the header that every such answer has (H5)."""
    job_id = shop.call().json["id"]
    job = shop.worker.start(job_id)
    shop.worker.outcomes.output(job, '{"said":"<script>alert(1)</script>"}', {})
    assert "alert" not in page(shop, job_id)
    shop.worker.settler.settle(job_id)
    answer = shop.client.get(f"/jobs/{job_id}", headers={"Accept": BROWSER})
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer.text
    assert "<b>0.05 USDC</b>" in answer.text
    assert shop.client.get(f"/jobs/{job_id}").json["payment"]["transaction"] in answer.text
    assert "refresh" not in answer.text
    assert "PAYMENT-RESPONSE" in answer.headers


def test_a_transaction_is_linked_to_the_explorer_there_is(
    make_shop: Callable[..., Shop], redis_url: str
) -> None:
    """None on a local chain, which no explorer knows."""
    for explorer, links in (("", 0), ("https://explorer.example/{transaction}?x", 1)):
        shop = make_shop(redis_url, explorer_url=explorer)
        job_id = shop.call().json["id"]
        shop.worker.finish(job_id)
        transaction = shop.client.get(f"/jobs/{job_id}").json["payment"]["transaction"]
        text = page(shop, job_id)
        assert text.count(f'href="https://explorer.example/{transaction}?x"') == links
        assert text.count("see it on the network") == links


@pytest.fixture
def picture(registry: Registry) -> str:
    """Sell a service that draws, and give what it draws."""
    image = {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"}
    sell(registry, "draw", "on-success", output_schema={"properties": {"png": image, "bad": image}})
    return "iVBORw0KGgo="


def test_an_image_is_shown_as_one(picture: str, shop: Shop) -> None:
    """When the schema says so; anything else stays text."""
    job_id = shop.call("draw").json["id"]
    job = shop.worker.start(job_id)
    shop.worker.outcomes.output(job, f'{{"png":"{picture}","odd":"{picture}","bad":"\\"onerror="}}', {})
    shop.worker.settler.settle(job_id)
    text = page(shop, job_id)
    assert f'<img src="data:image/png;base64,{picture}" alt="png">' in text
    assert text.count("<img") == 1


def test_a_failure_says_whether_it_was_charged(shop: Shop) -> None:
    """In the words that are fixed for it, and none of the handler's."""
    job_id = shop.call().json["id"]
    shop.worker.fail(job_id, ErrorCode.SERVICE_FAILED)
    text = page(shop, job_id)
    assert "The service failed on this input." in text
    assert "You were not charged." in text


def test_a_page_loads_nothing_and_tells_nobody_its_address(shop: Shop) -> None:
    """Its address is the key to the job (H9); its scripts are its own."""
    answer = shop.client.get(f"/jobs/{shop.call().json['id']}", headers={"Accept": BROWSER})
    policy = answer.headers["Content-Security-Policy"]
    (nonce,) = set(re.findall(r"'nonce-([^']+)'", policy))
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert set(re.findall(r"<(?:script|style)([^>]*)>", answer.text)) == {f' nonce="{nonce}"'}
    assert not re.search(r"\s(?:on\w+|style)=", answer.text)
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cache-Control"] == "no-store"


def test_no_job_is_said_in_words(shop: Shop) -> None:
    """And to programs by a problem."""
    answer = shop.client.get("/jobs/echo." + "0" * 32, headers={"Accept": BROWSER})
    assert (answer.status_code, "No such job" in answer.text) == (404, True)
    assert shop.client.get("/jobs/nonsense").json["code"] == "job_not_found"
