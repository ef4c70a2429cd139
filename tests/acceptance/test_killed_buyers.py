"""Buyers killed at each of their lines, from the signature to the receipt: paid once, and output had."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from provider.localnet.demo.background import background_platform

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROUNDS = {"qr-code": 200, "monte-carlo": 40}
INPUTS: dict[str, Any] = {
    "qr-code": {"text": "killed"},
    "monte-carlo": {
        "spot": 100,
        "strike": 105,
        "rate": 0.03,
        "volatility": 0.2,
        "years": 1,
        "paths": 1000,
        "units": 1,
        "seed": 1,
    },
}


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    with background_platform(tmp_path_factory.mktemp("platform"), "examples.services", 0.5) as described:
        yield described


def received(platform: dict[str, Any]) -> int:
    state = requests.get(f"{platform['rpc_url']}/admin/state", timeout=10).json()
    return int(state["balances"].get(platform["payTo"], 0))


def buyers(orders: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run one process for each order."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.killed_buyer"],
        input="".join(json.dumps(order) + "\n" for order in orders),
        capture_output=True,
        text=True,
        check=True,
        timeout=800,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def points(places: list[str], rounds: int) -> list[int]:
    """Choose when to die: where a line runs first, of all lines or as many as there are rounds."""
    first = {place: number for number, place in reversed(list(enumerate(places, 1)))}
    numbers = sorted(first.values())
    return [numbers[n * len(numbers) // rounds] for n in range(rounds)] if len(numbers) > rounds else numbers


@pytest.mark.parametrize("service", ROUNDS)
def test_a_buyer_that_is_killed_anywhere_pays_once_and_gets_its_output(
    platform: dict[str, Any], service: str, tmp_path: Path
) -> None:
    """Red when a payment is sent before it is journalled, when a resumed buyer signs another one, and when
    a purchase is finished before its answer is kept (each planted).
    """

    def order(n: int, kill: int | None) -> dict[str, Any]:
        return {
            "n": n,
            "kill": kill,
            "url": f"{platform['web_url']}/run/{service}",
            "input": INPUTS[service],
            "secret": platform["buyer_secret"],
            "rpc": platform["rpc_url"],
            "ledger_seconds": 1,
            "journal": str(tmp_path / f"{n}.jsonl"),
            "receipts": str(tmp_path / f"{n}.receipts.jsonl"),
        }

    before = received(platform)
    [whole] = buyers([order(0, None)])
    price = received(platform) - before
    kills = points(whole["places"], ROUNDS[service])
    ended = buyers([order(n, kill) for n, kill in enumerate(kills, 1)])
    killed = sum(one.get("killed") == -9 for one in ended)
    assert killed > 0.95 * len(kills), "one purchase may take some lines less than another, but not so many"
    finished = buyers([order(n, 0) for n in range(1, len(kills) + 1)])
    assert [one for one in finished if one.get("output") != whole["output"]] == []
    assert {one["payments"] for one in finished} == {1}
    assert received(platform) - before == price * (1 + len(kills))
