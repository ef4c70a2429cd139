"""JSON-RPC as MCP's Streamable HTTP speaks it, in two eras on one endpoint.

Since 2026-07-28 each request names its revision and says what its client can do (`_meta`), and repeats in
headers what a proxy may want to read. Before, `initialize` agrees on a revision; nothing is kept of it here.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from werkzeug.datastructures import Headers

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
SUPPORTED = (MODERN, *LEGACY)
PREFIX = "io.modelcontextprotocol/"
TASKS = f"{PREFIX}tasks"

INVALID_REQUEST = -32600
UNKNOWN_METHOD = -32601
INVALID_PARAMS = -32602
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022


class ProtocolFault(Exception):
    """A request that is no valid message of this protocol, or asks for what is not there."""

    def __init__(self, code: int, message: str, status: int = 200, data: Any = None) -> None:
        self.code = code
        self.status = status
        self.data = data
        super().__init__(message)

    def body(self) -> dict[str, Any]:
        """Spell the `error` of an answer."""
        data = {} if self.data is None else {"data": self.data}
        return {"code": self.code, "message": str(self), **data}


@dataclass(frozen=True, slots=True)
class Question:
    """One JSON-RPC request."""

    method: str
    params: Mapping[str, Any]
    is_modern: bool
    meta: Mapping[str, Any] = field(repr=False)

    @property
    def takes_tasks(self) -> bool:
        """The client understands a task as the answer to a call; never true before 2026-07-28."""
        extensions = _object(_object(self.meta.get(f"{PREFIX}clientCapabilities")).get("extensions"))
        return self.is_modern and TASKS in extensions

    def text(self, name: str) -> str:
        """Return a parameter that has to be a text. Raises ProtocolFault."""
        value = self.params.get(name)
        if not isinstance(value, str):
            raise ProtocolFault(INVALID_PARAMS, f"params.{name} has to be a string.")
        return value

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a tool. Raises ProtocolFault."""
        value = self.params.get("arguments") or {}
        if not isinstance(value, dict):
            raise ProtocolFault(INVALID_PARAMS, "params.arguments has to be an object.")
        return value


def read_question(message: Mapping[str, Any], headers: Headers) -> Question:
    """Read a request and settle its era. Raises ProtocolFault."""
    method, params = message.get("method"), message.get("params", {})
    if message.get("jsonrpc") != "2.0" or not isinstance(method, str) or not isinstance(params, dict):
        raise ProtocolFault(INVALID_REQUEST, "This is not a JSON-RPC 2.0 request.", HTTPStatus.BAD_REQUEST)
    meta = _object(params.get("_meta"))
    named = meta.get(f"{PREFIX}protocolVersion")
    question = Question(method, params, named is not None, meta)
    _check_version(named, headers.get("MCP-Protocol-Version"), is_modern=question.is_modern)
    if question.is_modern:
        _check_headers(question, headers)
    return question


def _check_version(named: Any, header: str | None, *, is_modern: bool) -> None:
    if is_modern and header != named:
        raise _mismatch("MCP-Protocol-Version")
    asked = named if is_modern else header
    if asked is None or asked in ((MODERN,) if is_modern else LEGACY):
        return
    if asked == MODERN:
        raise _mismatch("MCP-Protocol-Version")
    data = {"supported": list(SUPPORTED), "requested": asked}
    raise ProtocolFault(UNSUPPORTED_VERSION, "Unsupported protocol version.", HTTPStatus.BAD_REQUEST, data)


def _check_headers(question: Question, headers: Headers) -> None:
    if headers.get("Mcp-Method") != question.method:
        raise _mismatch("Mcp-Method")
    field_name = {"tools/call": "name"}.get(question.method)
    if question.method.startswith("tasks/"):
        field_name = "taskId"
    if field_name and _plain(headers.get("Mcp-Name")) != question.params.get(field_name):
        raise _mismatch("Mcp-Name")


def _plain(header: str | None) -> str | None:
    """Undo `=?base64?…?=`, in which a name stands that a header cannot hold."""
    if header is None or not (header.startswith("=?base64?") and header.endswith("?=")):
        return header
    try:
        return base64.b64decode(header[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise _mismatch("Mcp-Name") from None


def _mismatch(name: str) -> ProtocolFault:
    text = f"The header {name} is missing or differs from the body."
    return ProtocolFault(HEADER_MISMATCH, text, HTTPStatus.BAD_REQUEST)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
