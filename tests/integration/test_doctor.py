"""`provider doctor`, as an operator runs it, over a real Redis and the local network."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from redis import Redis

from provider.chain.rpc import StellarRpc
from provider.doctor.facilitator import check_facilitator
from provider.doctor.finding import Finding, Level
from provider.doctor.queues import Queues
from provider.doctor.rpc import check_rpc
from provider.networks import PUBNET, TESTNET
from provider.payments.facilitator import FacilitatorClient
from tests.support.jobs import Platform, running_platform, service
from tests.support.localnet import LocalNet, running_localnet
from tests.support.redis_cluster import running_cluster
from tests.support.timetravel import pass_time

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def net() -> Iterator[LocalNet]:
    with running_localnet() as net:
        yield net


@dataclass
class Clinic:
    """A deployment that lacks nothing, unless a test says so."""

    environment: dict[str, str]

    def examine(self, *options: str, **changes: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "provider.cli.main", "doctor", *options]
        given = {**os.environ, **self.environment, **changes}
        return subprocess.run(command, env=given, capture_output=True, text=True, timeout=60)

    def checks(self, **changes: str) -> dict[str, dict[str, str]]:
        """Give the checks by name."""
        told: Any = json.loads(self.examine("--json", **changes).stdout)
        return {check["check"]: check for check in told["checks"]}


@pytest.fixture
def clinic(net: LocalNet, redis_url: str) -> Clinic:
    """Configure the deployment."""
    return Clinic(
        {
            "PROVIDER_SERVICES": "examples.services",
            "PAY_TO": net.seller.public_key,
            "REDIS_URL": redis_url,
            "FACILITATOR_URL": net.facilitator.url,
            "STELLAR_RPC_URLS": net.chain.url,
            "COLUMNS": "160",
        }
    )


def test_a_deployment_that_lacks_nothing(clinic: Clinic) -> None:
    """Exit status 0, every line "ok"; beside the JSON there is a table for people."""
    told = json.loads((done := clinic.examine("--json")).stdout)
    assert (done.returncode, told["ok"]) == (0, True)
    assert {check["level"] for check in told["checks"]} == {"ok"}
    assert len(told["checks"]) == 14
    assert "payTo trustline" in clinic.examine().stdout


def test_a_failure_exits_with_1_and_says_what_to_do(clinic: Clinic) -> None:
    """One failure hides none of the other checks."""
    done = clinic.examine(FACILITATOR_URL=NOWHERE)
    assert done.returncode == 1
    assert "→ start it, or mend FACILITATOR_URL" in done.stdout
    assert "payTo trustline" in done.stdout


def test_settings_that_cannot_be_read(clinic: Clinic) -> None:
    """All wrong variables in one line; there is nothing to connect to."""
    checks = clinic.checks(PAY_TO="nobody", REDIS_URL="x")
    assert list(checks) == ["settings"]
    assert all(name in checks["settings"]["seen"] for name in ("PAY_TO", "REDIS_URL"))


def test_services_that_do_not_load(clinic: Clinic) -> None:
    """The rest is checked all the same."""
    checks = clinic.checks(PROVIDER_SERVICES="no.such.module")
    assert (checks["services"]["level"], checks["redis"]["level"]) == ("fail", "ok")


def test_a_redis_that_is_away(clinic: Clinic) -> None:
    """What waits cannot be told then."""
    checks = clinic.checks(REDIS_URL="unix:///tmp/no-such.sock")
    assert (checks["redis"]["level"], checks["queues"]["level"]) == ("fail", "skipped")


def test_a_redis_cluster_is_checked_node_by_node(clinic: Clinic) -> None:
    """J7, C4: each primary by its address, and only the one that evicts fails."""
    clinic.environment["BROKER_URL"] = clinic.environment["REDIS_URL"]
    with running_cluster() as cluster:
        nodes = [f"redis 127.0.0.1:{port}" for port in cluster.ports]
        checks = clinic.checks(REDIS_URL=cluster.url)
        assert {check["level"] for check in checks.values()} == {"ok"}
        assert set(nodes) | {f"{node} fsync" for node in nodes} <= set(checks)
        with Redis.from_url(cluster.nodes[1].url) as operator:
            operator.config_set("maxmemory-policy", "allkeys-lru")
        checks = clinic.checks(REDIS_URL=cluster.url)
    assert [name for name, check in checks.items() if check["level"] == "fail"] == [f"{nodes[1]} eviction"]


def test_without_an_rpc_nobody_decides(clinic: Clinic) -> None:
    """Allowed, but it is told."""
    assert clinic.checks(STELLAR_RPC_URLS="")["rpc"]["level"] == "fail"


# Facilitator and RPC


def test_a_facilitator_of_another_network(net: LocalNet) -> None:
    """It would refuse each payment of ours."""
    client = FacilitatorClient(net.facilitator.url)
    assert check_facilitator(client, TESTNET).level is Level.OK
    finding = check_facilitator(client, PUBNET)
    assert (finding.level, "exact on stellar:testnet" in finding.seen) == (Level.FAIL, True)


@pytest.mark.parametrize(
    "wrong", [{"scheme": "upto"}, {"x402Version": 1}, {"network": "stellar:pubnet"}, None]
)
def test_a_kind_must_be_ours_in_all_parts(wrong: dict[str, Any] | None) -> None:
    """Scheme, network and version of one kind."""

    class Offers(FacilitatorClient):
        def supported(self) -> dict[str, Any]:
            ours = {"x402Version": 2, "scheme": "exact", "network": TESTNET}
            return {"kinds": [wrong and {**ours, **wrong}]}

    assert check_facilitator(Offers("http://x"), TESTNET).level is Level.FAIL


def test_an_rpc_of_another_network(net: LocalNet) -> None:
    """Its answers would be about other money."""
    finding = check_rpc(StellarRpc(net.chain.url), PUBNET, time.time())
    assert (finding.level, "Test SDF Network" in finding.seen) == (Level.FAIL, True)


def test_an_rpc_that_lags(net: LocalNet) -> None:
    """A minute behind: deadlines and decisions would be wrong."""
    rpc = StellarRpc(net.chain.url)
    assert check_rpc(rpc, TESTNET, time.time() + 30).level is Level.OK
    assert check_rpc(rpc, TESTNET, time.time() + 90).level is Level.FAIL


def test_an_rpc_that_is_away() -> None:
    """No traceback."""
    assert check_rpc(StellarRpc(NOWHERE), TESTNET, 0).level is Level.FAIL


# Queues


@pytest.fixture
def platform(redis_url: str) -> Iterator[Platform]:
    """Give a platform nobody works for."""
    with running_platform(redis_url) as parts:
        yield parts


def queues(platform: Platform, between: Any = lambda: None) -> dict[str, Finding]:
    """Check the queues; `between` happens before the second look."""
    found = Queues(platform.store, platform.settings, pause=lambda seconds: between()).check(
        platform.registry
    )
    return {finding.check: finding for finding in found if finding.level is Level.FAIL}


def test_a_job_that_nobody_handles(platform: Platform) -> None:
    """It waits beside free slots for longer than sweeps take to wake somebody."""
    platform.buy("after")
    assert queues(platform) == {}
    age(platform, 61)
    assert "queue handle.after" in queues(platform)


def test_a_job_that_waits_for_a_slot_misses_nobody(platform: Platform) -> None:
    """A full lane is no missing worker."""
    for _ in range(3):
        platform.buy("after")
    for _ in range(2):
        head = platform.lanes.next("after", 1)[0]
        platform.lanes.lease(platform.registry.get("after"), head, "w", lease_seconds=1000)
    age(platform, 61)
    assert "queue handle.after" not in queues(platform)


def test_a_job_that_is_taken_meanwhile_misses_nobody(platform: Platform) -> None:
    """The first look came just before its worker."""
    platform.buy("after")
    age(platform, 61)
    assert "queue handle.after" not in queues(platform, lambda: platform.runner.run_next("after"))


@pytest.mark.parametrize("name", ["after", "before"])
def test_a_payment_that_nobody_settles(platform: Platform, name: str) -> None:
    """Under both policies; settled meanwhile it is no finding."""
    job = platform.buy(name)
    platform.runner.run_next(name)
    age(platform, 61)
    assert f"queue settle.{name}" in queues(platform)
    assert f"queue settle.{name}" not in queues(platform, lambda: platform.settler.settle(job.id))


def test_a_due_job_that_no_sweep_looks_at(platform: Platform) -> None:
    """Beat or the maintenance worker is not there."""
    platform.buy("after")
    age(platform, 700)
    assert "queue maintenance" in queues(platform)
    platform.sweep.run()
    assert "queue maintenance" not in queues(platform)


def test_jobs_of_a_service_that_is_gone(platform: Platform) -> None:
    """Q7: they are told, too."""
    platform.registry.add(service("gone"))
    platform.buy("gone")
    age(platform, 61)
    del platform.registry
    assert "not offered" in queues(platform)["queue handle.gone"].seen


def age(platform: Platform, seconds: float) -> None:
    """Let time pass, for the places in lanes as well."""
    pass_time(platform.store.client, seconds)
    client: Any = platform.store.client
    for key in client.scan_iter("provider:*:job:*"):
        if place := client.hget(key, "place"):
            client.hset(key, "place", int(place) - int(seconds * 1_000_000))
