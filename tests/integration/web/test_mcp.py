"""POST /mcp: the same desk through another door (standard H10). All of it was red before: 404."""

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from provider.jobs.model.status import ErrorCode
from tests.integration.web.conftest import Shop

TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
MODERN = "2026-07-28"
WORD = {"word": "hi"}
FOR_SALE = {"echo", "prepaid", "narrow"}


def send(shop: Shop, method: str, params: dict[str, Any], **headers: str) -> Any:
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    return shop.client.post("/mcp", json=message, headers=headers)


def tool(shop: Shop, name: str, arguments: Any = WORD, payment: Any = None, **headers: str) -> dict[str, Any]:
    """Call a tool as a client of 2025 does."""
    meta = {} if payment is None else {"_meta": {"x402/payment": payment}}
    answer = send(shop, "tools/call", {"name": name, "arguments": arguments, **meta}, **headers)
    result: dict[str, Any] = answer.json["result"]
    return result


def modern(
    shop: Shop, method: str, params: dict[str, Any], capabilities: Any = TASKS, **headers: str | None
) -> Any:
    """Send a request as a client of 2026 does."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        **params.pop("_meta", {}),
    }
    named = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    if name := params.get("name") or params.get("taskId"):
        named["Mcp-Name"] = name
    sent = {key: value for key, value in (named | headers).items() if value is not None}
    return send(shop, method, {**params, "_meta": meta}, **sent)


def buy_task(shop: Shop, name: str = "echo", header: str | None = None) -> dict[str, Any]:
    """Buy as a client that takes tasks."""
    paid = {"name": name, "arguments": WORD, "_meta": {"x402/payment": header or shop.pay(name)}}
    result: dict[str, Any] = modern(shop, "tools/call", paid).json["result"]
    return result


@pytest.fixture
def hasty(make_shop: Any, redis_url: str) -> Shop:
    """Open a shop that holds no call."""
    shop: Shop = make_shop(redis_url, request_wait_seconds=0)
    return shop


def test_an_unpaid_call_answers_its_price_where_each_client_reads_it(shop: Shop) -> None:
    result = tool(shop, "echo")
    price = result["structuredContent"]
    assert result["isError"] is True
    assert price == json.loads(result["content"][0]["text"]) == result["_meta"]["x402/error"]
    assert price == shop.client.post("/run/echo").json
    assert price["resource"]["url"] == "https://shop.example/run/echo"


def spellings(header: str) -> dict[str, Any]:
    text = base64.b64decode(header).decode()
    return {"object": json.loads(text), "text": text, "base64": header}


@pytest.mark.parametrize("how", ["object", "text", "base64", "header"])
def test_a_payment_is_read_however_it_is_sent_and_fits_both_doors(hasty: Shop, how: str) -> None:
    header = hasty.pay()
    if how == "header":
        result = tool(hasty, "echo", **{"PAYMENT-SIGNATURE": header})
    else:
        result = tool(hasty, "echo", payment=spellings(header)[how])
    job = result["structuredContent"]
    assert (result["isError"], job["status"]) == (False, "queued")
    assert job["id"] in json.loads(result["content"][0]["text"])["next"]
    assert hasty.call(header=header).json["id"] == job["id"]
    assert tool(hasty, "echo", payment=header)["structuredContent"]["id"] == job["id"]
    assert hasty.facilitator.calls("/verify") == 1


@pytest.mark.parametrize("payment", [5, "!", "{", {}, "x" * 20_000, {"x": "x" * 20_000}], ids=str)
def test_a_broken_payment_asks_for_no_other(shop: Shop, payment: Any) -> None:
    result = tool(shop, "echo", payment=payment)
    assert (result["isError"], result["structuredContent"]["code"]) == (True, "invalid_payment_header")
    assert "accepts" not in result["content"][0]["text"]


def test_a_refused_payment_is_answered_with_the_price_and_the_reason(shop: Shop) -> None:
    """It names an offer that was never made, so nothing can have landed."""
    payment = json.loads(base64.b64decode(shop.pay()))
    payment["accepted"]["amount"] = "1"
    result = tool(shop, "echo", payment=payment)
    assert result["structuredContent"]["accepts"]
    assert result["structuredContent"]["error"] != tool(shop, "echo")["structuredContent"]["error"]


def test_a_payment_that_bought_something_else_buys_nothing(hasty: Shop) -> None:
    """409 on HTTP; here it has no `accepts` that an automatic buyer would sign again (H4)."""
    header = hasty.pay()
    tool(hasty, "echo", payment=header)
    result = tool(hasty, "echo", {"word": "other"}, header)
    assert (result["isError"], "accepts" in result["structuredContent"]) == (True, False)


@pytest.mark.parametrize("arguments", [{"word": 1}, {"word": "x" * 1_000_000, "more": "x" * 40_000}])
def test_a_bad_input_costs_nothing(hasty: Shop, arguments: Any) -> None:
    header = hasty.pay()
    result = tool(hasty, "echo", arguments, header)
    assert result["structuredContent"]["code"] == "invalid_input"
    assert tool(hasty, "echo", payment=header)["structuredContent"]["status"] == "queued"


def test_a_service_takes_no_more_bytes_through_this_door(shop: Shop) -> None:
    result = tool(shop, "narrow", {"word": "x" * 100_000}, shop.pay("narrow"))
    assert result["structuredContent"]["code"] in ("body_too_large", "invalid_input")
    on_http = shop.call("narrow", json={"word": "x" * 100_000})
    assert result["structuredContent"]["code"] == on_http.json["code"]


def test_a_full_lane_asks_for_no_payment(hasty: Shop) -> None:
    tool(hasty, "narrow", payment=hasty.pay("narrow"))
    result = tool(hasty, "narrow")
    assert "accepts" not in result["structuredContent"]
    assert result["structuredContent"]["retryAfterSeconds"] >= 1


def test_a_quick_job_is_held_and_has_its_receipt_twice(shop: Shop) -> None:
    shop.wake_ups.then = shop.worker.finish
    result = tool(shop, "echo", payment=shop.pay())
    job = json.loads(result["content"][0]["text"])
    assert (result["isError"], job["output"]) == (False, {"said": "hi"})
    receipt = result["_meta"]["x402/payment-response"]
    assert (receipt["success"], receipt["transaction"]) == (True, job["payment"]["transaction"])


def test_a_failed_job_is_an_error_without_a_price(shop: Shop) -> None:
    shop.wake_ups.then = lambda job_id: shop.worker.fail(job_id, ErrorCode.SERVICE_FAILED)
    result = tool(shop, "echo", payment=shop.pay())
    job = result["structuredContent"]
    assert (result["isError"], job["error"]["charged"], "accepts" in job) == (True, False, False)
    assert "_meta" not in result


def test_the_free_tools_follow_and_cancel_a_job(hasty: Shop) -> None:
    job_id = tool(hasty, "echo", payment=hasty.pay())["structuredContent"]["id"]
    assert tool(hasty, "job_status", {"id": job_id})["structuredContent"]["status"] == "queued"
    cancelled = tool(hasty, "job_cancel", {"id": job_id})
    assert (cancelled["isError"], cancelled["structuredContent"]["status"]) == (False, "cancelled")
    assert tool(hasty, "job_status", {"id": job_id, "wait": 5})["isError"] is True
    assert tool(hasty, "job_status", {"id": "none"})["structuredContent"]["code"] == "job_not_found"
    assert tool(hasty, "job_status", {})["structuredContent"]["code"] == "invalid_input"


def test_an_unfinished_output_is_not_shown(hasty: Shop) -> None:
    """J14 holds here as well."""
    job_id = tool(hasty, "echo", payment=hasty.pay())["structuredContent"]["id"]
    hasty.worker.produce(job_id)
    assert "said" not in json.dumps(tool(hasty, "job_status", {"id": job_id}))


def test_a_task_is_handed_out_at_once_where_the_client_takes_it(shop: Shop) -> None:
    header = shop.pay()
    task = buy_task(shop, header=header)
    assert (task["resultType"], task["status"]) == ("task", "working")
    assert buy_task(shop, header=header)["taskId"] == task["taskId"]
    shop.worker.finish(task["taskId"])
    done = modern(shop, "tasks/get", {"taskId": task["taskId"]}).json["result"]
    assert (done["resultType"], done["status"]) == ("complete", "completed")
    assert done["result"]["structuredContent"]["output"] == {"said": "hi"}
    assert done["result"]["_meta"]["x402/payment-response"]["success"] is True


def test_a_failed_task_is_completed_by_an_error(shop: Shop) -> None:
    task = buy_task(shop)
    shop.worker.fail(task["taskId"], ErrorCode.SERVICE_FAILED)
    done = modern(shop, "tasks/get", {"taskId": task["taskId"]}).json["result"]
    assert (done["status"], done["result"]["isError"]) == ("completed", True)
    assert (
        done["ttlMs"] < shop.settings.retention_seconds * 1000
    )  # It cost nothing, and is kept for less (J15).


def test_a_resend_finds_the_job_of_a_service_that_was_withdrawn(hasty: Shop) -> None:
    """J3 holds at this door: the same payment with the same arguments, and nothing else."""
    header = hasty.pay()
    job_id = tool(hasty, "echo", payment=header)["structuredContent"]["id"]
    app = hasty.client.application
    app.extensions["provider"] = replace(app.extensions["provider"], listings={})
    assert tool(hasty, "echo", payment=header)["structuredContent"]["id"] == job_id
    assert tool(hasty, "echo", {"word": "other"}, header)["isError"] is True
    unsold = tool(hasty, "echo", payment=hasty.pay())["structuredContent"]
    assert (unsold["code"], "accepts" in unsold) == ("service_not_found", False)


def test_a_task_is_cancelled(shop: Shop) -> None:
    task = buy_task(shop)
    for method in ("tasks/update", "tasks/cancel", "tasks/cancel"):
        acknowledged = modern(shop, method, {"taskId": task["taskId"]}).json["result"]
        assert acknowledged == {"resultType": "complete"}
    done = modern(shop, "tasks/get", {"taskId": task["taskId"]}).json["result"]
    assert (done["status"], "result" in done) == ("cancelled", False)


def test_no_task_goes_to_a_client_that_did_not_ask(hasty: Shop) -> None:
    paid = {"name": "echo", "arguments": WORD, "_meta": {"x402/payment": hasty.pay()}}
    result = modern(hasty, "tools/call", paid, capabilities={}).json["result"]
    assert result["resultType"] == "complete"
    params = {"taskId": result["structuredContent"]["id"]}
    refused = modern(hasty, "tasks/get", params, capabilities={})
    assert (refused.status_code, refused.json["error"]["code"]) == (400, -32021)


def test_each_era_is_served(shop: Shop) -> None:
    begun = send(shop, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}}).json["result"]
    assert begun["protocolVersion"] == "2025-06-18"
    assert send(shop, "ping", {}).json["result"] == {}
    found = modern(shop, "server/discover", {}).json["result"]
    assert (found["supportedVersions"][0], found["resultType"]) == (MODERN, "complete")
    tools = modern(shop, "tools/list", {}).json["result"]
    assert {each["name"] for each in tools["tools"]} == {*FOR_SALE, "job_status", "job_cancel"}
    assert all("outputSchema" not in each for each in tools["tools"])
    told = shop.client.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (told.status_code, told.data) == (202, b"")


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Mcp-Method": "tools/list"}, 400, -32020),
        ({"Mcp-Name": "prepaid"}, 400, -32020),
        ({"Mcp-Name": None}, 400, -32020),
        ({"MCP-Protocol-Version": "2025-06-18"}, 400, -32020),
        ({"Mcp-Name": "=?base64?ZWNobw==?="}, 200, None),
        ({"Mcp-Name": "=?base64?!?="}, 400, -32020),
    ],
)
def test_headers_have_to_say_what_the_body_says(shop: Shop, headers: Any, status: int, code: Any) -> None:
    answer = modern(shop, "tools/call", {"name": "echo", "arguments": WORD}, **headers)
    assert (answer.status_code, answer.json.get("error", {}).get("code")) == (status, code)


def test_what_is_not_there_is_said_in_the_words_of_the_protocol(shop: Shop) -> None:
    unknown = modern(shop, "tasks/list", {})
    assert (unknown.status_code, unknown.json["error"]["code"]) == (404, -32601)
    later = send(shop, "tools/list", {}, **{"MCP-Protocol-Version": "2099-01-01"})
    assert (later.status_code, later.json["error"]["code"]) == (400, -32022)
    assert MODERN in later.json["error"]["data"]["supported"]
    assert send(shop, "tools/call", {"name": "nothing"}).json["error"]["code"] == -32602
    assert shop.client.post("/mcp", data=b"{").json["error"]["code"] == -32700
    assert [shop.client.open("/mcp", method=name).status_code for name in ("GET", "DELETE")] == [405, 405]
    assert send(shop, "ping", {}, Origin="null").status_code == 403
