"""A child process that never outlives its parent, and whose group never outlives it.

Honcho runs each command in a session of its own, read by a forked runner. That survives a parent killed
with SIGKILL, and a leader that dies while its children hold the pipe is not noticed; the watch mends both.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from honcho.process import Popen, Process

WATCH_SECONDS = 0.2
GRACE_SECONDS = 5.0
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Child(Process):  # type: ignore[misc]
    """Honcho's runner, with a thread that watches both ends."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._child_ctor = self._start

    def run(self, events: Any = None, ignore_signals: bool = False) -> None:
        """Run the command in this forked process; signals are the parent's business from the start."""
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        super().run(events, ignore_signals)

    def _start(self, command: str, **options: Any) -> "subprocess.Popen[bytes]":
        parent = os.getppid()
        child: subprocess.Popen[bytes] = Popen(command, preexec_fn=begin_child, **options)
        threading.Thread(target=watch, args=(child, parent), daemon=True).start()
        return child


def watch(child: "subprocess.Popen[bytes]", parent: int) -> None:
    """End the group when the parent is gone; kill what is left of it when its leader is gone."""
    while child.poll() is None and os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    if os.getppid() == parent:
        signal_group(child.pid, signal.SIGKILL)
        return
    signal_group(child.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(GRACE_SECONDS)
    signal_group(child.pid, signal.SIGKILL)
    os._exit(1)  # The pipe to the parent has no reader any more, so an ordinary exit could block.


def signal_group(leader: int, number: signal.Signals) -> None:
    """Signal all processes of a session that we started; none left is fine."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def begin_child() -> None:
    """Between fork and exec: take signals again, and get a SIGTERM when the runner dies (Linux)."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
