"""The wheel in empty environments: a buyer gets the client alone, a seller sells from an empty folder.

All of it is in one file, so that one process makes the wheel and fetches what it needs.
"""

import json
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from provider.localnet.stack.children import begin_child
from tests.packaging.environments import Environment
from tests.support.processes import wait_until

PLATFORM = {
    "celery",
    "environs",
    "flask",
    "flower",
    "gevent",
    "gunicorn",
    "honcho",
    "jsonschema_rs",
    "kombu",
    "redis",
}
IMPORTED = """
import json, sys
from provider.client import Buyer
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""
INSTALLED = """
import json
from importlib.metadata import distributions
print(json.dumps(sorted(one.name.lower() for one in distributions())))
"""
BUY = """
import json, sys
from provider import client
from stellar_sdk import Keypair
dev = json.load(open(sys.argv[1]))
key = Keypair.from_secret(dev["buyer_secret"])
buyer = client.Buyer(key, dev["rpc_url"], ledger_seconds=dev["ledger_seconds"])
purchase = buyer.buy(dev["web_url"] + "/run/word-count", {"text": "pay at most once"})
print(json.dumps([purchase.output, purchase.transaction]))
"""
FOREIGN = ("config", "tasks", "utils", "examples")
"""Names that a seller's own modules often have."""


def test_the_wheel_holds_the_library_alone(wheel: Path) -> None:
    """Red while it held `config`, `tasks` and `examples`."""
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        texts = b"".join(content.read(name) for name in names if name.endswith(".py"))
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"provider", "x402_provider"}
    assert b"examples.services" not in texts
    data = ("jobs/store/lua/claim.lua", "localnet/stack/Procfile", "scaffold/template/Procfile", "py.typed")
    assert {f"provider/{name}" for name in data} <= set(names)


# A buyer


def test_the_client_imports_nothing_of_the_platform() -> None:
    """Here, where all of it is installed, so that nothing is left out only because it is missing."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True, timeout=60
    )
    assert PLATFORM & set(json.loads(done.stdout)) == set()


@pytest.mark.slow
def test_the_bare_package_brings_the_client_and_nothing_of_the_platform(
    buyer: Environment, tmp_path: Path
) -> None:
    """Red while each of them was a requirement."""
    installed = json.loads(buyer.run(tmp_path, "python", "-c", INSTALLED).stdout)
    assert "x402-provider" in installed
    assert PLATFORM & set(installed) == set()
    imported = buyer.run(tmp_path, "python", "-c", IMPORTED)
    assert imported.returncode == 0, imported.stderr
    assert {"provider", "requests", "stellar_sdk"} <= set(json.loads(imported.stdout))


@pytest.mark.slow
def test_the_bare_package_has_the_commands_of_a_buyer(buyer: Environment, tmp_path: Path) -> None:
    """The others say in the list, and when they are called, how to install what they need."""
    listed = buyer.run(tmp_path, "provider", "--help")
    assert (listed.returncode, listed.stderr) == (0, "")
    listed_as = dict(re.findall(r"^  ([a-z-]+) +(\w+)", listed.stdout.partition("Commands:")[2], re.M))
    usable = {command for command, word in listed_as.items() if word != "Needs"}
    assert {"pay", "inspect-payment", "remote-worker", "init"} <= usable
    refused = buyer.run(tmp_path, "provider", "dev")
    assert refused.returncode == 1
    assert "pip install 'x402-provider[platform,local]'" in refused.stderr


# A seller


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_new_project_sells_among_modules_of_its_own(
    install: Callable[..., Environment], buyer: Environment, tmp_path: Path
) -> None:
    """Red while a `config.py` or a `tasks.py` beside the shop ended every process of it."""
    seller, shop = install("x402-provider[platform,local]", "pytest"), tmp_path / "shop"
    assert seller.run(tmp_path, "provider", "init", "shop").returncode == 0
    for name in FOREIGN:
        (shop / f"{name}.py").write_text("raise SystemExit('imported by mistake')\n")
    with selling(seller, shop) as described:
        assert bought(buyer, described) == {"words": 4}
    tested = seller.run(shop, "pytest", "-q")
    assert (tested.returncode, "3 passed" in tested.stdout) == (0, True), tested.stdout
    listed = seller.run(shop, "python", "-m", "provider.cli.main", "services")
    assert (listed.returncode, "word-count" in listed.stdout) == (0, True), listed.stderr


@contextmanager
def selling(seller: Environment, shop: Path) -> Iterator[Path]:
    """Run `provider dev` in a folder until the block ends; give the description it writes."""
    log, described = shop.parent / "dev.log", shop / ".provider" / "dev.json"
    with log.open("w") as output:
        platform = subprocess.Popen(
            seller.command("provider", "dev", "--port-base", "0", "--ledger-seconds", "1"),
            cwd=shop,
            env=seller.variables(),
            stdout=output,
            stderr=output,
            preexec_fn=begin_child,
        )
    try:
        assert wait_until(lambda: described.exists() or platform.poll() is not None, 100), log.read_text()
        assert platform.poll() is None, log.read_text()
        yield described
    finally:
        platform.send_signal(signal.SIGINT)
        platform.wait(40)
    assert platform.returncode == 0, log.read_text()


def bought(buyer: Environment, described: Path) -> Any:
    """Buy a call with the published client, in a process and an environment of its own."""
    done = buyer.run(described.parent, "python", "-c", BUY, described)
    assert done.returncode == 0, done.stderr
    output, transaction = json.loads(done.stdout)
    assert len(transaction) == 64
    return output
