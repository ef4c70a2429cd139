"""A facilitator that costs next to nothing: every payment is valid, and settled after a given time.

One asyncio process, answers prepared as bytes, so that what is measured is the caller.
Run: `python -m bench.facilitator PORT SETTLE_SECONDS`.
"""

import asyncio
import json
import secrets
import sys

NETWORK = "stellar:testnet"


def _answer(body: dict[str, object]) -> bytes:
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


KIND = {"x402Version": 2, "scheme": "exact", "network": NETWORK, "extra": {"areFeesSponsored": True}}
SUPPORTED = _answer({"kinds": [KIND], "extensions": [], "signers": {}})
VALID = _answer({"isValid": True})
SETTLED = _answer({"success": True, "transaction": "ab" * 32, "network": NETWORK})
TRANSACTION = b"ab" * 32
"""Stands for a transaction of its own in each answer."""


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, settle_seconds: float) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next(
                (
                    int(line[15:])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length:")
                ),
                0,
            )
            await reader.readexactly(length)
            if b"/settle" in head.split(b"\r\n", 1)[0]:
                if settle_seconds:
                    await asyncio.sleep(settle_seconds)
                writer.write(SETTLED.replace(TRANSACTION, secrets.token_hex(32).encode()))
            else:
                writer.write(VALID if head.startswith(b"POST") else SUPPORTED)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _main(port: int, settle_seconds: float) -> None:
    server = await asyncio.start_server(
        lambda reader, writer: _serve(reader, writer, settle_seconds), "127.0.0.1", port
    )
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), float(sys.argv[2])))
