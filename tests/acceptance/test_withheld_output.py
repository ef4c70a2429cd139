"""J14: no output of an on-success job is to be read before its payment is certain; then it is where due."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import redis
import requests
from stellar_sdk import Keypair

from provider.jobs.store import keys
from provider.payments.schemas import load_requirements
from tests.acceptance.conftest import SERVICES
from tests.support.payments import payment_header, signed_payment
from tests.support.processes import wait_until
from tests.support.withheld import digest_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

TEXT = "what is bought"
MARKER = digest_of(TEXT)
PAGE = {"Accept": "text/html"}
DUE = {"job", "page", "output", "events", "later events", "held answer", "call again", "record"} | {
    "provider jobs show"
}
"""Where a paid output is shown to its buyer, and to an operator who asks for it."""

NAMELESS = {"services", "metrics", "output", "record"}
"""Places that name no job."""


@dataclass
class Look:
    """A running platform, one job of it, and every place where somebody could read."""

    told: dict[str, Any]
    home: Path
    payment: str
    job_id: str = ""
    stream: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return str(self.told["web_url"])

    def call(self) -> requests.Response:
        headers = {"PAYMENT-SIGNATURE": self.payment, "Prefer": "respond-async"}
        return requests.post(f"{self.url}/run/digest", json={"text": TEXT}, headers=headers, timeout=20)

    def get(self, path: str, **headers: str) -> str:
        answer = requests.get(f"{self.url}{path}", headers=headers, timeout=20)
        return f"{answer.headers}\n{answer.text}"

    def follow(self) -> None:
        """Listen to the job from its beginning, in a thread."""
        answer = requests.get(f"{self.url}/jobs/{self.job_id}/events", stream=True, timeout=120)
        threading.Thread(target=lambda: self.stream.extend(answer.iter_content(None)), daemon=True).start()

    def everywhere(self) -> dict[str, str]:
        """Read all places, by name."""
        job = f"/jobs/{self.job_id}"
        return {
            "job": self.get(job),
            "page": self.get(job, **PAGE),
            "output": self.get(f"{job}/output"),
            "events": b"".join(self.stream).decode(),
            "later events": self._opening(f"{job}/events"),
            "held answer": self.get(job, Prefer="wait=1"),
            "call again": f"{self.call().headers}\n{self.call().text}",
            "services": self.get("/services") + self.get("/") + self.get("/openapi.json"),
            "metrics": self.get("/metrics"),
            "logs of all processes": (self.home / "log").read_text(),
            "flower": self._flower(),
            "provider jobs show": self._cli("show", self.job_id, "--output", "--input", "--json"),
            "provider jobs list": self._cli("list", "--json"),
            **self.stored(),
        }

    def _opening(self, path: str) -> str:
        """Read what a new stream begins with; the job does not move meanwhile."""
        text = ""
        with requests.get(f"{self.url}{path}", stream=True, timeout=20) as answer:
            for chunk in answer.iter_content(None):
                text += chunk.decode()
                if "data: " in text:
                    break
        return text

    def _flower(self) -> str:
        login = (self.told["flower_user"], self.told["flower_password"])
        places = ("/api/tasks", "/tasks", "/metrics")
        return "".join(requests.get(self.told["flower_url"] + p, auth=login, timeout=20).text for p in places)

    def _cli(self, *arguments: str) -> str:
        settings = {"REDIS_URL": self.told["redis_url"], "PAY_TO": self.told["payTo"]}
        settings["PROVIDER_SERVICES"] = SERVICES
        command = [sys.executable, "-m", "provider.cli.main", "jobs", *arguments]
        done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def stored(self) -> dict[str, str]:
        """Read every key: the record apart, since the output lies there."""
        with redis.Redis.from_url(self.told["redis_url"], decode_responses=True) as client:
            read = {
                "string": client.get,
                "hash": client.hgetall,
                "set": client.smembers,
                "list": lambda key: client.lrange(key, 0, -1),
                "zset": lambda key: client.zrange(key, 0, -1),
                "none": lambda _: "",  # It expired since it was listed.
            }
            found = {key: str(read[client.type(key)](key)) for key in client.scan_iter()}
            record = found.pop(keys.job(self.job_id), "")
            return {"record": record, "messages and other keys": str(found)}


@pytest.fixture
def look(platform: dict[str, Any], platform_home: Path) -> Iterator[Look]:
    """Sign a payment; leave no fault behind."""
    offer = requests.post(f"{platform['web_url']}/run/digest", timeout=10).json()["accepts"][0]
    wanted = load_requirements(offer)
    latest = requests.get(f"{platform['rpc_url']}/admin/state", timeout=10).json()["ledger"]
    buyer = Keypair.from_secret(platform["buyer_secret"])
    signed = signed_payment(wanted, buyer, latest + wanted.max_timeout_seconds)
    look = Look(platform, platform_home, payment_header(signed))
    yield look
    admin(look, "clear")


def admin(look: Look, verb: str, **given: Any) -> None:
    requests.post(f"{look.told['rpc_url']}/admin/{verb}", json=given, timeout=10).raise_for_status()


def test_an_output_is_nowhere_to_be_read_while_its_settlement_hangs(look: Look) -> None:
    """The facilitator cannot see whether its transaction landed; the work is done and on record."""
    admin(look, "fault", name="rpc_down", method="getTransaction")
    look.job_id = look.call().json()["id"]
    look.follow()
    assert wait_until(lambda: MARKER in look.stored()["record"], 60)
    hung = look.everywhere()
    assert "settling_since_ms" in hung["record"]
    assert {name for name, text in hung.items() if MARKER in text} == {"record"}
    silent = {name for name, text in hung.items() if look.job_id not in text and name not in NAMELESS}
    assert silent == set(), "these places were not read"
    admin(look, "clear")
    assert wait_until(lambda: "succeeded" in look.get(f"/jobs/{look.job_id}"), 60)
    assert wait_until(lambda: MARKER in b"".join(look.stream).decode(), 10)
    assert {name for name, text in look.everywhere().items() if MARKER in text} == DUE
