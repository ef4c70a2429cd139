"""Run by mcp 1.30: buy through the PyPI `x402MCPSession`. Reads a JSON request, prints what was had."""

import asyncio
import json
import sys
from typing import Any

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from stellar_sdk import Keypair
from x402 import x402Client
from x402.mcp import x402MCPSession

from provider.client.x402_scheme import register_exact_stellar_client


async def main(asked: dict[str, Any]) -> list[Any]:
    signed: list[Any] = []
    client = register_exact_stellar_client(
        x402Client(), Keypair.from_secret(asked["secret"]), rpc_url=asked["rpc_url"]
    )
    client.on_after_payment_creation(lambda context: signed.append(context.payment_payload))
    async with (
        streamablehttp_client(asked["url"]) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        return [await buy(session, client, signed, call) for call in asked["calls"]]


async def buy(session: Any, client: Any, signed: list[Any], call: dict[str, Any]) -> Any:
    first = await x402MCPSession(session, client).call_tool(call["name"], call["arguments"])
    began = job = json.loads(first.content[0].text)
    while "next" in job:
        job = await said(session, "job_status", {"id": job["id"], "wait": 20})
    meta = {"x402/payment": signed[-1].model_dump(by_alias=True)}
    again = await session.call_tool(call["name"], call["arguments"], meta=meta)
    receipt = first.payment_response
    return {
        "began": began,
        "job": job,
        "again": json.loads(again.content[0].text),
        "is_error": first.is_error,
        "receipt": receipt and receipt.transaction,
        "signed": len(signed),
    }


async def said(session: Any, name: str, arguments: dict[str, Any]) -> Any:
    return json.loads((await session.call_tool(name, arguments)).content[0].text)


sys.stdout.write(json.dumps(asyncio.run(main(json.load(sys.stdin)))))
