"""The manager of `provider dev`, on real processes that stand in for servers and workers."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator

import pytest

from tests.support.processes import is_alive, marked, wait_until

SCRIPT = """
import sys
from provider.localnet.stack import manager
manager.FRONT_SECONDS = manager.BACK_SECONDS = 1.0
stack = manager.StackManager(["back"], on_started=lambda: None)
for name, command in zip(sys.argv[1::2], sys.argv[2::2]):
    stack.add_process(name, command)
stack.loop()
print("first ended:", stack.first_ended, [stack.status(name) for name in stack.first_ended], flush=True)
"""
FAMILY = "sleep 1000 & sleep 1000 & wait"
STUBBORN = "trap '' INT TERM; echo up; while :; do sleep 0.1; done"

Running = Callable[..., "Stack"]


class Stack:
    """A manager in a process of its own; everything it starts carries a mark."""

    def __init__(self, commands: dict[str, str]) -> None:
        self.mark = f"STACK_MARK={uuid.uuid4().hex}"
        name, _, value = self.mark.partition("=")
        arguments = [part for pair in commands.items() for part in pair]
        self.process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, name: value},
        )

    def wait_for_processes(self, count: int) -> None:
        assert wait_until(lambda: len(marked(self.mark)) >= count), marked(self.mark)

    def end(self, number: signal.Signals, seconds: float = 15) -> str:
        """Signal the manager and return what it printed until it ended."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=seconds)[0]

    def left(self) -> set[int]:
        return marked(self.mark)


@pytest.fixture
def running() -> Iterator[Running]:
    """Start managers, and leave none."""
    stacks: list[Stack] = []

    def run(**commands: str) -> Stack:
        stacks.append(Stack(commands))
        return stacks[-1]

    yield run
    for stack in stacks:
        for pid in stack.left():
            os.kill(pid, signal.SIGKILL)
        stack.process.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_every_process_and_its_children(running: Running, number: signal.Signals) -> None:
    """Each command stands for a worker with children of its own."""
    stack = running(back=FAMILY, front=FAMILY)
    stack.wait_for_processes(1 + 2 * (1 + 3))  # The manager; per command a runner, a shell, two sleeps.
    assert "first ended: []" in stack.end(number)
    assert not stack.left()


def test_a_signal_right_at_the_start_ends_everything_too(running: Running) -> None:
    """Runners are being forked while the signal comes."""
    stack = running(**{f"p{n}": FAMILY for n in range(6)})
    stack.wait_for_processes(4)
    stack.end(signal.SIGINT)
    assert not stack.left()


def test_what_others_need_stops_last(running: Running) -> None:
    """A worker hands back its jobs before Redis goes."""
    slow = "trap 'sleep 0.5; echo front-gone; exit' TERM; echo up; while :; do sleep 0.05; done"
    stack = running(back="trap 'echo back-gone; exit' TERM; while :; do sleep 0.05; done", front=slow)
    stack.wait_for_processes(5)
    time.sleep(0.3)
    output = stack.end(signal.SIGTERM)
    assert 0 < output.index("front-gone") < output.index("back-gone")


def test_a_process_that_dies_is_named_and_ends_the_others(running: Running) -> None:
    """Its exit status is told as well."""
    stack = running(back=FAMILY, front="sleep 0.5; exit 7")
    output = stack.process.communicate(timeout=15)[0]
    assert "first ended: ['front'] [7]" in output
    assert not stack.left()


def test_children_of_a_killed_leader_end_with_it(running: Running) -> None:
    """They hold the pipe, so its end alone would say nothing."""
    stack = running(back="sleep 1000", front="(sleep 1000 &) ; sleep 0.5; kill -9 $$")
    output = stack.process.communicate(timeout=15)[0]
    assert "first ended: ['front'] [-9]" in output
    assert not stack.left()


def test_a_process_that_ignores_the_signal_is_killed(running: Running) -> None:
    """It gets its time, then no more."""
    stack = running(back="sleep 1000", front=STUBBORN)
    stack.wait_for_processes(5)
    time.sleep(0.3)
    assert "did not stop within 1 s" in stack.end(signal.SIGINT)
    assert not stack.left()


def test_a_killed_manager_leaves_no_process(running: Running) -> None:
    """SIGKILL cannot be handled, so the runners notice that their parent is gone."""
    stack = running(back=FAMILY, front=FAMILY, noisy="while :; do echo line; done")
    stack.wait_for_processes(11)
    stack.process.kill()
    assert wait_until(lambda: not stack.left(), seconds=10), stack.left()
    assert not is_alive(stack.process.pid)
