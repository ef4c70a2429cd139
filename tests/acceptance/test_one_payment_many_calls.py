"""One payment, posted by eight processes at once, some to another service (J2, J3)."""

import multiprocessing
from collections import Counter
from multiprocessing.synchronize import Barrier
from typing import Any

import pytest
import requests
from stellar_sdk import Keypair

from provider.payments.models import PaymentRequirements
from provider.payments.schemas import load_requirements
from tests.support.payments import payment_header, signed_payment
from tests.support.processes import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROUNDS = 50
PROCESSES = 8
AMOUNT = "10000"
"""What either service costs, and no other of this platform."""


def offer(platform: dict[str, Any]) -> PaymentRequirements:
    """Ask what a call costs; both services ask the same."""
    return load_requirements(
        requests.post(platform["web_url"] + "/run/castor", timeout=10).json()["accepts"][0]
    )


def headers(platform: dict[str, Any]) -> list[str]:
    """Sign a payment for each round."""
    latest = requests.get(platform["rpc_url"] + "/admin/state", timeout=10).json()["ledger"]
    buyer, wanted = Keypair.from_secret(platform["buyer_secret"]), offer(platform)
    expires = latest + wanted.max_timeout_seconds
    return [payment_header(signed_payment(wanted, buyer, expires, nonce=n + 1)) for n in range(ROUNDS)]


def post_all(number: int, url: str, payments: list[str], line: Barrier, told: Any) -> None:
    """Post each payment when all processes are ready to; a quarter of them go to the other service."""
    service = "pollux" if number % 4 == 3 else "castor"
    session = requests.Session()
    answers = []
    for payment in payments:
        sent = {"PAYMENT-SIGNATURE": payment, "Prefer": "respond-async"}
        line.wait()
        answer = session.post(f"{url}/run/{service}", json={"n": 1}, headers=sent, timeout=30)
        answers.append((answer.status_code, answer.json().get("id")))
    told.put(answers)


def race(platform: dict[str, Any], payments: list[str]) -> list[list[tuple[int, str | None]]]:
    """Run the processes; for each round what each of them was answered."""
    context = multiprocessing.get_context("spawn")
    line, told = context.Barrier(PROCESSES), context.Queue()
    arguments = [(number, platform["web_url"], payments, line, told) for number in range(PROCESSES)]
    racers = [context.Process(target=post_all, args=given) for given in arguments]
    for racer in racers:
        racer.start()
    answers = [told.get(timeout=200) for _ in racers]
    for racer in racers:
        racer.join()
    return [list(answered) for answered in zip(*answers, strict=True)]


def test_a_payment_posted_by_many_at_once_is_one_job_and_one_charge(platform: dict[str, Any]) -> None:
    """The rest get the same job, or 409 at the other service."""
    rounds = race(platform, headers(platform))
    jobs = [{job for _, job in answered if job} for answered in rounds]
    assert [len(found) for found in jobs] == [1] * ROUNDS
    statuses = Counter(status for answered in rounds for status, _ in answered)
    assert statuses.keys() <= {200, 202, 409}, statuses
    ids = [job for found in jobs for job in found]
    assert len(set(ids)) == ROUNDS
    assert wait_until(lambda: all(status(platform, job) == "succeeded" for job in ids), 120)
    assert Counter(transfer["nonce"] for transfer in transfers(platform)) == Counter(
        str(n + 1) for n in range(ROUNDS)
    )


def status(platform: dict[str, Any], job: str) -> str:
    return str(requests.get(f"{platform['web_url']}/jobs/{job}", timeout=10).json()["status"])


def transfers(platform: dict[str, Any]) -> list[dict[str, Any]]:
    """Read what was paid on chain for these services."""
    state = requests.get(platform["rpc_url"] + "/admin/state", timeout=10).json()
    paid = (platform["payTo"], AMOUNT)
    return [transfer for transfer in state["transfers"] if (transfer["to"], transfer["amount"]) == paid]
