"""The platform in real processes that a plan can kill; the outside world and the clocks are the test's."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import requests
from celery import Celery

from config.celery import celery_config
from config.settings import Settings
from provider.chain.clock import LedgerClock
from provider.chain.rpc import StellarRpc
from provider.cli.worker import worker_command, worker_environment
from provider.jobs.durability import Durability
from provider.jobs.ledgercache import LedgerCache
from provider.jobs.models import Job, Status
from provider.jobs.reconcile import Reconciler
from provider.jobs.schemas import dump_job
from provider.jobs.settler import Settler
from provider.jobs.store import JobStore, connect
from provider.jobs.sweep import Sweep
from provider.payments.facilitator import FacilitatorClient
from provider.payments.models import PaymentPayload
from provider.payments.schemas import load_requirements
from tasks.dispatch import CeleryDispatcher
from tests.chaos import crashing
from tests.chaos.services import NOTES, registry
from tests.support.invariants import Evidence, Run
from tests.support.localnet import LocalNet
from tests.support.payments import payment_header
from tests.support.processes import family, wait_until
from tests.support.timetravel import pass_time

LEDGER_SECONDS = 0.2
NOWHERE = "http://127.0.0.1:9"
"""A facilitator that refuses every connection."""
SERVED = ("after", "before")
"""Services whose handlers run; a job of `unserved` waits for ever."""
QUIET_SECONDS = 0.8
"""A job that did not change for so long waits for nobody who lives."""


@dataclass
class Stage:
    """One platform for many crashes."""

    redis_url: str
    net: LocalNet
    home: Path
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    read_unpaid: list[str] = field(default_factory=list)
    settle_facilitator: str = ""

    def __post_init__(self) -> None:
        self.port = _free_port()
        self.settle_facilitator = self.net.facilitator.url

    # Parts of our own, for sweeps and reads

    @cached_property
    def settings(self) -> Settings:
        return Settings(
            public_url=f"http://127.0.0.1:{self.port}",
            redis_url=self.redis_url,
            asset=self.net.state.config.token.contract,
            pay_to=self.net.seller.public_key,
            facilitator_url=self.net.facilitator.url,
            stellar_rpc_urls=(self.net.chain.url,),
            ledger_seconds=LEDGER_SECONDS,
            lease_seconds=1.0,
            settle_timeout_seconds=20.0,
            orphan_margin_seconds=5.0,
            worker_stop_seconds=1.0,
        )

    @cached_property
    def store(self) -> JobStore:
        return JobStore(connect(self.redis_url))

    @cached_property
    def dispatcher(self) -> CeleryDispatcher:
        app = Celery("chaos")
        app.conf.update(celery_config(self.settings, [service.name for service in registry]))
        return CeleryDispatcher(app)

    @cached_property
    def settler(self) -> Settler:
        client = FacilitatorClient(self.net.facilitator.url)
        durability = Durability(self.store.client, timeout_ms=1000)
        return Settler(self.store, client, durability, self.dispatcher, self.settings)

    @cached_property
    def rpc(self) -> StellarRpc:
        return StellarRpc(self.net.chain.url)

    def sweep(self) -> None:
        clock = LedgerClock(self.rpc, LedgerCache(self.store), ledger_seconds=LEDGER_SECONDS)
        Sweep(self.store, registry, self.settler, clock, self.dispatcher, self.settings).run()

    def reconcile(self) -> None:
        Reconciler(self.store, [self.rpc], self.settler, self.settings).run()

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
            "PROVIDER_SERVICES": "tests.chaos.services:registry",
            "PORT": str(self.port),
            "LOG_LEVEL": "ERROR",
        }
        own |= {crashing.PLAN: str(self.plan), crashing.KIND: kind, NOTES: str(self.home)}
        if kind == "settle":
            own["FACILITATOR_URL"] = self.settle_facilitator
        return {**os.environ, **settings, **own, **worker_environment((kind,))}

    def start(self, kind: str) -> None:
        """Start a process of a kind, in place of one that died."""
        services = list(SERVED) if kind == "handle" else [service.name for service in registry]
        web = [sys.executable, "-m", "gunicorn", "-c", "config/gunicorn.py", "provider.web.wsgi:app"]
        worker = worker_command((kind,), services, 1) if kind != "web" else web
        with (self.home / f"{kind}.log").open("ab") as log:
            self.processes[kind] = subprocess.Popen(
                worker, env=self.environment(kind), stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

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
        return self.net.payment(wanted, ledger_seconds=LEDGER_SECONDS)

    def buy(self, service: str, value: Mapping[str, Any], payment: PaymentPayload | None = None) -> str:
        """Call, and call again with the same payment until there is an answer, as a buyer does."""
        headers = {
            "PAYMENT-SIGNATURE": payment_header(payment or self.pay(service)),
            "Prefer": "respond-async",
        }
        ends = time.monotonic() + 30
        while True:
            with contextlib.suppress(requests.RequestException):
                url = f"{self.settings.public_url}/run/{service}"
                answer = requests.post(url, json=value, headers=headers, timeout=10)
                if answer.status_code != 503:
                    assert answer.status_code < 300, answer.text
                    return str(answer.json()["id"])
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
            pass_time(self.store.client, 26)
            self.in_a_process("sweep", self.sweep)
            self.in_a_process("reconcile", self.reconcile)
            if self.store.get(job_id).status == job.status == Status.PAYMENT_UNCERTAIN:
                self.net.state.close(1600)  # Until its payment cannot land any more.
        raise AssertionError(f"{job_id} was never decided: {self.store.get(job_id)}")

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
        return Evidence(self.store, registry, pay_to, transfers, latest, runs, self.read_unpaid)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def all_up(stage: Stage) -> None:
    """Start every kind, and wait for the web process."""
    for kind in ("web", "handle", "settle"):
        stage.start(kind)
    url = stage.settings.public_url + "/healthz"

    def answers() -> bool:
        with contextlib.suppress(requests.RequestException):
            return requests.get(url, timeout=2).ok
        return False

    assert wait_until(answers, 30), (stage.home / "web.log").read_text()
