"""`provider remote-worker`: a program for each job, over real HTTP (standard §11)."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from werkzeug.serving import BaseWSGIServer, make_server

from provider.jobs.model.job import Job
from provider.jobs.model.status import ErrorCode, Status
from provider.jobs.store.tokens import Tokens
from provider.remote_worker import job_run
from provider.remote_worker.gateway_client import GatewayClient
from provider.remote_worker.worker import Worker
from provider.services import Registry
from tests.integration.web.conftest import Shop
from tests.support.farworker import FarWorker
from tests.support.jobs import service
from tests.support.processes import is_alive, wait_until

PROGRAM = [sys.executable, str(Path(__file__).parents[2] / "support" / "far_program.py")]
GRACE_SECONDS = 0.3
OPEN = (Status.QUEUED, Status.RUNNING)
Work = Callable[..., AbstractContextManager[Worker]]


@pytest.fixture
def registry() -> Registry:
    """Sell remote services: one with much time, one with little."""
    registry = Registry()
    registry.add(service("far", remote=True, max_retries=1, max_attempts=2, concurrency=4))
    registry.add(service("brief", remote=True, timeout_seconds=2))
    return registry


@pytest.fixture
def lease_seconds() -> float:
    """Choose leases that no busy machine loses; a test whose point they are has others."""
    return 60.0


@pytest.fixture
def shop(make_shop: Callable[..., Shop], redis_url: str, lease_seconds: float) -> Shop:
    return make_shop(redis_url, lease_seconds=lease_seconds)


class Web:
    """The web process, as a server that can be stopped and started again."""

    def __init__(self, shop: Shop) -> None:
        self._app = shop.client.application
        self._port = 0
        self._server: BaseWSGIServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        self._server = make_server("127.0.0.1", self._port, self._app, threaded=True)
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


@pytest.fixture
def web(shop: Shop) -> Iterator[Web]:
    web = Web(shop)
    web.start()
    yield web
    web.stop()


@pytest.fixture
def token(shop: Shop) -> str:
    return Tokens(shop.store).create("bob", ("far", "brief"))


@pytest.fixture
def work(web: Web, token: str) -> Work:
    """Have a worker at work for a while."""

    @contextmanager
    def working(command: list[str] = PROGRAM, **options: Any) -> Iterator[Worker]:
        options = {"grace_seconds": GRACE_SECONDS, **options}
        worker = Worker(GatewayClient(web.url, token), [], command, **options)
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            yield worker
        finally:
            worker.stop()
            thread.join()

    return working


def buy(shop: Shop, name: str = "far", **value: Any) -> str:
    job_id: str = shop.call(name, json=value).json["id"]
    return job_id


def ended(shop: Shop, job_id: str, seconds: float = 15) -> Job:
    """Wait until a job's work is over, one way or another."""
    wait_until(lambda: (job := shop.store.get(job_id)).output or job.status not in OPEN, seconds)
    return shop.store.get(job_id)


def left(shop: Shop, job_id: str) -> Job:
    """Wait until a job is over, or waits for its next try."""
    wait_until(lambda: (job := shop.store.get(job_id)).is_final or job.not_before_ms)
    return shop.store.get(job_id)


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    """Give what was logged since the last call."""

    def read() -> str:
        text = caplog.text
        caplog.clear()
        return text

    return read


def test_a_program_gets_the_job_and_its_output_is_delivered(shop: Shop, work: Work) -> None:
    """§11: input, context and environment in; output out."""
    with work():
        job = ended(shop, buy(shop))
    got = json.loads(job.output or "{}")
    told = got["environment"]
    assert told["JOB_ID"] == job.id
    assert (told["JOB_SERVICE"], told["JOB_ATTEMPT"]) == ("far", "1")
    assert got["context"]["deadline"] == told["JOB_DEADLINE"]
    assert (got["context"]["completedUnits"], got["context"]["cursors"]) == ([], {})


@pytest.mark.parametrize(
    ("value", "status", "error", "counted"),
    [
        ({"do": "exit", "status": 75}, Status.QUEUED, None, "retries"),
        ({"do": "exit", "status": 65}, Status.FAILED, ErrorCode.SERVICE_FAILED, None),
        ({"do": "exit", "status": 1}, Status.FAILED, ErrorCode.SERVICE_FAILED, None),
        ({"do": "exit", "status": 137}, Status.FAILED, ErrorCode.SERVICE_FAILED, "interruptions"),
        ({"do": "die"}, Status.FAILED, ErrorCode.SERVICE_FAILED, "interruptions"),
        ({"do": "say", "text": "no JSON"}, Status.FAILED, ErrorCode.OUTPUT_INVALID, None),
        ({"do": "say", "text": "[1]"}, Status.FAILED, ErrorCode.OUTPUT_INVALID, None),
        ({"do": "say", "text": "[1, ", "times": 300_000}, Status.FAILED, ErrorCode.OUTPUT_INVALID, None),
        ({"do": "say", "text": '{"said": NaN}'}, Status.FAILED, ErrorCode.OUTPUT_INVALID, None),
        ({"do": "say", "text": '{"said": 1e999}'}, Status.FAILED, ErrorCode.OUTPUT_INVALID, None),
        ({"do": "say", "text": '{"said": "\\ud800"}'}, Status.FAILED, ErrorCode.OUTPUT_INVALID, None),
        ({"do": "say", "text": '{"a": 1, "a": 2}'}, Status.FAILED, ErrorCode.OUTPUT_INVALID, None),
    ],
)
def test_an_exit_status_is_the_class_of_a_failure(
    shop: Shop,
    work: Work,
    value: dict[str, Any],
    status: Status,
    error: ErrorCode | None,
    counted: str | None,
) -> None:
    """R6: sysexits' 75 is transient, 65 deterministic; a signal is no verdict, and the job starts again.

    The last rows were red: a NaN could not be sent, and the job ran until its lease was lost.
    """
    job_id = buy(shop, **value)
    with work():
        job = left(shop, job_id)
    assert (job.status, job.error) == (status, error)
    assert [name for name in ("retries", "interruptions") if getattr(job, name)] == [counted] * bool(counted)


def test_a_command_that_does_not_exist_fails_the_job(shop: Shop, work: Work) -> None:
    """And leaves the worker at work."""
    with work(["/no/such/command"]):
        assert ended(shop, buy(shop)).error is ErrorCode.SERVICE_FAILED


def test_progress_reaches_the_buyer_whatever_a_program_sends(shop: Shop, work: Work) -> None:
    """R4: a flood, of which the last value arrives."""
    with work():
        job = ended(shop, buy(shop, do="flood", times=2000))
    assert job.progress == {"done": 2000, "total": 2000}
    assert job.version < 20


def test_a_message_that_is_no_json_costs_the_job_nothing(shop: Shop, work: Work) -> None:
    """Red while a NaN was taken: no request could carry it, and the output was never delivered."""
    say = """printf '{"progress": {"done": NaN}}\\n' > "$JOB_MESSAGES"; echo '{}'"""
    with work(["sh", "-c", say]):
        job = ended(shop, buy(shop))
    assert (job.output, dict(job.progress)) == ("{}", {})


def test_another_attempt_knows_what_was_completed(shop: Shop, work: Work) -> None:
    """R5; what is no message is passed over, and does not take others with it."""
    job_id = buy(shop, do="units")
    with work():
        job = left(shop, job_id)
        assert shop.store.work(job_id) == (frozenset({"a"}), {"b": {"at": 1}})
        shop.store.scripts("ready", _places(job), [job.id, job.version])
        context = json.loads(ended(shop, job_id).output or "{}")["context"]
    assert (context["attempt"], context["completedUnits"], context["cursors"]) == (2, ["a"], {"b": {"at": 1}})


def test_all_that_a_program_completed_is_kept_though_it_ends_at_once(shop: Shop, work: Work) -> None:
    """R5: more than is heard at once, or told in one request."""
    job_id = buy(shop, do="many", units=1100)
    with work():
        left(shop, job_id)
    assert len(shop.store.work(job_id)[0]) == 1100


def _places(job: Job) -> list[str]:
    from provider.jobs.store import keys

    return [keys.job(job.id), keys.lane(job.service), keys.due(job.service)]


def test_the_budget_ends_a_program_and_all_it_started(shop: Shop, work: Work, tmp_path: Path) -> None:
    """R2: though it takes no notice of SIGTERM."""
    notes = tmp_path / "pids"
    with work():
        job = ended(shop, buy(shop, "brief", do="hang", notes=str(notes)))
        assert (job.status, job.error) == (Status.FAILED, ErrorCode.TIMEOUT)
        assert wait_until(lambda: not any(is_alive(int(pid)) for pid in notes.read_text().split()))


@pytest.mark.parametrize("lease_seconds", [6.0])
def test_a_silent_program_is_held_by_renewals_and_learns_of_a_cancel(
    shop: Shop, work: Work, tmp_path: Path
) -> None:
    """R1, R7: every third of its lease."""
    notes = tmp_path / "pids"
    job_id = buy(shop, do="hang", notes=str(notes), silent=True)
    with work():
        assert wait_until(lambda: notes.exists() and len(notes.read_text().split()) == 2)
        until = shop.store.get(job_id).lease_until_ms or 0
        assert wait_until(lambda: (shop.store.get(job_id).lease_until_ms or 0) > until)
        assert shop.client.delete(f"/jobs/{job_id}").status_code == 202
        assert ended(shop, job_id).status is Status.CANCELLED
        assert not any(is_alive(int(pid)) for pid in notes.read_text().split())


def test_a_lost_lease_ends_a_program(shop: Shop, work: Work, tmp_path: Path) -> None:
    """R1: another worker has the job. Ours learns it when it tells of progress, long before its own end."""
    notes = tmp_path / "pids"
    job_id = buy(shop, do="hang", notes=str(notes))
    with work(concurrency=1):
        assert wait_until(notes.exists)
        assert wait_until(lambda: len(notes.read_text().split()) == 2)
        amy = FarWorker(shop.client.application.test_client(), Tokens(shop.store).create("amy", ("far",)))
        _take_over(shop, job_id)
        job = amy.claim()
        assert job is not None
        assert wait_until(lambda: not any(is_alive(int(pid)) for pid in notes.read_text().split()))
        assert amy.tell(job, "complete", output={})["accepted"]


def _take_over(shop: Shop, job_id: str) -> None:
    """Have the sweep find the lease lost; a renewal may come between."""
    while not shop.worker.outcomes.interrupted(shop.store.get(job_id), shop.registry.get("far")):
        pass


def test_a_stopped_worker_hands_its_jobs_back(shop: Shop, work: Work, tmp_path: Path) -> None:
    """C8: at once, with what their programs completed; the start does not count."""
    notes = tmp_path / "pid"
    job_id = buy(shop, do="tidy", notes=str(notes))
    with work(grace_seconds=5.0):
        assert wait_until(lambda: notes.exists() and notes.read_text())
    job = shop.store.get(job_id)
    assert (job.status, job.starts, job.interruptions) == (Status.QUEUED, 0, 0)
    assert shop.store.work(job_id)[0] == {"half"}
    assert not is_alive(int(notes.read_text()))


def test_a_program_that_ends_within_the_grace_keeps_its_result(
    shop: Shop, work: Work, tmp_path: Path
) -> None:
    """C8: SIGTERM asks it to finish, and its output is delivered. Red before: the output was dropped."""
    notes = tmp_path / "pid"
    job_id = buy(shop, do="finish", notes=str(notes))
    with work(grace_seconds=5.0):
        assert wait_until(lambda: notes.exists() and notes.read_text())
    job = shop.store.get(job_id)
    assert job.output is not None
    assert (job.starts, job.interruptions) == (1, 0)


def test_work_goes_on_while_the_platform_is_away(
    shop: Shop, web: Web, work: Work, tmp_path: Path, said: Callable[[], str]
) -> None:
    """Its output is delivered when the platform is back, within the lease."""
    begun, done = tmp_path / "begun", tmp_path / "done"
    job_id = buy(shop, do="wait", notes=str(begun), until=str(done))
    with work():
        assert wait_until(lambda: begun.exists() and begun.read_text())
        web.stop()
        done.touch()
        assert wait_until(lambda: not is_alive(int(begun.read_text())))
        said()
        assert wait_until(lambda: job_run.UNREACHABLE in said())
        web.start()
        assert ended(shop, job_id).output


@pytest.mark.parametrize("lease_seconds", [2.0])
def test_work_ends_when_the_platform_stays_away(
    shop: Shop, web: Web, work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R1: by its own clock the worker knows that its lease has run out."""
    monkeypatch.setattr(job_run, "RETRY_SECONDS", 0.1)
    notes = tmp_path / "pids"
    buy(shop, do="hang", notes=str(notes))
    with work():
        assert wait_until(lambda: notes.exists() and len(notes.read_text().split()) == 2)
        web.stop()
        assert wait_until(lambda: not any(is_alive(int(pid)) for pid in notes.read_text().split()), 10)


def test_a_worker_does_as_many_jobs_at_once_as_it_was_told(shop: Shop, work: Work, tmp_path: Path) -> None:
    """`--concurrency`; and hears of those that are queued later."""
    until = tmp_path / "until"
    begun = [tmp_path / f"begun-{number}" for number in range(3)]
    with work(concurrency=2):
        jobs = [buy(shop, do="wait", notes=str(one), until=str(until)) for one in begun]
        assert wait_until(lambda: sum(one.exists() for one in begun) == 2)
        assert not wait_until(lambda: all(one.exists() for one in begun), 0.5)
        until.touch()
        assert all(ended(shop, job_id).output for job_id in jobs)


def test_the_command_stops_as_a_platform_stops_processes(
    shop: Shop, web: Web, token: str, tmp_path: Path
) -> None:
    """SIGTERM. Its token is in an environment that its programs do not get, and no setting of ours is."""
    notes = tmp_path / "pid"
    first = buy(shop)
    job_id = buy(shop, do="tidy", notes=str(notes))
    arguments = ["remote-worker", "--url", web.url, "--services", "far", "--exec", " ".join(PROGRAM)]
    environment = {"PATH": os.environ["PATH"], "PROVIDER_WORKER_TOKEN": token}
    command = [sys.executable, "-m", "provider.cli.main", *arguments]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert wait_until(lambda: notes.exists() and notes.read_text())
        process.send_signal(signal.SIGTERM)
        _, logged = process.communicate(timeout=20)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
    assert process.returncode == 0
    assert "PROVIDER_WORKER_TOKEN" not in json.loads(ended(shop, first).output or "{}")["environment"]
    assert token.partition(".")[2] not in logged
    assert (shop.store.get(job_id).status, shop.store.get(job_id).starts) == (Status.QUEUED, 0)


def test_a_refused_token_ends_the_command(web: Web) -> None:
    """Trying again would not help."""
    arguments = ["remote-worker", "--url", web.url, "--exec", "true"]
    command = [sys.executable, "-m", "provider.cli.main", *arguments]
    environ = {**os.environ, "PROVIDER_WORKER_TOKEN": "bob.wrong"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert "invalid_token" in done.stderr


def test_a_program_that_is_not_there_ends_the_command_before_it_claims() -> None:
    """Else a slip of the pen would fail every job that waits."""
    arguments = ["--url", "http://127.0.0.1:9", "--exec", "no-such-program --fast"]
    command = [sys.executable, "-m", "provider.cli.main", "remote-worker", *arguments]
    environ = {**os.environ, "PROVIDER_WORKER_TOKEN": "bob.any"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, "'no-such-program' is no program here" in done.stderr) == (2, True)


def test_the_command_needs_nothing_of_the_platform() -> None:
    """It runs where there is neither Redis nor Celery."""
    look = (
        "import sys, provider.cli.remote_worker as _;"
        "print([name for name in ('redis', 'celery', 'flask', 'stellar_sdk') if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", look], text=True).strip() == "[]"
