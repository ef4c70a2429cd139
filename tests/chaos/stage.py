"""The platform in real processes that a plan can kill; the outside world and the clocks are the test's."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from provider.cli.worker import queues, worker_command, worker_environment
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.model.wire import dump_job
from provider.payments.models import PaymentPayload
from provider.payments.schemas import load_requirements
from tests.chaos import crashing
from tests.chaos.parts import LEDGER_SECONDS, Parts
from tests.chaos.services import NOTES
from tests.support.invariants import Evidence, Run
from tests.support.payments import payment_header
from tests.support.processes import family, wait_until
from tests.support.timetravel import pass_time

NOWHERE = "http://127.0.0.1:9"
"""A facilitator that refuses every connection."""
UNSERVED = "unserved"
"""The service whose handlers never run: its jobs wait for ever."""
QUIET_SECONDS = 0.8
"""A job that did not change for so long waits for nobody who lives."""


@dataclass
class Stage(Parts):
    """One platform for many crashes."""

    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    read_unpaid: list[str] = field(default_factory=list)
    settle_facilitator: str = ""
    concurrency: dict[str, int] = field(default_factory=dict)
    """Jobs at once by kind of worker, where it is not one."""

    def __post_init__(self) -> None:
        self.settle_facilitator = self.net.facilitator.url

    def in_a_process(self, kind: str, act: Callable[[], None]) -> None:
        """Sweep or reconcile in a forked process, where the plan may kill it."""
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                self.store.client.connection_pool.reset()
                self.store.scripts.after = crashing.Crash(self.plan, kind)
                act()
            os._exit(0)
        os.waitpid(pid, 0)

    # Processes

    @property
    def plan(self) -> Path:
        return self.home / "plan.json"

    def environment(self, kind: str) -> dict[str, str]:
        given = {name: getattr(self.settings, name) for name in self.settings.__slots__}
        listed = {name: ",".join(v) if isinstance(v, tuple) else str(v) for name, v in given.items()}
        settings = {name.upper(): text for name, text in listed.items() if text}
        own = {
            "PROVIDER_SERVICES": f"{self.services}:registry",
            "PORT": str(self.port),
            "LOG_LEVEL": "ERROR",
        }
        own |= {crashing.PLAN: str(self.plan), crashing.KIND: kind, NOTES: str(self.home)}
        if kind == "settle":
            own["FACILITATOR_URL"] = self.settle_facilitator
        return {**os.environ, **settings, **own, **worker_environment((kind,))}

    def start(self, kind: str) -> None:
        """Start a process of a kind, in place of one that died."""
        command, environment = self.command(kind), self.environment(kind)
        with (self.home / f"{kind}.log").open("ab") as log:
            self.processes[kind] = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def command(self, kind: str) -> list[str]:
        """Give the command line that a deployment uses."""
        if kind == "web":
            return [sys.executable, "-m", "gunicorn", "-c", "config/gunicorn.py", "provider.web.wsgi:app"]
        if kind == "beat":
            return [sys.executable, "-m", "celery", "--quiet", "--app", "provider.workers.celery", "beat"]
        served = [service for service in self.registry if kind != "handle" or service.name != UNSERVED]
        return worker_command((kind,), queues(kind, served), self.concurrency.get(kind, 1))

    def stop(self, kind: str) -> None:
        """End a process and its children as `kill -9` does."""
        process = self.processes.pop(kind)
        for pid in family(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()

    def restart_the_dead(self) -> None:
        for kind, process in list(self.processes.items()):
            if process.poll() is not None:
                self.start(kind)

    # A buyer

    def pay(self, service: str) -> PaymentPayload:
        """Sign for what the service costs."""
        offer = requests.get(f"{self.settings.public_url}/services/{service}", timeout=10)
        assert offer.ok, offer.text
        challenge = requests.post(f"{self.settings.public_url}/run/{service}", timeout=10).json()
        wanted = load_requirements(challenge["accepts"][0])
        # A busy machine reads the clock some ledgers late, and these last a fifth of a second.
        return self.net.payment(wanted, ledger_seconds=LEDGER_SECONDS * 1.1)

    def buy(self, service: str, value: Mapping[str, Any], payment: PaymentPayload | None = None) -> str:
        """Call, and call again with the same payment until there is an answer, as a buyer does."""
        headers = {
            "PAYMENT-SIGNATURE": payment_header(payment or self.pay(service)),
            "Prefer": "respond-async",
        }
        return str(self.ask("POST", f"/run/{service}", json=value, headers=headers)["id"])

    def cancel(self, job_id: str) -> Any:
        """Cancel a job, giving up a payment that was made; the job as it is then."""
        return self.ask("DELETE", f"/jobs/{job_id}?forfeit=true")

    def has_come_to(self, job_id: str, status: Status) -> bool:
        """Wait until a job stands somewhere, and restart what dies meanwhile."""
        return self.sees(lambda: self.store.get(job_id).status is status)

    def sees(self, condition: Callable[[], object]) -> bool:
        """Wait until a condition holds, and restart what dies meanwhile, of an earlier plan perhaps."""
        return wait_until(lambda: self.restart_the_dead() or condition(), 30)

    def ask(self, method: str, path: str, **sent: Any) -> Any:
        """Ask again and again until there is an answer; it must be one of success."""
        ends = time.monotonic() + 30
        while True:
            with contextlib.suppress(requests.RequestException):
                answer = requests.request(method, self.settings.public_url + path, timeout=10, **sent)
                if answer.status_code != 503:
                    assert answer.status_code < 300, answer.text
                    return answer.json()
            assert time.monotonic() < ends, "the web process did not come back"
            time.sleep(0.1)

    # Recovery

    def recover(self, job_id: str) -> Job:
        """Restart what died, and let time pass, sweeps and reconciles run until the job is decided."""
        for _ in range(30):
            self.restart_the_dead()
            job = self.quiet(job_id)
            if job.is_final:
                return job
            wait_until(lambda: not self.is_held(job_id), 5)  # Of a busy worker, time would take its lease.
            pass_time(self.store.client, 26)
            self.in_a_process("sweep", self.sweep)
            self.in_a_process("reconcile", self.reconcile)
            if self.store.get(job_id).status == job.status == Status.PAYMENT_UNCERTAIN:
                self.expire_payments()
        raise AssertionError(f"{job_id} was never decided: {self.store.get(job_id)}")

    def is_held(self, job_id: str) -> bool:
        """Say whether a worker has a job and is not late to renew its lease."""
        job = self.store.get(job_id)
        return job.status is Status.RUNNING and (job.lease_until_ms or 0) > self.store.now_ms(job.service)

    def expire_payments(self) -> None:
        """Close ledgers until no payment signed so far can land, and have everybody see them."""
        latest = self.net.state.close(1600).sequence
        assert wait_until(lambda: (reading := self.clock.read()) and reading.latest_ledger >= latest)

    def quiet(self, job_id: str) -> Job:
        """Read a job once it is final, or has not changed for a while although every process is up."""
        job, since = self.store.get(job_id), time.monotonic()
        while not job.is_final and time.monotonic() < since + QUIET_SECONDS:
            time.sleep(0.02)
            read = self.store.get(job_id)
            if read.version != job.version:
                job, since = read, time.monotonic()
        return job

    @contextlib.contextmanager
    def watched(self, job_id: str) -> Iterator[None]:
        """Note it down when the job's output can be read before its payment is on chain (I5)."""
        done = threading.Event()

        def watch() -> None:
            while not done.wait(0.005):
                job = self.store.get(job_id)
                if "output" in dump_job(job) and not self.charges(job):
                    self.read_unpaid.append(job_id)

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def charges(self, job: Job) -> int:
        """Count the payments on chain that used the job's nonce."""
        return sum(item.nonce == job.terms.nonce for item in list(self.net.state.transfers))

    def evidence(self) -> Evidence:
        state, notes = self.net.state, self.home / "starts"
        lines = notes.read_text().splitlines() if notes.exists() else []
        runs = [Run(job_id, int(beside)) for job_id, beside in map(str.split, lines)]
        transfers, latest = list(state.transfers), state.latest.sequence
        pay_to = self.settings.pay_to
        return Evidence(self.store, self.registry, pay_to, transfers, latest, runs, self.read_unpaid)


@contextlib.contextmanager
def all_up(stage: Stage, kinds: Sequence[str] = ("web", "handle", "settle")) -> Iterator[None]:
    """Run processes of these kinds, waiting for the one that serves; end whatever runs afterwards."""
    try:
        for kind in kinds:
            stage.start(kind)
        assert wait_until(lambda: _answers(stage), 30), (stage.home / "web.log").read_text()
        yield
    finally:
        for kind in list(stage.processes):
            stage.stop(kind)


def _answers(stage: Stage) -> bool:
    with contextlib.suppress(requests.RequestException):
        return requests.get(stage.settings.public_url + "/healthz", timeout=2).ok
    return False
