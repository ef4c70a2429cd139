"""What is said about what is for sale: pages, descriptors, discovery, metrics (standard §2, §14)."""

import time
from collections.abc import Callable

import pytest

from provider.services import Registry
from provider.services.schema import CompiledSchema
from tests.integration.web.conftest import Shop
from tests.support.redis_server import RedisServer


def test_people_get_a_page_that_names_every_service_and_price(shop: Shop) -> None:
    """No build step, no script: it must show in any browser."""
    answer = shop.client.get("/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert answer.content_type.startswith("text/html")
    for service in shop.registry:
        assert service.name in answer.text
        assert service.description in answer.text
    assert "0.05" in answer.text
    assert "<script" not in answer.text


def test_the_page_names_the_token_that_official_clients_refuse_otherwise(shop: Shop) -> None:
    """Their spend controls know none of Stellar's (core 2.27)."""
    page = shop.client.get("/", headers={"Accept": "text/html"}).text
    allowed = f'allowedAssets: [{{ network: "{shop.settings.network}", asset: "{shop.settings.asset}"'
    assert allowed in page


def test_programs_get_json_from_the_same_place(shop: Shop) -> None:
    """They ask for it with Accept."""
    answer = shop.client.get("/", headers={"Accept": "application/json"})
    assert [service["name"] for service in answer.json["services"]] == ["echo", "narrow", "prepaid"]


def test_a_descriptor_says_what_a_buyer_must_know(shop: Shop) -> None:
    """Price, charge, schemas, examples, limits."""
    echo = shop.client.get("/services/echo").json
    assert (echo["price"], echo["charge"], echo["url"]) == (
        "0.05",
        "on-success",
        "https://shop.example/run/echo",
    )
    assert echo["inputSchema"]["required"] == ["word"]
    assert echo["example"] == {"input": {"word": "hi"}, "output": {"said": "hi"}}
    assert echo["limits"]["timeoutSeconds"] == 60


def test_a_descriptor_tells_the_wait_now(shop: Shop) -> None:
    """It grows with the queue."""
    assert shop.client.get("/services/echo").json["queue"]["estimatedWaitSeconds"] == 0
    shop.call()
    shop.call()
    queue = shop.client.get("/services/echo").json["queue"]
    assert (queue["depth"], queue["estimatedWaitSeconds"] > 0) == (2, True)


def test_both_discovery_paths_give_the_same_document(shop: Shop) -> None:
    """The draft's shape and the one in use today, side by side."""
    one, other = shop.client.get("/.well-known/x402"), shop.client.get("/.well-known/x402.json")
    assert one.data == other.data
    assert one.json["x402Version"] == 2
    assert one.json["resources"] == [item["resource"]["url"] for item in one.json["items"]]
    assert "https://shop.example/run/echo" in one.json["resources"]


def test_discovery_offers_what_the_live_402_offers(shop: Shop) -> None:
    """One price, wherever it is read."""
    items = shop.client.get("/.well-known/x402").json["items"]
    for item, service in zip(items, shop.registry, strict=True):
        assert item["accepts"] == shop.client.post(f"/run/{service.name}").json["accepts"]


@pytest.mark.parametrize("method", ["post", "get"])
def test_openapi_prices_every_paid_operation(shop: Shop, method: str) -> None:
    """`x-payment-info` and a declared 402 are what indexers look for."""
    operation = shop.client.get("/openapi.json").json["paths"]["/run/echo"][method]
    info = operation["x-payment-info"]
    assert info == {"price": {"mode": "fixed", "amount": "0.05", "currency": "USDC"}, "protocols": ["x402"]}
    assert {"200", "202", "402", "503"} <= operation["responses"].keys()


def test_openapi_asks_nothing_for_looking_up_a_job(shop: Shop) -> None:
    """Free operations say so."""
    document = shop.client.get("/openapi.json").json
    assert document["openapi"].startswith("3.1")
    assert document["paths"]["/jobs/{id}"]["get"]["security"] == []


def test_metrics_count_jobs_and_time_requests(shop: Shop) -> None:
    """Jobs come from the store, so a restart forgets none."""
    shop.call()
    text = shop.client.get("/metrics").text
    assert 'provider_jobs{service="echo",status="queued"} 1.0' in text
    assert 'provider_lane_depth{service="echo"} 1.0' in text
    assert 'provider_http_request_seconds_count{method="POST",route="/run/<name>",status="202"}' in text
    assert "provider_store_up 1.0" in text


def test_open_jobs_of_a_service_that_is_not_offered_are_a_metric(
    shop: Shop, make_shop: Callable[..., Shop], registry: Registry, redis_url: str
) -> None:
    """Q7: the process that is scraped need not know them."""
    shop.call(), shop.call("prepaid")
    registry._declared = [service for service in registry if service.name == "prepaid"]
    text = make_shop(redis_url).client.get("/metrics").text
    assert 'provider_stranded_jobs{service="echo"} 1.0' in text
    assert 'provider_stranded_jobs{service="prepaid"}' not in text


def test_openapi_says_how_to_cancel(shop: Shop) -> None:
    """And that it costs nothing to ask."""
    operation = shop.client.get("/openapi.json").json["paths"]["/jobs/{id}"]["delete"]
    assert operation["security"] == []
    assert operation["responses"].keys() == {"200", "202", "404", "409"}
    assert {parameter["name"] for parameter in operation["parameters"]} == {"id", "forfeit", "Prefer"}


def test_metrics_never_take_their_labels_from_callers(shop: Shop) -> None:
    """Otherwise anybody could fill the memory with series."""
    shop.client.open("/invented-path", method="INVENTED")
    text = shop.client.get("/metrics").text
    assert "invented" not in text.lower()


def test_without_redis_the_process_is_alive_but_not_ready(
    make_shop: Callable[..., Shop], own_redis: RedisServer
) -> None:
    """Health depends on nothing; readiness on Redis, and says so quickly; both come back by themselves."""
    shop = make_shop(own_redis.url)
    assert shop.client.get("/readyz").status_code == 200
    own_redis.kill()
    assert shop.client.get("/healthz").status_code == 200
    assert shop.client.get("/readyz").status_code == 503
    assert "provider_store_up 0.0" in shop.client.get("/metrics").text
    own_redis.start()
    assert shop.client.get("/readyz").status_code == 200


def test_what_is_described_as_the_outcome_of_a_call_is_what_it_returns(shop: Shop) -> None:
    """Red before: documents gave the schema of the bare output, which no answer of a call fits."""
    job_id = shop.call().json["id"]
    shop.worker.finish(job_id)
    answer = shop.client.get(f"/jobs/{job_id}").json
    item = shop.client.get("/.well-known/x402").json["items"][0]
    described, bazaar = item["output"], shop.client.post("/run/echo").json["extensions"]["bazaar"]
    for shown in (answer, described["example"], bazaar["info"]["output"]["example"]):
        assert CompiledSchema(described["schema"]).problems(shown) == []
        assert (shown["status"], shown["output"]) == ("succeeded", {"said": "hi"})
    wrong = {**answer, "status": "done"}
    assert CompiledSchema(described["schema"]).problems(wrong)


def test_discovery_says_when_it_was_made_in_epoch_seconds(shop: Shop) -> None:
    """The draft of x402. Red before: ISO text."""
    assert abs(shop.client.get("/.well-known/x402").json["lastUpdated"] - time.time()) < 3600


@pytest.mark.parametrize(
    ("path", "template", "status"),
    [
        ("/jobs/none/events", "/jobs/{id}/events", 404),
        ("/jobs/none/output", "/jobs/{id}/output", 404),
        ("/jobs/{open}/output", "/jobs/{id}/output", 409),
    ],
)
def test_openapi_declares_what_lookups_answer(shop: Shop, path: str, template: str, status: int) -> None:
    """Red before: none of these was declared."""
    answer = shop.client.get(path.format(open=shop.call().json["id"]))
    declared = shop.client.get("/openapi.json").json["paths"][template]["get"]["responses"]
    assert answer.status_code == status
    assert answer.content_type in declared[str(status)]["content"]


def test_openapi_declares_a_cancelled_job_under_409_and_the_body_as_optional(shop: Shop) -> None:
    """Red before: 409 was a problem alone, and a call without a body was said to be wrong."""
    operation = shop.client.get("/openapi.json").json["paths"]["/run/echo"]["post"]
    assert {"application/json", "application/problem+json"} == operation["responses"]["409"]["content"].keys()
    assert operation["requestBody"]["required"] is False
