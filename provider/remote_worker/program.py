"""The program that does a job: input on its standard input, output on its standard output (§11).

It runs in a process group of its own, which ends with it or with the job. What it tells meanwhile it writes
to the file that `JOB_MESSAGES` names, a pipe: JSON objects, one a line.
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

from provider.remote_worker.platform import Job

log = structlog.get_logger()

MESSAGE_IGNORED = "message_ignored"
MOST_OUTPUT_BYTES = 1024 * 1024
"""The gateway takes no larger body (H9)."""
MOST_MESSAGE_BYTES = 1024 * 1024
MOST_EVENTS = 1000
"""A program that tells faster than it is heard waits, once the pipe is full too."""
MOST_WAIT_SECONDS = 60.0
LEFTOVER_SECONDS = 2.0
"""Time for a pipe to run dry after its program ended; one that left its group may hold it for ever."""
CONTEXT = ("id", "service", "attempt", "deadline", "budgetSeconds", "completedUnits", "cursors")


@dataclass(frozen=True, slots=True)
class Progress:
    """The program told how far it is."""

    progress: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Mark:
    """The program completed a unit, or with a cursor noted where it stands."""

    checkpoint: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ended:
    """The program is over, and all that it started. A negative status is a signal."""

    status: int
    output: bytes


Event = Progress | Mark | Ended


class Program:
    """One run of a command. Raises OSError when there is no such command."""

    def __init__(self, command: Sequence[str], job: Job) -> None:
        self._events: queue.Queue[Event | None] = queue.Queue(MOST_EVENTS)
        self._job = job
        self._folder = tempfile.TemporaryDirectory(prefix="job-")
        told, told_by_program = os.pipe()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[told_by_program],
                start_new_session=True,
                env={**os.environ, **self._environment(told_by_program)},
            )
        except OSError:
            os.close(told)
            self._folder.cleanup()
            raise
        finally:
            os.close(told_by_program)
        self._output = bytearray()
        self._readers = [
            _start(self._read_output, self._process.stdout),
            _start(self._read_messages, os.fdopen(told, "rb")),
        ]
        _start(self._write_input, self._process.stdin)
        _start(self._watch)

    def next(self, seconds: float) -> Event | None:
        """Wait for an event; None when there is none in time, or when somebody had this return."""
        try:
            return self._events.get(timeout=min(max(0.0, seconds), MOST_WAIT_SECONDS))
        except queue.Empty:
            return None

    def interrupt(self) -> None:
        """Have `next` return."""
        with suppress(queue.Full):  # Then it returns anyway.
            self._events.put_nowait(None)

    def end(self, grace_seconds: float) -> list[Event]:
        """Have it end: asked first, killed when it takes too long. Gives what it still told.

        Nothing of it runs any more afterwards.
        """
        told: list[Event] = []
        self._signal(signal.SIGTERM)
        kill_at = time.monotonic() + grace_seconds
        while not isinstance(event := self.next(kill_at - time.monotonic()), Ended):
            told += [event] if event else []
            if time.monotonic() >= kill_at:
                self._signal(signal.SIGKILL)
                kill_at = float("inf")
        return told

    def kill(self) -> None:
        """End it at once."""
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
        with suppress(OSError), pipe:  # It need not read it.
            pipe.write(json.dumps(self._job["input"]).encode())

    def _read_output(self, pipe: IO[bytes]) -> None:
        with pipe:
            while data := pipe.read1(65536):  # type: ignore[attr-defined]
                if len(self._output) <= MOST_OUTPUT_BYTES:  # What is cut here is too large already.
                    self._output += data

    def _read_messages(self, pipe: IO[bytes]) -> None:
        with pipe:
            for line in iter(lambda: pipe.readline(MOST_MESSAGE_BYTES), b""):
                if (message := _message(line)) is not None:
                    self._events.put(message)
                elif line.strip():
                    log.warning(MESSAGE_IGNORED, job_id=self._job["id"])

    def _watch(self) -> None:
        """Wait for the end, then end what the program left behind, so that the pipes run dry."""
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        self._signal(signal.SIGKILL)
        status = self._process.wait()
        for reader in self._readers:
            reader.join(LEFTOVER_SECONDS)
            while reader.is_alive() and self._events.full():  # It waits to be heard, and will be.
                reader.join(LEFTOVER_SECONDS)
        self._folder.cleanup()
        self._events.put(Ended(status, bytes(self._output)))


def _message(line: bytes) -> Event | None:
    """Read a line: `{"progress": {"done": 1, …}}` or `{"checkpoint": {"unit": "a", …}}`."""
    with suppress(ValueError, RecursionError):
        match json.loads(line):
            case {"progress": {"done": int() | float()} as progress}:
                return Progress(progress)
            case {"checkpoint": {"unit": str()} as checkpoint}:
                return Mark(checkpoint)
    return None


def _start(work: Callable[..., None], *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread
