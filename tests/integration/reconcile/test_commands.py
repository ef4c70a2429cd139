"""`provider reconcile` and `provider sweep`, as an operator runs them: in processes of their own."""

import json
import os
import subprocess
import sys
from typing import Any

from provider.jobs.model.status import Status
from provider.jobs.store import keys
from provider.networks import TESTNET, USDC
from tests.support.reconciling import Scene


def run(scene: Scene, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {
        "PROVIDER_SERVICES": "examples.services",
        "PAY_TO": scene.seller.public_key,
        "ASSET": USDC[TESTNET],
        "REDIS_URL": scene.redis_url,
        "NO_PROXY": "127.0.0.1",
        **environment,
    }
    command = [sys.executable, "-m", "provider.cli.main", *arguments]
    return subprocess.run(command, env=os.environ | given, capture_output=True, text=True, timeout=60)


def answer(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_dry_run_then_the_real_one(scene: Scene) -> None:
    paid, unpaid = scene.claim(), scene.claim()
    tx_hash = scene.land(paid.payment)
    scene.expire()
    wanted = ["reconcile", "--json", "--rpc", scene.servers[0].url, "--rpc", scene.servers[1].url]
    shown = answer(run(scene, *wanted, "--dry-run"))
    assert (shown["dryRun"], shown["counts"]) == (True, {"paid": 1, "unpaid": 1})
    assert scene.job(paid).status is Status.PAYMENT_UNCERTAIN
    done = answer(run(scene, *wanted))
    decided = {decision["job"]: decision for decision in done["decisions"]}
    assert decided[paid.id]["transaction"] == tx_hash
    assert decided[unpaid.id]["recorded"] is True
    assert scene.job(unpaid).status is Status.FAILED


def test_the_rpc_comes_from_the_settings_and_the_table_is_for_people(scene: Scene) -> None:
    claim = scene.claim()
    done = run(scene, "reconcile", STELLAR_RPC_URLS=scene.servers[0].url, COLUMNS="200")
    assert done.returncode == 0
    assert claim.id in done.stdout
    assert "1 undecided." in done.stdout


def test_one_job_that_does_not_exist_is_a_message(scene: Scene) -> None:
    done = run(scene, "reconcile", "--job", f"after.{0:032x}", "--rpc", scene.servers[0].url)
    assert (done.returncode, done.stderr.startswith("Error: No job has this id")) == (1, True)


def test_without_an_rpc_it_says_what_to_do(scene: Scene) -> None:
    done = run(scene, "reconcile")
    assert done.returncode == 2
    assert "give --rpc URL, or set STELLAR_RPC_URLS" in done.stderr


def test_a_contradiction_has_an_exit_status_of_its_own(scene: Scene) -> None:
    claim = scene.claim()
    scene.settler.record_paid(claim.id, "ab" * 32)
    scene.redis.hset(keys.job(claim.id), "expires_at_ms", scene.store.now_ms())
    scene.expire()
    done = run(scene, "reconcile", "--rpc", scene.servers[0].url)
    assert done.returncode == 3
    assert "say the opposite of the chain" in done.stdout


def test_a_sweep_tells_what_it_did(scene: Scene) -> None:
    """The payment of a job whose settlement never began has expired long ago."""
    claim = scene.claim()
    scene.redis.hdel(keys.job(claim.id), "settling_since_ms")
    scene.redis.hset(keys.job(claim.id), mapping={"status": "running", "expires_at_ms": 1})
    scene.redis.zadd(keys.due("after"), {claim.id: 0})
    swept = answer(run(scene, "sweep", "--json"))
    assert swept["actions"] == {"expire": 1}
    assert run(scene, "sweep").stdout == "Nothing was due.\n"


def test_a_retry_has_an_uncertain_payment_looked_up(scene: Scene) -> None:
    """The decision is the reconciler's, recorded as ever; what is open stays open."""
    paid, undecided = scene.claim(), scene.claim()
    scene.land(paid.payment)
    rpc = {"STELLAR_RPC_URLS": scene.servers[0].url}
    told = answer(run(scene, "jobs", "retry", paid.id, "--json", **rpc))
    assert told["done"].startswith("its payment was looked up on the chain: paid")
    assert "nothing was recorded" not in told["done"]
    assert scene.job(paid).status is Status.SUCCEEDED
    assert "undecided" in run(scene, "jobs", "retry", undecided.id, **rpc).stdout
    again = run(scene, "jobs", "retry", paid.id, **rpc)
    assert (again.returncode, "its output is there" in again.stderr) == (1, True)


def test_operators_are_told_that_redis_is_away_and_not_to_send_a_call_again(scene: Scene) -> None:
    """That is for buyers. The environment is read as by every other command."""
    claim = scene.claim()
    found = answer(run(scene, "jobs", "list", "--json"))
    assert [job["id"] for job in found["jobs"]] == [claim.id]
    for command in (["sweep"], ["jobs", "show", claim.id]):
        away = run(scene, *command, REDIS_URL="redis://127.0.0.1:9/0")
        assert (away.returncode, "Traceback" in away.stderr, "same call" in away.stderr) == (1, False, False)
        assert "Redis does not answer, or refuses" in away.stderr
        assert "Connection refused" in away.stderr
