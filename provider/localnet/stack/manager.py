"""Honcho's manager with a planned end: processes that serve others stop after them."""

import multiprocessing
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterable
from typing import Any

from honcho.manager import Manager
from honcho.printer import Message

from provider.localnet.stack.children import Child, signal_group

FRONT_SECONDS = 10.0
BACK_SECONDS = 3.0
PAUSE_SECONDS = 0.05


class StackManager(Manager):  # type: ignore[misc]
    """Runs the processes of a platform until one ends or a signal comes.

    `back` are those that the others need: they are stopped last, so that a worker can still hand back
    its jobs.
    """

    def __init__(self, back: Collection[str], on_started: Callable[[], None], printer: Any = None) -> None:
        super().__init__(printer)
        self._on_started = on_started
        self._process_ctor = Child
        self._back = back
        self._terminating: bool = False
        self.first_ended: list[str] = []

    def pids(self) -> dict[str, int]:
        """Give the pid of each process that has started."""
        return {name: entry["pid"] for name, entry in self._processes.items() if "pid" in entry}

    @property
    def ending(self) -> bool:
        """Say whether the end has begun."""
        return self._terminating

    def status(self, name: str) -> int | None:
        """Give the exit status of a process; negative is the number of the signal that killed it."""
        status: int | None = self._processes[name].get("returncode")
        return status

    def say(self, text: str) -> None:
        """Print lines between those of the processes, from any thread."""
        for line in text.splitlines():
            now = self._clock.now()
            self.events.put(Message(type="line", data=f"{line}\n", time=now, name="dev", colour=None))

    def terminate(self) -> None:
        """Begin the end; `loop` goes on printing until all have stopped."""
        if self._terminating:
            return
        self._terminating = True
        self.first_ended = [name for name, entry in self._processes.items() if "returncode" in entry]
        threading.Thread(target=self._stop_in_order, daemon=True).start()

    def kill(self) -> None:
        """Leave it to the planned end, which kills in time; honcho would kill before that."""

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        for name, entry in self._processes.items():
            entry["process"] = context.Process(name=name, target=entry["obj"].run, args=(self.events, True))
            entry["process"].start()
        self._on_started()  # Threads of ours begin after the last fork.

    def _stop_in_order(self) -> None:
        back = [name for name in self._processes if name in self._back]
        front = [name for name in self._processes if name not in self._back]
        self._stop(front, FRONT_SECONDS)
        self._stop(back, BACK_SECONDS)

    def _stop(self, names: Iterable[str], seconds: float) -> None:
        """Ask with SIGTERM, then kill what has not stopped in time."""
        for name in self._running(names):
            signal_group(self._pid(name), signal.SIGTERM)
        deadline = time.monotonic() + seconds
        while self._running(names) and time.monotonic() < deadline:
            time.sleep(PAUSE_SECONDS)
        for name in self._running(names):
            self.say(f"{name} did not stop within {seconds:g} s and is killed")
            signal_group(self._pid(name), signal.SIGKILL)

    def _running(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if "returncode" not in self._processes[name]]

    def _pid(self, name: str) -> int:
        """Wait for the pid of a process that was only just forked."""
        while "pid" not in self._processes[name]:
            time.sleep(PAUSE_SECONDS)
        pid: int = self._processes[name]["pid"]
        return pid
