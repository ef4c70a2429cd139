"""Remote workers through the gateway, step by step (standard §11)."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from provider.jobs.model.job import Job
from provider.jobs.model.status import ErrorCode, Status
from provider.jobs.remote.dispatcher import AnnouncingDispatcher
from provider.jobs.remote.gateway import Gateway
from provider.jobs.run.runner import Runner
from provider.jobs.store import keys
from provider.jobs.store.tokens import Tokens
from provider.services import Registry
from provider.services.schema import CompiledSchema
from tests.integration.web.conftest import NotedWakeUps, Shop, sell
from tests.support.farworker import FarWorker
from tests.support.processes import wait_until
from tests.support.timetravel import pass_time

OUTPUT = {"said": "hi"}
REMOTE = ("far", "far-paid", "stalls", "short")
Hire = Callable[..., FarWorker]


@pytest.fixture
def registry() -> Registry:
    """Sell remote services: one of each policy, and one that may not stall; and a local one."""
    registry = Registry()
    sell(registry, "far", "on-success", remote=True, concurrency=2)
    sell(registry, "far-paid", "upfront", remote=True)
    sell(registry, "stalls", "on-success", remote=True, stall_seconds=20, timeout_seconds=200, concurrency=9)
    sell(registry, "short", "on-success", remote=True, timeout_seconds=2)
    sell(registry, "near", "on-success")
    registry.check()
    return registry


@pytest.fixture
def hire(shop: Shop) -> Hire:
    """Give somebody a token and a client."""

    def make(name: str = "bob", services: tuple[str, ...] = REMOTE) -> FarWorker:
        token = Tokens(shop.store).create(name, services)
        return FarWorker(shop.client.application.test_client(), token)

    return make


@pytest.fixture
def bob(hire: Hire) -> FarWorker:
    return hire()


def buy(shop: Shop, name: str = "far") -> str:
    """Buy a job and have it in its lane."""
    job_id: str = shop.call(name).json["id"]
    if shop.store.get(job_id).status is Status.PENDING:
        shop.worker.settler.settle(job_id)
    return job_id


def held(shop: Shop, bob: FarWorker, name: str = "far") -> dict[str, Any]:
    """Buy a job and have it claimed."""
    buy(shop, name)
    job = bob.claim(name)
    assert job is not None
    return job


def record(shop: Shop, job: dict[str, Any]) -> Job:
    return shop.store.get(job["id"])


def lose(shop: Shop, job: dict[str, Any]) -> None:
    """Let the lease run out, and the sweep find that."""
    pass_time(shop.store.client, 31)
    assert shop.worker.outcomes.interrupted(record(shop, job), shop.registry.get(job["service"]))


# Claims


def test_a_claimed_job_carries_what_a_handler_gets(shop: Shop, bob: FarWorker) -> None:
    """§11, R3: all of a handler's context, and how long it is held."""
    job_id = buy(shop)
    job = bob.claim("far")
    assert job is not None
    told = {name: job[name] for name in ("id", "service", "input", "attempt", "cancel")}
    assert told == {"id": job_id, "service": "far", "input": {"word": "hi"}, "attempt": 1, "cancel": False}
    assert (job["completedUnits"], job["cursors"]) == ([], {})
    assert 25 < job["leaseSeconds"] <= 30
    assert 55 < job["budgetSeconds"] <= 60
    assert job["deadline"].endswith("Z")
    assert (record(shop, job).status, record(shop, job).owner) == (Status.RUNNING, job["lease"])


def test_a_claim_on_an_empty_lane_is_declined(bob: FarWorker) -> None:
    """§11: never an error."""
    assert bob.claim("far") is None
    assert bob.claim() is None


def test_an_empty_list_means_any_allowed_service(shop: Shop, hire: Hire) -> None:
    """§11: and only those."""
    buy(shop)
    buy(shop, "far-paid")
    paid_only = hire("paid", ("far-paid",))
    assert [job and job["service"] for job in (paid_only.claim(), paid_only.claim())] == ["far-paid", None]


def test_a_token_must_allow_what_is_claimed(shop: Shop, hire: Hire) -> None:
    """§11: one forbidden name refuses the whole claim, whether it is sold here or not."""
    buy(shop)
    answer = hire("paid", ("far-paid",)).post("claims", {"services": ["far-paid", "far", "nothing"]})
    assert (answer.status_code, answer.json["code"]) == (403, "service_not_allowed")
    assert answer.json["services"] == ["far", "nothing"]


@pytest.mark.parametrize("name", ["near", "gone"])
def test_only_remote_services_can_be_claimed(shop: Shop, hire: Hire, name: str) -> None:
    """§1: workers here run the others; one that is not sold any more has nothing to run."""
    answer = hire("odd", ("near", "gone")).post("claims", {"services": [name]})
    assert (answer.status_code, answer.json["code"]) == (400, "unknown_service")
    assert answer.json["services"] == [name]


def test_a_token_opens_the_jobs_of_its_services_only(shop: Shop, bob: FarWorker, hire: Hire) -> None:
    """§11: not even with the lease of another worker."""
    job = held(shop, bob)
    answer = hire("paid", ("far-paid",)).post(f"jobs/{job['id']}/renew", {"lease": job["lease"]})
    assert (answer.status_code, answer.json["code"]) == (403, "service_not_allowed")


def test_a_lease_belongs_to_the_worker_that_claimed(shop: Shop, bob: FarWorker, hire: Hire) -> None:
    """A lease that leaked is of no use to another worker of the same service."""
    job = held(shop, bob)
    before = record(shop, job)
    for what, said in (("renew", {}), ("complete", {"output": OUTPUT}), ("release", {})):
        assert hire(f"eve-{what}").tell(job, what, **said) == {"accepted": False, "reason": "lost"}
    assert record(shop, job) == before


def test_services_take_turns(shop: Shop, bob: FarWorker) -> None:
    """A long lane starves no other one."""
    for service in ("far", "far", "stalls", "stalls"):
        buy(shop, service)
    assert [job["service"] for job in iter(bob.claim, None)] == ["far", "stalls"] * 2


def test_a_lane_runs_no_more_than_its_concurrency(shop: Shop, bob: FarWorker) -> None:
    """Q1; whoever ends one has the lane looked into (Q6)."""
    jobs = [buy(shop) for _ in range(3)]
    first, _, third = bob.claim("far"), bob.claim("far"), bob.claim("far")
    assert first is not None
    assert third is None
    shop.wake_ups.handled.clear()
    bob.tell(first, "complete", output=OUTPUT)
    assert shop.wake_ups.handled == [jobs[2]]
    assert bob.claim("far") is not None


def test_a_job_past_its_deadline_is_not_handed_out(shop: Shop, bob: FarWorker) -> None:
    """S2: it fails uncharged, and the claim looks further."""
    late = buy(shop)
    pass_time(shop.store.client, 300)
    fresh = buy(shop)
    job = bob.claim("far")
    assert job is not None
    assert job["id"] == fresh
    assert shop.store.get(late).error is ErrorCode.TIMEOUT


# Tokens


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer x", "Basic bob.x", "Bearer bob.x", "Bearer ."])
def test_a_request_needs_a_token(shop: Shop, bob: FarWorker, header: str) -> None:
    """§11: and says so before it reads anything."""
    answer = shop.client.post("/worker/claims", data=b"{", headers={"Authorization": header})
    assert (answer.status_code, answer.json["code"]) == (401, "invalid_token")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_revoked_token_is_worth_nothing_at_once(shop: Shop, bob: FarWorker) -> None:
    """§11: also for the jobs it holds; they go to others when their leases end."""
    job = held(shop, bob)
    assert Tokens(shop.store).revoke("bob")
    assert bob.post("claims").status_code == 401
    assert bob.post(f"jobs/{job['id']}/renew", {"lease": job["lease"]}).status_code == 401


def test_no_token_can_be_read_from_redis(shop: Shop, bob: FarWorker) -> None:
    """Hashed at rest, so a stolen copy of the data opens nothing."""
    secret = bob.token.partition(".")[2]
    client: Any = shop.store.client
    assert len(secret) == 43
    assert secret not in json.dumps(client.hgetall(keys.WORKERS))


# Requests


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("claims", {"services": "far"}, "/services"),
        ("claims", {"services": [1]}, "/services/0"),
        ("jobs/{id}/renew", {}, "/lease"),
        ("jobs/{id}/progress", {"lease": "x", "progress": {"done": "1"}}, "/progress/done"),
        ("jobs/{id}/checkpoint", {"lease": "x", "checkpoints": [{}]}, "/checkpoints/0/unit"),
        ("jobs/{id}/complete", {"lease": "x"}, "/output"),
        ("jobs/{id}/fail", {"lease": "x", "class": "odd"}, "/class"),
    ],
)
def test_a_wrong_body_is_told_by_its_fields(
    shop: Shop, bob: FarWorker, path: str, body: dict[str, Any], field: str
) -> None:
    """H7."""
    answer = bob.post(path.format(id=buy(shop)), body)
    assert (answer.status_code, answer.json["code"]) == (400, "invalid_body")
    assert [problem["field"] for problem in answer.json["fields"]] == [field]


def test_a_job_that_is_not_there_is_told(bob: FarWorker) -> None:
    """It may be deleted, or never was."""
    for job_id in (f"far.{'0' * 32}", "far.x"):
        assert bob.post(f"jobs/{job_id}/renew", {"lease": "bob.x"}).json["code"] == "job_not_found"


# While the work goes on


def test_a_renewal_prolongs_the_lease(shop: Shop, bob: FarWorker) -> None:
    """R1; and tells how long it and the budget last."""
    job = held(shop, bob)
    pass_time(shop.store.client, 20)
    told = bob.tell(job, "renew")
    assert told["accepted"]
    assert told["leaseSeconds"] == 30
    assert 30 < told["budgetSeconds"] <= 40
    lease_until = record(shop, job).lease_until_ms or 0
    assert 25 < lease_until / 1000 - shop.store.now_ms() / 1000 <= 30


def test_progress_is_written_once_a_second_and_the_last_value_always(shop: Shop, bob: FarWorker) -> None:
    """R4: whatever the worker sends."""
    job = held(shop, bob)
    version, began = record(shop, job).version, time.monotonic()
    for done in range(1, 51):
        assert bob.tell(job, "progress", progress={"done": done, "total": 50, "message": "at it"})["accepted"]
    assert wait_until(lambda: record(shop, job).progress.get("done") == 50, 3)
    assert record(shop, job).progress == {"done": 50, "total": 50, "message": "at it"}
    assert record(shop, job).version - version <= 2 + time.monotonic() - began


def test_progress_that_was_kept_back_prolongs_no_lease(shop: Shop, bob: FarWorker) -> None:
    """R2, R7: neither of a job that is to be cancelled, nor beyond its budget."""
    job = held(shop, bob)
    bob.tell(job, "progress", progress={"done": 1})
    assert shop.client.delete(f"/jobs/{job['id']}").status_code == 202
    lease_until = record(shop, job).lease_until_ms
    bob.tell(job, "progress", progress={"done": 2})
    assert wait_until(lambda: record(shop, job).progress == {"done": 2}, 3)
    assert record(shop, job).lease_until_ms == lease_until


def test_no_lease_outlives_a_short_budget(shop: Shop, bob: FarWorker) -> None:
    """R2: a worker that claims and is not heard of again holds its slot for 5 s more than it may work."""
    job = held(shop, bob, "short")
    assert job["leaseSeconds"] <= 7
    lease_until, work_until = record(shop, job).lease_until_ms or 0, record(shop, job).work_until_ms or 0
    assert lease_until <= work_until + 5500


def test_the_last_value_is_the_one_told_last_whatever_process_heard_it(shop: Shop, bob: FarWorker) -> None:
    """R4: each web process keeps back what comes too soon, and does not know of the others."""
    (worker,) = Tokens(shop.store).list()
    first, second = (Gateway(shop.store, shop.registry, shop.wake_ups, shop.settings) for _ in range(2))
    job = held(shop, bob)
    bob.tell(job, "progress", progress={"done": 0})
    for done, gateway in enumerate((first, second, first, second, first), start=1):
        assert gateway.progress(worker, job["id"], job["lease"], {"done": done}).accepted
        time.sleep(0.003)  # The order is told by milliseconds, and calls over HTTP are further apart.
    assert wait_until(lambda: record(shop, job).progress == {"done": 5}, 3)
    assert not wait_until(lambda: record(shop, job).progress != {"done": 5}, 0.3)
    assert second.complete(worker, job["id"], job["lease"], OUTPUT).accepted
    assert record(shop, job).progress == {"done": 5}


@pytest.mark.parametrize("last", [{}, {"progress": {"done": 9}}])
def test_the_end_of_a_job_takes_the_last_progress_with_it(
    shop: Shop, bob: FarWorker, last: dict[str, Any]
) -> None:
    """R4: told at the end, or waiting to be written."""
    job = held(shop, bob, "far-paid")
    for done in range(5):
        bob.tell(job, "progress", progress={"done": done})
    bob.tell(job, "complete", output=OUTPUT, **last)
    assert record(shop, job).progress == {"done": 9 if last else 4}


def test_checkpoints_reach_the_next_attempt(shop: Shop, bob: FarWorker) -> None:
    """R5: the union of units, and the cursor of each open one."""
    job = held(shop, bob)
    marks = [{"unit": "a"}, {"unit": "b", "cursor": {"at": 3}}, {"unit": "c", "cursor": 1}]
    assert bob.tell(job, "checkpoint", checkpoints=marks)["accepted"]
    bob.tell(job, "fail", **{"class": "interrupted"}, checkpoints=[{"unit": "c"}])
    again = bob.claim("far")
    assert again is not None
    assert (again["attempt"], again["completedUnits"]) == (2, ["a", "c"])
    assert again["cursors"] == {"b": {"at": 3}}


@pytest.mark.parametrize(
    ("what", "said", "code"),
    [
        ("progress", {"progress": {"done": -1}}, "invalid_progress"),
        ("checkpoint", {"checkpoints": [{"unit": ""}]}, "checkpoint_refused"),
        ("checkpoint", {"checkpoints": [{"unit": "x" * 201}]}, "checkpoint_refused"),
        ("checkpoint", {"checkpoints": [{"unit": "a", "cursor": "x" * 65_536}]}, "checkpoint_refused"),
    ],
)
def test_what_a_handler_here_may_not_tell_is_refused(
    shop: Shop, bob: FarWorker, what: str, said: dict[str, Any], code: str
) -> None:
    """R4, R5: with the rule that is broken, and the job goes on."""
    job = held(shop, bob)
    answer = bob.post(f"jobs/{job['id']}/{what}", {"lease": job["lease"], **said})
    assert (answer.status_code, answer.json["code"]) == (400, code)
    assert shop.store.work(job["id"]) == (frozenset(), {})
    assert bob.tell(job, "renew")["accepted"]


def test_a_worker_learns_that_its_job_is_to_be_cancelled(shop: Shop, bob: FarWorker) -> None:
    """R7: at its next call; its lease is not prolonged any more."""
    job = held(shop, bob)
    assert shop.client.delete(f"/jobs/{job['id']}").status_code == 202
    lease_until = record(shop, job).lease_until_ms
    for what, said in (("renew", {}), ("progress", {"progress": {"done": 1}})):
        told = bob.tell(job, what, **said)
        assert (told["accepted"], told["cancel"]) == (True, True)
    assert record(shop, job).lease_until_ms == lease_until


@pytest.mark.parametrize(
    ("what", "said"), [("complete", {"output": OUTPUT}), ("fail", {"class": "transient"}), ("release", {})]
)
def test_a_job_that_is_to_be_cancelled_ends_in_no_other_way(
    shop: Shop, bob: FarWorker, what: str, said: dict[str, Any]
) -> None:
    """R7: never cancelled and charged."""
    job = held(shop, bob)
    shop.client.delete(f"/jobs/{job['id']}")
    assert bob.tell(job, what, **said) == {"accepted": False, "reason": "cancelled"}
    assert (record(shop, job).status, shop.wake_ups.settled) == (Status.CANCELLED, [])


# Its end


@pytest.mark.parametrize("service", ["far", "far-paid"])
def test_a_completed_job_is_paid_and_readable(shop: Shop, bob: FarWorker, service: str) -> None:
    """§3: the same way as a local one's, under both policies."""
    job = held(shop, bob, service)
    assert bob.tell(job, "complete", output=OUTPUT) == {"accepted": True}
    if service == "far":
        assert shop.client.get(f"/jobs/{job['id']}/output").status_code == 409
        assert shop.wake_ups.settled[-1] == job["id"]
        shop.worker.settler.settle(job["id"])
    assert shop.client.get(f"/jobs/{job['id']}/output").json == OUTPUT


def test_completing_twice_changes_nothing(shop: Shop, bob: FarWorker) -> None:
    """§11: the second is answered false."""
    job = held(shop, bob)
    bob.tell(job, "complete", output=OUTPUT)
    before = record(shop, job)
    assert bob.tell(job, "complete", output={"said": "no"}) == {"accepted": False, "reason": "lost"}
    assert record(shop, job) == before


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("complete", {"output": {"said": "late"}}),
        ("fail", {"class": "error", "checkpoints": [{"unit": "late"}]}),
        ("fail", {"class": "transient"}),
        ("checkpoint", {"checkpoints": [{"unit": "late"}]}),
        ("progress", {"progress": {"done": 99}}),
        ("renew", {}),
        ("release", {}),
    ],
)
def test_who_lost_his_lease_changes_nothing(
    shop: Shop, bob: FarWorker, hire: Hire, what: str, said: dict[str, Any]
) -> None:
    """§11: a worker that stopped heart-beating loses its job to another, whatever it says later."""
    job = held(shop, bob)
    lose(shop, job)
    amy = hire("amy")
    taken = amy.claim("far")
    assert taken is not None
    assert (taken["id"], taken["attempt"]) == (job["id"], 2)
    before = record(shop, job)
    assert bob.tell(job, what, **said) == {"accepted": False, "reason": "lost"}
    assert (record(shop, job), shop.store.work(job["id"])) == (before, (frozenset(), {}))
    assert amy.tell(taken, "complete", output=OUTPUT)["accepted"]


@pytest.mark.parametrize("output", ["text", None, [], 1])
def test_an_output_that_breaks_the_schema_fails_the_job(shop: Shop, bob: FarWorker, output: Any) -> None:
    """R6: the worker is told what is wrong, the buyer is not."""
    job = held(shop, bob)
    told = bob.tell(job, "complete", output=output)
    assert (told["accepted"], told["reason"]) == (False, "output_invalid")
    assert told["detail"]
    shown = shop.client.get(f"/jobs/{job['id']}")
    assert (shown.status_code, shown.json["error"]["code"]) == (500, "output_invalid")
    assert told["detail"] not in shown.text


def test_what_a_worker_says_of_a_failure_stays_in_the_log(
    shop: Shop, bob: FarWorker, caplog: pytest.LogCaptureFixture
) -> None:
    """E2."""
    job = held(shop, bob)
    assert bob.tell(job, "fail", **{"class": "error"}, message="a secret of the seller")["accepted"]
    assert "a secret of the seller" in caplog.text
    assert "secret" not in shop.client.get(f"/jobs/{job['id']}").text


@pytest.mark.parametrize(("what", "said"), [("renew", {}), ("complete", {"output": OUTPUT})])
def test_a_worker_cannot_hold_a_job_beyond_its_budget(
    shop: Shop, bob: FarWorker, what: str, said: dict[str, Any]
) -> None:
    """R2: however faithfully it renews."""
    job = held(shop, bob)
    for _ in range(5):
        pass_time(shop.store.client, 10)
        assert bob.tell(job, "renew")["accepted"]
    assert bob.tell(job, "renew")["leaseSeconds"] <= 15
    pass_time(shop.store.client, 10)
    assert bob.tell(job, what, **said) == {"accepted": False, "reason": "timed_out"}
    assert (record(shop, job).status, record(shop, job).error) == (Status.FAILED, ErrorCode.TIMEOUT)


def test_a_worker_that_tells_no_progress_has_stalled(shop: Shop, bob: FarWorker) -> None:
    """R4: `stall_seconds` of 20, from the claim or from the last progress or checkpoint."""
    job = held(shop, bob, "stalls")
    pass_time(shop.store.client, 11)
    bob.tell(job, "progress", progress={"done": 1})
    pass_time(shop.store.client, 11)
    bob.tell(job, "checkpoint", checkpoints=[{"unit": "a"}])
    pass_time(shop.store.client, 11)
    assert bob.tell(job, "renew")["accepted"]
    pass_time(shop.store.client, 9)
    assert bob.tell(job, "renew") == {"accepted": False, "reason": "stalled"}
    assert (record(shop, job).status, record(shop, job).interruptions) == (Status.QUEUED, 1)
    again = bob.claim("stalls")
    assert again is not None
    assert bob.tell(again, "renew")["accepted"]


def test_a_worker_that_stops_hands_its_job_back(shop: Shop, bob: FarWorker) -> None:
    """C8: at once, to the place it had, and the start does not count."""
    job = held(shop, bob)
    shop.wake_ups.handled.clear()
    assert bob.tell(job, "release") == {"accepted": True}
    assert (record(shop, job).status, record(shop, job).starts) == (Status.QUEUED, 0)
    assert job["id"] in shop.wake_ups.handled
    assert bob.claim("far") is not None


def test_a_renewal_beside_its_end_does_not_lose_it(shop: Shop, bob: FarWorker) -> None:
    """The version changed, but the owner did not: the end is recorded all the same."""
    job = held(shop, bob)
    get, renewals = shop.store.get, iter([True, True])

    def get_and_renew(job_id: str) -> Job:
        read = get(job_id)
        if next(renewals, False):
            shop.store.client.hincrby(keys.job(job_id), "version", 1)
        return read

    shop.store.get = get_and_renew  # type: ignore[method-assign]
    assert bob.tell(job, "complete", output=OUTPUT) == {"accepted": True}


# Beside it


def test_a_job_of_a_remote_service_is_announced_and_no_message_is_sent(shop: Shop) -> None:
    """§11: nobody would consume the message; payments are settled like all others."""
    celery = NotedWakeUps()
    dispatcher = AnnouncingDispatcher(shop.store, celery, {"far"})
    heard: Any = shop.store.client.pubsub()  # type: ignore[no-untyped-call]
    far, near = buy(shop), buy(shop, "near")
    heard.subscribe(keys.job(far))
    assert heard.get_message(timeout=5)["type"] == "subscribe"
    for job_id in (far, near):
        dispatcher.handle(job_id)
        dispatcher.settle(job_id)
    assert heard.get_message(timeout=5)["data"] == "queued"
    assert (celery.handled, celery.settled) == ([near], [far, near])


def test_a_local_worker_leaves_the_jobs_of_remote_services_alone(shop: Shop) -> None:
    """§1: whoever put a message into its queue."""
    job_id = buy(shop)
    assert Runner(shop.store, shop.registry, shop.wake_ups, shop.settings).run_next("far") is None
    assert shop.store.get(job_id).status is Status.QUEUED


def test_the_openapi_document_shows_the_gateway(shop: Shop) -> None:
    """With its way to authenticate, and each call that there is."""
    document = shop.client.get("/openapi.json").json
    served = {rule.rule.replace("<job_id>", "{id}") for rule in shop.client.application.url_map.iter_rules()}
    described = {path for path in document["paths"] if path.startswith("/worker/")}
    assert described == {rule for rule in served if rule.startswith("/worker/")}
    assert document["components"]["securitySchemes"]["worker"]["scheme"] == "bearer"


def test_the_document_describes_what_the_gateway_reads_and_gives(shop: Shop, bob: FarWorker) -> None:
    """Was red: written by hand beside the schemas that read it, the document lacked their limits."""
    paths = shop.client.get("/openapi.json").json["paths"]
    fail = _schemas(paths, "/worker/jobs/{id}/fail")[0]["properties"]
    assert (fail["message"]["maxLength"], fail["checkpoints"]["maxItems"]) == (20_000, 1000)
    job = held(shop, bob)
    renewed = bob.tell(job, "renew")
    shop.client.delete(f"/jobs/{job['id']}")
    for path, given in (
        ("/worker/claims", {"job": job}),
        ("/worker/claims", {"declined": "none-available"}),
        ("/worker/jobs/{id}/renew", renewed),
        ("/worker/jobs/{id}/renew", bob.tell(job, "renew")),
        ("/worker/jobs/{id}/release", bob.tell(job, "release")),
        ("/worker/jobs/{id}/complete", bob.tell(job, "complete", output={})),
    ):
        described = _schemas(paths, path)[1]
        assert CompiledSchema({"additionalProperties": False, **described}).problems(given) == []


def _schemas(paths: Any, path: str) -> tuple[Any, Any]:
    """Give the schemas of what a call sends and gets."""
    call = paths[path]["post"]
    found = call["requestBody"]["content"], call["responses"]["200"]["content"]
    return found[0]["application/json"]["schema"], found[1]["application/json"]["schema"]
