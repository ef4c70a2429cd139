"""The page of a job in a real browser, from the queue to the receipt (standard §2, J14)."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.services import services
from provider.services import Registry
from tests.integration.web.conftest import PAY_TO, Shop
from tests.support.chromium import Browser, running_chromium
from tests.support.facilitator import FakeFacilitator
from tests.support.gunicorn import running_gunicorn
from tests.support.redis_server import RedisServer

SCREENSHOTS = Path(__file__).parents[3] / "build" / "screenshots"
"""Kept by CI; `docs/job-page.png` is the first of them."""
DRAWN = services.get("qr-code").example_output


@pytest.fixture
def registry() -> Registry:
    """Sell the examples, in this process and in the web process."""
    return services


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Run a browser for all pages."""
    with running_chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def url(browser: Browser, shared_redis: RedisServer, shared_facilitator: FakeFacilitator) -> Iterator[str]:
    """Serve, but not where there is no browser."""
    environment = {
        "PROVIDER_SERVICES": "examples.services",
        "PAY_TO": PAY_TO,
        "REDIS_URL": shared_redis.url,
        "BROKER_URL": "memory://",
        "FACILITATOR_URL": shared_facilitator.url,
    }
    with running_gunicorn(environment) as url:
        yield url


def buy(shop: Shop) -> str:
    job_id: str = shop.call("qr-code", json={"text": "https://stellar.org"}).json["id"]
    return job_id


def progress(shop: Shop, job_id: str, done: int) -> None:
    told = {"done": done, "total": 33, "message": "Drawing rows"}
    shop.worker.lanes.renew(job_id, "worker", lease_seconds=30, progress=told)


def test_a_page_follows_its_job_to_the_receipt(shop: Shop, url: str, browser: Browser) -> None:
    """Nobody reloads it, its output is on it once it is paid, and its policy forbids nothing it does."""
    first, job_id = buy(shop), buy(shop)
    browser.open(f"{url}/jobs/{job_id}")
    browser.wait_for("document.body.innerText.includes('Number 2 in the queue')")
    browser.evaluate("window.unchanged = true")
    shop.worker.start(first)
    browser.wait_for("document.body.innerText.includes('Number 1 in the queue')")
    shop.worker.start(job_id)
    progress(shop, job_id, 7)
    browser.wait_for("document.getElementById('bar')?.value === 21")
    progress(shop, job_id, 21)
    browser.wait_for("document.getElementById('bar')?.value === 63")
    assert "21 of 33" in browser.text()
    browser.screenshot(SCREENSHOTS / "running.png")
    shop.worker.outcomes.output(shop.store.get(job_id), json.dumps(DRAWN), {})
    assert "iVBORw0KGgo" not in browser.evaluate("document.documentElement.outerHTML")
    shop.worker.settler.settle(job_id)
    browser.wait_for("document.querySelector('main').hasAttribute('data-final')")
    assert "Done" in browser.text()
    assert "Paid\n0.005 USDC" in browser.text()
    browser.wait_for("document.querySelector('img')?.naturalWidth === 33")
    assert "stellar.expert/explorer/testnet/tx/" in browser.evaluate("document.documentElement.outerHTML")
    browser.screenshot(SCREENSHOTS / "succeeded.png")
    assert browser.evaluate("window.unchanged") is True
    assert browser.complaints == []


def test_a_page_works_without_scripts(shop: Shop, url: str, browser: Browser) -> None:
    """It loads itself again until the job is final."""
    job_id = buy(shop)
    browser.open(f"{url}/jobs/{job_id}", scripts=False)
    browser.wait_for("document.body?.innerText.includes('Number 1 in the queue')")
    shop.worker.start(job_id)
    browser.wait_for("document.body?.innerText.includes('Running')", seconds=30)
