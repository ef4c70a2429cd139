"""The handler's own process: forked once by a worker, reused, and killed when it does not stop.

The worker talks to it over a pipe. Inside, the handler runs on the main thread and a second thread listens
for the word to stop. A busy loop, a blocking call into C or a handler that swallows every exception cannot
keep the worker from renewing its lease or from ending the handler in time (R2): SIGKILL asks nobody.
"""

import ctypes
import json
import multiprocessing
import os
import queue
import signal
import sys
import threading
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import NoReturn

from provider.environment import forget_secrets
from provider.jobs.run.classify import judge_error, judge_output
from provider.jobs.run.context import Answers, JobContext
from provider.jobs.run.framing import Inlet, Outlet, send_in_time
from provider.jobs.run.messages import Message, Order, Stored
from provider.services import Registry, Service

PR_SET_PDEATHSIG = 1
"""prctl(2): have the kernel send a signal when the parent dies (Linux)."""


ORDER_SECONDS = 2
"""Time a process has to take an order; one that earlier jobs left hanging is replaced."""


GONE = os.WEXITED | os.WNOHANG | os.WNOWAIT
"""waitid(2): look whether a child ended, and leave it to be waited for."""


class HandlerProcess:
    """A forked child that runs handlers, one at a time."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._pid: int | None = None
        self._pipe: Connection | None = None
        self._inlet: Inlet | None = None

    def start(self, order: Order) -> Inlet:
        """Have a job run; its messages come out of the returned inlet, EOFError means it died."""
        try:
            return self._send(order)
        except OSError:  # It died while idle, or hangs in what an earlier job left behind.
            self.kill()
            return self._send(order)

    def stop(self) -> None:
        """Ask the running handler to stop."""
        self._say("stop")

    def answer(self, stored: Stored) -> None:
        """Answer the running handler's checkpoint."""
        self._say(stored)

    def has_died(self) -> bool:
        """Return whether the child has exited; a child of its own may keep the pipe open."""
        return self._pid is not None and os.waitid(os.P_PID, self._pid, GONE) is not None

    def kill(self) -> None:
        """End the child and what it started, at once; the next job gets a new one."""
        pid, pipe, self._pid, self._pipe = self._pid, self._pipe, None, None
        if pipe is not None:
            pipe.close()
        if pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)  # One that has not left the worker's group yet, or left its own.
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)

    def _say(self, word: str | Stored) -> None:
        if self._pipe is not None:
            with suppress(OSError):
                self._pipe.send(word)

    def _send(self, order: Order) -> Inlet:
        if self._pipe is None:
            self._fork()
        assert self._pipe is not None
        assert self._inlet is not None
        self._inlet.order += 1
        self._pipe.send((self._inlet.order, order))
        return self._inlet

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
        send_in_time(ours, ORDER_SECONDS)
        self._pid, self._pipe, self._inlet = pid, ours, Inlet(ours)


def _serve(pipe: Connection, registry: Registry, parent: int) -> NoReturn:
    """Run jobs until the pipe closes. Never returns into the worker's code."""
    try:
        _detach(parent)
        inbox, own_pid = _Inbox(pipe), os.getpid()
        while True:
            number, order, answers = inbox.next()
            outlet = Outlet(pipe, number)
            context = JobContext(order, outlet, inbox.stopped, answers)
            answer = _run(order, registry.get(order.service), context)
            if os.getpid() != own_pid:  # The handler forked, and this is its child.
                break
            outlet.send(answer)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def _detach(parent: int) -> None:
    """Leave the worker's signal handlers and process group behind, and die with it."""
    os.setsid()
    forget_secrets(os.environ)
    multiprocessing.current_process().daemon = False  # It may have children: they end with its group.
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
        self._answers = Answers()
        self._orders: queue.SimpleQueue[tuple[int, Order, Answers]] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def next(self) -> tuple[int, Order, Answers]:
        """Wait for an order: its number, and where the answers to its checkpoints arrive."""
        return self._orders.get()

    def _listen(self) -> None:
        while True:
            try:
                message = self._pipe.recv()
            except (EOFError, OSError):
                os._exit(0)  # The worker is gone, and with it the lease.
            if isinstance(message, Stored):
                self._answers.put(message)
            elif message == "stop":
                self.stopped.set()
                self._answers.put(None)
            else:
                self.stopped.clear()
                self._answers = Answers()
                self._orders.put((*message, self._answers))


def _run(order: Order, service: Service, context: JobContext) -> Message:
    try:
        output = service.handler(json.loads(order.input), context)
    except BaseException as error:  # `sys.exit()` is its author's failure, and no worker's death (R6).
        return judge_error(service, error, traceback.format_exc())
    finally:
        context.close()
    return judge_output(service, output)
