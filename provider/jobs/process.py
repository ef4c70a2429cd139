"""The handler's own process: forked once by a worker, reused, and killed when it does not stop.

The worker talks to it over a pipe. Inside, the handler runs on the main thread and a second thread listens
for the word to stop. A busy loop, a blocking call into C or a handler that swallows every exception cannot
keep the worker from renewing its lease or from ending the handler in time (R2): SIGKILL asks nobody.
"""

import ctypes
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe
from typing import Any, NoReturn

import structlog

from provider.errors import DeterministicError
from provider.services import Registry, Service

PR_SET_PDEATHSIG = 1
"""prctl(2): have the kernel send a signal when the parent dies (Linux)."""


@dataclass(frozen=True, slots=True)
class Order:
    """One job for the handler process."""

    job_id: str
    service: str
    input: str
    attempt: int
    budget_seconds: float
    completed_units: frozenset[str] = frozenset()
    cursors: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Progress:
    """The handler told how far it is."""

    done: float
    total: float | None
    message: str | None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The handler completed a unit, or with a cursor noted where it stands."""

    unit: str
    cursor: str | None
    """JSON text; None when the unit is complete."""


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The handler returned, and its output fits the schema."""

    output: str
    """JSON text."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The handler raised, or returned what is no output. `detail` is for the log only (E2)."""

    kind: str
    """`transient`, `deterministic`, `error` or `output_invalid`."""
    detail: str


Message = Progress | Checkpoint | Succeeded | Failed


class HandlerProcess:
    """A forked child that runs handlers, one at a time."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._pid: int | None = None
        self._pipe: Connection | None = None

    def start(self, order: Order) -> Connection:
        """Have a job run; its messages come out of the returned connection, EOFError means it died."""
        if self._pipe is None:
            self._fork()
        assert self._pipe is not None
        try:
            self._pipe.send(order)
        except OSError:  # It died while idle.
            self.kill()
            self._fork()
            self._pipe.send(order)
        return self._pipe

    def stop(self) -> None:
        """Tell the running handler to stop."""
        if self._pipe is not None:
            with suppress(OSError):
                self._pipe.send("stop")

    def kill(self) -> None:
        """End the child at once; the next job gets a new one."""
        pid, pipe, self._pid, self._pipe = self._pid, self._pipe, None, None
        if pipe is not None:
            pipe.close()
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)

    def _fork(self) -> None:
        ours, theirs = Pipe()
        parent = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            ours.close()
            _serve(theirs, self._registry, parent)
        theirs.close()
        self._pid, self._pipe = pid, ours


def _serve(pipe: Connection, registry: Registry, parent: int) -> NoReturn:
    """Run jobs until the pipe closes. Never returns into the worker's code."""
    try:
        _detach(parent)
        inbox = _Inbox(pipe)
        while True:
            order = inbox.next()
            pipe.send(_run(order, registry.get(order.service), pipe, inbox))
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def _detach(parent: int) -> None:
    """Leave the worker's signal handlers behind, and die with it."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


class _Inbox:
    """Reads the pipe on a thread of its own, so that the word to stop arrives while a handler runs."""

    def __init__(self, pipe: Connection) -> None:
        self.stopped = threading.Event()
        self._pipe = pipe
        self._orders: queue.SimpleQueue[Order] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def next(self) -> Order:
        return self._orders.get()

    def _listen(self) -> None:
        while True:
            try:
                message = self._pipe.recv()
            except (EOFError, OSError):
                os._exit(0)  # The worker is gone, and with it the lease.
            if message == "stop":
                self.stopped.set()
            else:
                self.stopped.clear()
                self._orders.put(message)


class _Context:
    """What a handler gets besides its input (R3); see `provider.services.Context`.

    Threads of a handler may share it. What cannot be stored as JSON is refused here, as the handler's own
    error; once the handler has ended, threads that it left behind are heard no more.
    """

    def __init__(self, order: Order, pipe: Connection, stopped: threading.Event) -> None:
        self.job_id = order.job_id
        self.attempt = order.attempt
        self.deadline = time.time() + order.budget_seconds
        self.cancelled = stopped
        self.completed_units = order.completed_units
        self.cursors = order.cursors
        self.logger = structlog.get_logger().bind(job_id=order.job_id)
        self._pipe: Connection | None = pipe
        self._lock = threading.Lock()

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        _json([done, total, message])
        self._send(Progress(done, total, message))

    def checkpoint(self, unit: str, cursor: Any = None) -> None:
        self._send(Checkpoint(str(unit), None if cursor is None else _json(cursor)))

    def close(self) -> None:
        """Hear the handler no more."""
        with self._lock:
            self._pipe = None

    def _send(self, message: Message) -> None:
        with self._lock:
            if self._pipe is not None:
                self._pipe.send(message)


def _run(order: Order, service: Service, pipe: Connection, inbox: _Inbox) -> Message:
    context = _Context(order, pipe, inbox.stopped)
    try:
        output = service.handler(json.loads(order.input), context)
    except Exception as error:
        return Failed(_kind(service, error), traceback.format_exc())
    finally:
        context.close()
    return _checked(service, output)


def _kind(service: Service, error: Exception) -> str:
    if service.is_transient(error):
        return "transient"
    return "deterministic" if isinstance(error, DeterministicError) else "error"


def _checked(service: Service, output: Any) -> Message:
    try:
        text = _json(output)
    except (TypeError, ValueError, RecursionError) as error:
        return Failed("output_invalid", f"not JSON: {error}")
    problems = service.validate_output(json.loads(text))
    if problems:
        return Failed("output_invalid", "; ".join(str(problem) for problem in problems))
    return Succeeded(text)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
