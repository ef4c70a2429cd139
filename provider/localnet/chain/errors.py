"""What the local chain refuses, worded like the networks word it."""

from __future__ import annotations


class HostError(Exception):
    """A contract call that trapped. `kind` and `code` as in `Error(Auth, ExistingValue)`."""

    def __init__(self, kind: str, code: str, message: str) -> None:
        super().__init__(message)
        self.kind, self.code, self.message = kind, code, message

    @property
    def text(self) -> str:
        """The text that a simulation answers in `error`."""
        name = f"Error({self.kind}, {self.code})"
        return (
            f"HostError: {name}\n\nEvent log (newest first):\n"
            f'   0: [Diagnostic Event] topics:[error, {name}], data:"{self.message}"\n'
        )


class JsonRpcError(Exception):
    """A JSON-RPC error object; the HTTP status stays 200."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class InvalidRequest(JsonRpcError):
    def __init__(self, message: str) -> None:
        super().__init__(-32600, message)


class InvalidParams(JsonRpcError):
    def __init__(self, message: str) -> None:
        super().__init__(-32602, message)


class InternalError(JsonRpcError):
    def __init__(self, message: str) -> None:
        super().__init__(-32603, message)


class CaptiveCoreError(InternalError):
    """What stellar-core refused to the RPC."""

    def __init__(self, message: str) -> None:
        super().__init__(f"could not query captive core: {message}")


class BrokenConnection(Exception):
    """A fault: end the connection without an answer."""


class ServerDown(Exception):
    """A fault: answer with an HTTP status and something that is no JSON-RPC."""

    def __init__(self, status: int = 500) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


class UnknownFault(ValueError):
    """The fault has no such name or parameter."""
