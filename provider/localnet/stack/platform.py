"""Start a local platform, report when it is ready, and leave nothing behind."""

import contextlib
import fcntl
import json
import os
import shlex
import shutil
import signal
import threading
from collections.abc import Iterator, Mapping

import click

from provider.errors import ConfigurationError
from provider.localnet.files import write_private
from provider.localnet.redis_server import check_readable
from provider.localnet.stack.manager import StackManager
from provider.localnet.stack.plan import BACK, Plan
from provider.localnet.stack.ready import checks, wait_until_ready

READY_SECONDS = 90.0
FAILED = 1


class LocalStack:
    """All processes of a plan, run until a signal comes or one of them ends."""

    def __init__(self, plan: Plan, keep_data: bool = False) -> None:
        self.plan = plan
        self.keep_data = keep_data
        self.description = plan.data_dir / "dev.json"
        self.variables = plan.data_dir / "dev.env"
        self.missing: list[str] = []
        self.manager = StackManager(BACK, on_started=self._watch_in_background)

    def run(self) -> int:
        """Run to the end and return the exit status: 0 after a signal, 1 when something failed.

        Raises ConfigurationError before anything starts.
        """
        self.plan.ports.check_free()
        environment, commands = self.plan.environment(), self.plan.commands()
        with self._data_dir():
            for name, command in commands.items():
                self.manager.add_process(name, command, env=environment)
            signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
            try:
                self.manager.loop()
            finally:
                self._forget()
        return self._verdict()

    @contextlib.contextmanager
    def _data_dir(self) -> Iterator[None]:
        """Hold the data directory alone; the chain begins anew, so old claims on it are cleared away."""
        home = self.plan.data_dir
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (home / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ConfigurationError(
                    [f"another platform runs with the data directory {home}; end it, or give --data-dir"]
                ) from None
            self._forget()
            for part in ("redis", "facilitator"):
                if not self.keep_data:
                    shutil.rmtree(home / part, ignore_errors=True)
                (home / part).mkdir(exist_ok=True)
            check_readable(home / "redis", self.plan.redis_server)
            yield

    def _forget(self) -> None:
        for file in (self.description, self.variables):
            file.unlink(missing_ok=True)

    def _watch_in_background(self) -> None:
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        """Announce the platform once everything answers; give it up when something never does."""
        missing = wait_until_ready(checks(self.plan), READY_SECONDS, lambda: self.manager.ending)
        if self.manager.ending:
            return  # What was stopped on its way up is missing no answer.
        if missing:
            self.missing = missing
            self.manager.terminate()
            return
        write_private(self.variables, "".join(_exports(self.plan.settings())).encode())
        description = json.dumps(self.plan.describe(self.manager.pids()), indent=2) + "\n"
        write_private(self.description, description.encode())
        self.manager.say(self._welcome())

    def _welcome(self) -> str:
        plan = self.plan
        return "\n".join(
            [
                "",
                f"Ready. Services and prices   {plan.web_url}",
                f"       Tasks and workers     {plan.flower_url}   user dev, password {plan.flower_password}",
                f"       Chain (Stellar RPC)   {plan.rpc_url}",
                f"       Everything, as JSON   {self.description}",
                f"       For operators         . {self.variables}, then `provider stats` and others",
                "       Ctrl-C ends it all.",
                "",
            ]
        )

    def _verdict(self) -> int:
        ended = self.manager.first_ended
        if ended:
            statuses = ", ".join(f"{name} (exit status {self.manager.status(name)})" for name in ended)
            click.echo(f"Ended because of: {statuses}. Its last lines are above.", err=True)
        if self.missing and not ended:
            silent = ", ".join(self.missing)
            click.echo(f"No answer within {READY_SECONDS:g} s from: {silent}.", err=True)
        return FAILED if ended or self.missing else 0


def _exports(settings: Mapping[str, str]) -> Iterator[str]:
    """Spell settings for a shell to read."""
    for name, value in settings.items():
        yield f"export {name}={shlex.quote(value)}\n"
