"""The program that does a job: input on its standard input, output on its standard output (§11).

It runs in a process group of its own, which ends with it or with the job. Progress and checkpoints are JSON
objects, one a line, written to the file that `JOB_MESSAGES` names: a pipe.
"""

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import structlog

from provider import strict_json
from provider.environment import without_secrets
from provider.remote_worker.gateway_client import Job

log = structlog.get_logger()

MESSAGE_IGNORED = "message_ignored"
MOST_OUTPUT_BYTES = 1024 * 1024
"""The gateway takes no larger body (H9)."""
MOST_MESSAGE_BYTES = 1024 * 1024
MOST_EVENTS = 1000
"""A program that writes faster than its messages are reported blocks once the pipe is full too."""
MOST_WAIT_SECONDS = 60.0
LEFTOVER_SECONDS = 2.0
"""Time for a pipe to run dry after its program ended; a process that left the group may keep it open."""
CONTEXT = ("id", "service", "attempt", "deadline", "budgetSeconds", "completedUnits", "cursors")


@dataclass(frozen=True, slots=True)
class ProgressMessage:
    """Progress of the program."""

    progress: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Mark:
    """A completed unit, or the cursor of an open one."""

    checkpoint: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ended:
    """The program and its process group have ended. A negative status is a signal."""

    status: int
    output: bytes


Event = ProgressMessage | Mark | Ended


class Program:
    """One run of a command. Raises OSError when there is no such command."""

    def __init__(self, command: Sequence[str], job: Job) -> None:
        self._events: queue.Queue[Event | None] = queue.Queue(MOST_EVENTS)
        self._job = job
        self._folder = tempfile.TemporaryDirectory(prefix="job-")
        read_end, write_end = os.pipe()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[write_end],
                start_new_session=True,
                env={**without_secrets(os.environ), **self._environment(write_end)},
            )
        except OSError:
            os.close(read_end)
            self._folder.cleanup()
            raise
        finally:
            os.close(write_end)
        self._output = bytearray()
        self._readers = [
            _start(self._read_output, self._process.stdout),
            _start(self._read_messages, os.fdopen(read_end, "rb")),
        ]
        _start(self._write_input, self._process.stdin)
        _start(self._watch)

    def next(self, seconds: float) -> Event | None:
        """Wait for an event; None when the time is over or `interrupt` was called."""
        try:
            return self._events.get(timeout=min(max(0.0, seconds), MOST_WAIT_SECONDS))
        except queue.Empty:
            return None

    def interrupt(self) -> None:
        """Make `next` return early."""
        with suppress(queue.Full):  # A full queue makes `next` return anyway.
            self._events.put_nowait(None)

    def end(self, grace_seconds: float) -> list[Event]:
        """Terminate the process group, kill it after the grace; return the events until `Ended`."""
        events: list[Event] = []
        self._signal(signal.SIGTERM)
        kill_at = time.monotonic() + grace_seconds
        while True:
            if (event := self.next(kill_at - time.monotonic())) is not None:
                events.append(event)
            if isinstance(event, Ended):
                return events
            if time.monotonic() >= kill_at:
                self._signal(signal.SIGKILL)
                kill_at = float("inf")

    def kill(self) -> None:
        """Kill the process group at once."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        """Send a signal to the program and all that it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _environment(self, messages: int) -> dict[str, str]:
        context = Path(self._folder.name) / "context.json"
        context.write_text(json.dumps({name: self._job[name] for name in CONTEXT}))
        return {
            "JOB_ID": self._job["id"],
            "JOB_SERVICE": self._job["service"],
            "JOB_ATTEMPT": str(self._job["attempt"]),
            "JOB_DEADLINE": self._job["deadline"],
            "JOB_CONTEXT": str(context),
            "JOB_MESSAGES": f"/dev/fd/{messages}",
            "JOB_MESSAGES_FD": str(messages),
        }

    def _write_input(self, pipe: IO[bytes]) -> None:
        with suppress(OSError), pipe:  # The program need not read its input.
            pipe.write(json.dumps(self._job["input"]).encode())

    def _read_output(self, pipe: IO[bytes]) -> None:
        with pipe:
            while data := pipe.read1(65536):  # type: ignore[attr-defined]
                if len(self._output) <= MOST_OUTPUT_BYTES:  # Output cut here is over the limit already.
                    self._output += data

    def _read_messages(self, pipe: IO[bytes]) -> None:
        with pipe:
            for line in iter(lambda: pipe.readline(MOST_MESSAGE_BYTES), b""):
                if (message := _message(line)) is not None:
                    self._events.put(message)
                elif line.strip():
                    log.warning(MESSAGE_IGNORED, job_id=self._job["id"])

    def _watch(self) -> None:
        """Wait for the exit, then kill what is left of the group, so that the pipes run dry."""
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        self._signal(signal.SIGKILL)
        status = self._process.wait()
        for reader in self._readers:
            reader.join(LEFTOVER_SECONDS)
            while reader.is_alive() and self._events.full():  # It is blocked on the queue, which is read.
                reader.join(LEFTOVER_SECONDS)
        self._folder.cleanup()
        self._events.put(Ended(status, bytes(self._output)))


def _message(line: bytes) -> Event | None:
    """Read a line: `{"progress": {"done": 1, …}}` or `{"checkpoint": {"unit": "a", …}}`."""
    with suppress(ValueError):
        match strict_json.parse(line):
            case {"progress": {"done": int() | float()} as progress}:
                return ProgressMessage(progress)
            case {"checkpoint": {"unit": str()} as checkpoint}:
                return Mark(checkpoint)
    return None


def _start(work: Callable[..., None], *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread
