"""Run by mcp 2.3, stateless or legacy: buy with payments signed elsewhere. Reads and prints JSON."""

import asyncio
import json
import sys
from typing import Any, Literal

import mcp_types as types
from mcp.client import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from pydantic import ConfigDict, Field

TASKS = "io.modelcontextprotocol/tasks"
claimed: list[str] = []


class Task(types.Result):
    model_config = ConfigDict(extra="allow", populate_by_name=True)
    result_type: Literal["task"] = Field("task", alias="resultType")
    task_id: str = Field(alias="taskId")


class Asked(types.RequestParams):
    task_id: str = Field(alias="taskId", serialization_alias="taskId")


class GetTask(types.Request[Asked, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    name_param = "taskId"
    params: Asked


class Shown(types.Result):
    model_config = ConfigDict(extra="allow")
    status: str
    result: Any = None


async def follow(task: Task, context: ClaimContext) -> types.CallToolResult:
    claimed.append(task.task_id)
    while True:
        request = GetTask(params=Asked(taskId=task.task_id))
        shown = await context.session.send_request(request, Shown)
        if shown.status != "working":
            return types.CallToolResult.model_validate(shown.result)
        await asyncio.sleep(0.3)


class Tasks(ClientExtension):
    identifier = TASKS

    def claims(self) -> Any:
        return [ResultClaim(result_type="task", model=Task, resolve=follow)]


async def main(asked: dict[str, Any]) -> list[Any]:
    legacy = asked["mode"] == "legacy"
    extensions = [] if legacy else [Tasks()]
    async with Client(asked["url"], mode=asked["mode"], extensions=extensions) as client:
        return [await buy(client, call) for call in asked["calls"]]


async def buy(client: Any, call: dict[str, Any]) -> Any:
    price = await client.call_tool(call["name"], call["arguments"])
    assert price.is_error, price
    assert price.structured_content["accepts"], price
    claimed.clear()
    first, job = await paid(client, call)
    tasks = list(claimed)
    _, again = await paid(client, call)
    receipt = (first.meta or {}).get("x402/payment-response", {})
    return {
        "job": job,
        "again": again,
        "is_error": first.is_error,
        "receipt": receipt.get("transaction"),
        "tasks": tasks,
    }


async def paid(client: Any, call: dict[str, Any]) -> tuple[Any, Any]:
    meta = {"x402/payment": call["payment"]}
    result = await client.call_tool(call["name"], call["arguments"], meta=meta)
    job = json.loads(result.content[0].text)
    while "next" in job:
        result = await client.call_tool("job_status", {"id": job["id"], "wait": 20})
        job = json.loads(result.content[0].text)
    return result, job


sys.stdout.write(json.dumps(asyncio.run(main(json.load(sys.stdin)))))
