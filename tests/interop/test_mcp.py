"""MCP clients that are not ours buy through POST /mcp (standard H10). Red before it was there."""

import fcntl
import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from stellar_sdk import Keypair

from provider.client.sign import sign_payment
from provider.localnet.demo.background import background_platform
from provider.payments.schemas import dump_payload, load_payment_required
from tests.interop.node import HERE, Node, install, node_or_skip

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = HERE.parents[1]
ENVIRONMENTS = ROOT / ".venv" / "interop"
BUYER = ("stellar-sdk>=16,<17", "marshmallow", "requests")
"""What a scheme for x402 needs of us, which is imported from the checkout."""
SESSION = ("mcp==1.30.0", "x402==2.25.0", "httpx", *BUYER)
CLIENT = ("mcp==2.3.0",)
CALLS = [{"name": name, "arguments": {"word": name}} for name in ("quick", "long", "failing")]
HOLD_SECONDS = "1"


def python_with(name: str, packages: tuple[str, ...]) -> Path:
    """Make an environment once, however many test runs want it now: no lock can hold both majors of mcp."""
    home = ENVIRONMENTS / name
    home.mkdir(parents=True, exist_ok=True)
    with (home / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = home / ".installed"
        if not done.exists() or done.read_text() != "\n".join(packages):
            venv.create(home, with_pip=True, symlinks=True)
            command = [sys.executable, "-m", "pip", "--quiet", "--python", home / "bin" / "python", "install"]
            subprocess.run([*command, *packages], check=True, timeout=280)
            done.write_text("\n".join(packages))
    return home / "bin" / "python"


@pytest.fixture(scope="module")
def seller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Run a whole platform that holds calls for a second, so that 2 s are long."""
    home = tmp_path_factory.mktemp("mcp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REQUEST_WAIT_SECONDS", HOLD_SECONDS)
        patch.setenv("PYTHONPATH", str(ROOT))
        with background_platform(home, "tests.interop.mcp_services") as described:
            yield described


def balance(seller: dict[str, Any]) -> int:
    state = requests.get(f"{seller['rpc_url']}/admin/state", timeout=10).json()
    return int(state["balances"].get(seller["payTo"], 0))


def signed_calls(seller: dict[str, Any]) -> list[dict[str, Any]]:
    """Sign a payment for each call, by the price that its HTTP address says."""
    buyer = Keypair.from_secret(seller["buyer_secret"])
    paid = []
    for call in CALLS:
        answer = requests.post(f"{seller['web_url']}/run/{call['name']}", timeout=10)
        price = load_payment_required(answer.json())
        payment = sign_payment(price.accepts[0], buyer, rpc_url=seller["rpc_url"])
        paid.append({**call, "payment": dump_payload(payment)})
    return paid


def run(python: Path, script: str, asked: dict[str, Any]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [python, HERE / script],
        input=json.dumps(asked),
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "NO_PROXY": "127.0.0.1,localhost"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    had: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return had


def assert_bought(seller: dict[str, Any], had: list[dict[str, Any]], before: int) -> None:
    """Two of three were paid, once each; a resend is the same job, and so is the job on HTTP."""
    assert [one["job"]["status"] for one in had] == ["succeeded", "succeeded", "failed"]
    assert [one["job"]["output"]["said"] for one in had[:2]] == ["quick", "long"]
    assert [one["again"]["id"] for one in had] == [one["job"]["id"] for one in had]
    assert had[2]["job"]["error"]["charged"] is False
    price = int(had[0]["job"]["payment"]["amount"])
    assert balance(seller) - before == 2 * price
    for one in had:
        on_http = requests.get(f"{seller['web_url']}/jobs/{one['job']['id']}", timeout=10).json()
        assert on_http == one["job"]


def test_the_session_of_the_python_package_x402_buys(seller: dict[str, Any]) -> None:
    """It pays by itself, one signature a call, and follows the handle with the free tool."""
    python, before = python_with("mcp1", SESSION), balance(seller)
    asked = {"secret": seller["buyer_secret"], "rpc_url": seller["rpc_url"], "calls": CALLS}
    had = run(python, "mcp_session.py", {**asked, "url": f"{seller['web_url']}/mcp"})
    assert_bought(seller, had, before)
    assert [one["signed"] for one in had] == [1, 2, 3]
    assert "next" in had[1]["began"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_client_of_mcp_2_buys(seller: dict[str, Any], mode: str) -> None:
    """Stateless it has tasks, which end with the same result and receipt; legacy it gets a handle."""
    python, before = python_with("mcp2", CLIENT), balance(seller)
    asked = {"url": f"{seller['web_url']}/mcp", "mode": mode, "calls": signed_calls(seller)}
    had = run(python, "mcp_client.py", asked)
    assert_bought(seller, had, before)
    if mode == "auto":
        assert [one["tasks"] for one in had] == [[one["job"]["id"]] for one in had]
        assert had[1]["receipt"] == had[1]["job"]["payment"]["transaction"]
        assert had[2]["is_error"] is True


def test_the_client_for_typescript_buys(seller: dict[str, Any]) -> None:
    node_or_skip()
    install(HERE / "mcp_sdk")
    before = balance(seller)
    node = Node(seller["rpc_url"], Path(seller["ca_file"]))
    asked = {"url": f"{seller['web_url']}/mcp", "calls": signed_calls(seller)}
    assert_bought(seller, node.run("mcp_sdk/buy.mjs", stdin=asked), before)
