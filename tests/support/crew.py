"""Beats and a maintenance worker as real processes, each with a log of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redis import Redis
from stellar_sdk import Keypair

from provider.broker.queues import MAINTENANCE
from provider.cli.worker import worker_command
from provider.jobs.recover.sweep import SWEPT
from provider.jobs.store.client import connect
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.rounds import Round, Rounds
from tests.support.processes import family
from tests.support.processes import wait_until as wait_for
from tests.support.redis_server import RedisServer

SWEEP_SECONDS = 0.5
PATIENCE_SECONDS = 60
"""A busy machine takes its time to start a process."""
SENDS = "Scheduler: Sending due task"
STARTS = "beat: Starting"
FIRST_ROUND = 1
"""It only begins the first interval."""


@dataclass
class Crew:
    """Beats and a maintenance worker, each with a log of its own."""

    server: RedisServer
    home: Path
    app: str = "provider.workers.celery"
    settings: dict[str, str] = field(default_factory=dict)
    processes: "dict[str, subprocess.Popen[bytes]]" = field(default_factory=dict)

    def start(self, name: str, clock_ahead: float = 0) -> "subprocess.Popen[bytes]":
        command = worker_command(("maintenance",), [MAINTENANCE], 1)
        if name.startswith("beat"):
            command = [sys.executable, "-m", "celery", "--quiet", "--app", self.app, "beat"]
        if clock_ahead:
            command[2:2] = ["tests.support.wrong_clock", str(clock_ahead)]
        own = {
            "PAY_TO": Keypair.random().public_key,
            "PROVIDER_SERVICES": "tests.chaos.services:registry",
            "REDIS_URL": self.server.url,
            "SWEEP_SECONDS": str(SWEEP_SECONDS),
            **self.settings,
        }
        with (self.home / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command, env={**os.environ, **own}, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        return self.processes[name]

    def stop_all(self) -> None:
        for process in self.processes.values():
            for pid in family(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, 9)
            process.wait()

    def told(self, name: str, event: str) -> list[dict[str, Any]]:
        """Read the lines of a log whose event begins so."""
        path = self.home / f"{name}.log"
        lines = [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"].startswith(event)]

    def redis(self) -> "Redis":
        return Redis.from_url(self.server.url, decode_responses=True)

    def beats(self) -> list[str]:
        return [name for name in self.processes if name.startswith("beat")]

    def sent(self, entry: str = "sweep") -> int:
        """Count what all beats sent of an entry."""
        return sum(len(self.told(name, f"{SENDS} {entry} ")) for name in self.beats())

    def sends(self, more: int) -> bool:
        """Wait until so many more sweeps were sent."""
        wanted = self.sent() + more
        return wait_until(lambda: self.sent() >= wanted)

    def swept(self, more: int) -> bool:
        """Wait until a worker has swept so many more times."""
        wanted = len(self.told("maintenance", SWEPT)) + more
        return wait_until(lambda: len(self.told("maintenance", SWEPT)) >= wanted)

    def done(self) -> int:
        """Count the messages that a worker is through with, whether they were a run or not."""
        told = self.told("maintenance", "Task tasks.maintenance.")
        return sum("succeeded" in line["event"] for line in told)

    def last_round(self, entry: str = "sweep") -> Round:
        url = self.settings.get("REDIS_URL", self.server.url)
        return Rounds(JobStore(connect(url))).last(entry)

    def stop_beats(self) -> int:
        """Stop all beats; how many there were."""
        beats = [self.processes[name] for name in self.beats()]
        for beat in beats:
            beat.terminate()
            beat.wait(30)
        return len(beats)

    def sent_nothing_twice(self, since: Round) -> None:
        """Each round was sent once, and none began before its time; a beat may be stopped before it sends."""
        stopped, last = self.stop_beats(), self.last_round()
        assert last.began
        assert since.began
        rounds = last.number - since.number
        assert (last.began - since.began).total_seconds() > 0.99 * SWEEP_SECONDS * rounds
        unsent = last.number - FIRST_ROUND - self.sent()
        assert 0 <= unsent <= stopped


def wait_until(condition: Callable[[], object]) -> bool:
    return wait_for(condition, PATIENCE_SECONDS)


@contextmanager
def crew_of(server: RedisServer, home: Path) -> Iterator[Crew]:
    """Employ nobody yet; end whatever runs afterwards."""
    crew = Crew(server, home)
    try:
        yield crew
    finally:
        crew.stop_all()
