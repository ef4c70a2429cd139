"""Kill a process right after a stored step, by a plan in a file: the first process that gets there, once."""

import json
import os
import signal
from collections import Counter
from pathlib import Path

from provider.jobs.store.scripts import Scripts

PLAN, KIND = "CRASH_PLAN", "CRASH_KIND"
"""Environment variables: where the plan is, and which kind of process this is."""


def write_plan(path: Path, kind: str, step: str, nth: int) -> None:
    """Have a process of a kind die right after it made a step for the n-th time."""
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps([kind, step, nth, os.urandom(4).hex()]))
    draft.rename(path)


def install() -> None:
    """Hook into every `Scripts` that this process makes from now on."""
    if PLAN not in os.environ:
        return
    crash, make = Crash(Path(os.environ[PLAN]), os.environ[KIND]), Scripts.__init__

    def hooked(self: Scripts, *given: object) -> None:
        make(self, *given)  # type: ignore[arg-type]
        self.after = crash

    Scripts.__init__ = hooked  # type: ignore[method-assign,assignment]


class Crash:
    """Called with the name of each script once its effects are stored."""

    def __init__(self, plan: Path, kind: str) -> None:
        self._plan = plan
        self._kind = kind
        self._made: Counter[str] = Counter()

    def __call__(self, step: str) -> None:
        try:
            kind, planned, nth, number = json.loads(self._plan.read_text())
        except FileNotFoundError:
            return
        if (kind, planned) != (self._kind, step):
            return
        self._made[number] += 1
        if self._made[number] >= nth:
            self._die()

    def _die(self) -> None:
        """Die as by `kill -9`, a pool's parent with its child, unless another process just did."""
        try:
            self._plan.unlink()
        except FileNotFoundError:
            return
        if self._kind == "handle":
            os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
