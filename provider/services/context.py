"""What a handler is given besides its input (standard R3)."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Protocol


class Cancelled(Protocol):
    """Signals a handler to stop; a `threading.Event` is one."""

    def is_set(self) -> bool: ...

    def wait(self, timeout: float | None = None) -> bool:
        """Sleep for up to `timeout` seconds; true as soon as the handler has to stop."""
        ...


class HandlerLogger(Protocol):
    """A structlog logger with the job id bound: an event name, then data as fields."""

    def debug(self, event: str, **fields: Any) -> Any: ...

    def info(self, event: str, **fields: Any) -> Any: ...

    def warning(self, event: str, **fields: Any) -> Any: ...

    def error(self, event: str, **fields: Any) -> Any: ...


class Context(Protocol):
    """The job as its handler sees it."""

    @property
    def job_id(self) -> str: ...

    @property
    def attempt(self) -> int:
        """Which start of the job this is, from 1: an interrupted job runs again."""
        ...

    @property
    def deadline(self) -> float:
        """Unix seconds after which the handler is stopped and the job failed with `timeout`."""
        ...

    @property
    def cancelled(self) -> Cancelled: ...

    @property
    def completed_units(self) -> AbstractSet[str]:
        """Units that this or an earlier attempt completed; it grows with each checkpoint."""
        ...

    @property
    def cursors(self) -> Mapping[str, Any]:
        """Per open unit, the cursor that was written last, as JSON gives it back."""
        ...

    @property
    def logger(self) -> HandlerLogger: ...

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress to the buyer; may be called at any rate (R4). Raises InvalidProgress."""
        ...

    def checkpoint(self, unit: str, cursor: Any = None) -> None:
        """Complete a unit, or with a cursor (any JSON value) note where the open unit stands (R5).

        It is stored when this returns, unless `cancelled` is set. Raises CheckpointRefused.
        """
        ...


Handler = Callable[[dict[str, Any], Context], Any]
"""Takes a copy of the validated input and a context; returns the output, a JSON value."""


def no_handler(payload: dict[str, Any], context: Context) -> Any:
    """Stand in for the handler of a service that only remote workers run."""
    raise NotImplementedError("only remote workers run this service")
