"""`provider demo`: what a newcomer sees first."""

import ast
import io
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from rich.console import Console

from provider.cli.demo import act_table, check_balances
from provider.localnet.demo import stranger
from provider.localnet.demo.story import Line
from provider.localnet.demo.visit import DemoFailed
from tests.support.processes import marked, wait_until

PAID = [Line("a call", "200", "a result", charged=50_000), Line("another", "500", "nothing")]


@pytest.mark.timeout(240)
def test_the_demo_ends_by_itself_and_its_balances_add_up(tmp_path: Path) -> None:
    """In an empty directory, with no locale and nothing set but PATH."""
    done = subprocess.run(
        [sys.executable, "-m", "provider.cli.main", "demo"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        timeout=220,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The balances on chain add up" in done.stdout
    assert "99.745 USDC" in done.stdout
    assert list((tmp_path / ".provider").iterdir()) == []


def test_the_stranger_knows_the_published_client_and_nothing_else_of_the_platform() -> None:
    """Red before: six modules of this project were imported."""
    tree = ast.parse(Path(stranger.__file__).read_text())
    named = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    named |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert {name for name in named if name and name.startswith("provider")} == {"provider.client"}


def test_an_interrupted_demo_leaves_nothing(tmp_path: Path) -> None:
    """Neither processes nor files, also while its platform is still starting."""
    mark = f"DEMO_MARK={uuid.uuid4().hex}"
    name, _, value = mark.partition("=")
    demo = subprocess.Popen(
        [sys.executable, "-m", "provider.cli.main", "demo"],
        cwd=tmp_path,
        env={**os.environ, name: value},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=_hear_interrupts,
    )
    assert wait_until(lambda: len(marked(mark)) > 10, 60)
    demo.send_signal(signal.SIGINT)
    assert demo.wait(30) == 130
    assert not marked(mark)
    assert list((tmp_path / ".provider").iterdir()) == []


def _hear_interrupts() -> None:
    """A shell lets what it starts in the background ignore them, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("buyer", "pay_to"),
    [(900_000, 0), (950_000, 0), (950_000, 49_999), (900_000, 100_000)],
    ids=["charged twice", "lost on the way", "one unit short", "paid twice"],
)
def test_balances_that_do_not_add_up_fail_the_demo(buyer: int, pay_to: int) -> None:
    """Told, paid and earned must be one amount."""
    with pytest.raises(DemoFailed, match="do not add up"):
        check_balances(PAID, {"buyer": 1_000_000, "payTo": 0}, {"buyer": buyer, "payTo": pay_to})


def test_balances_that_add_up_pass() -> None:
    """The buyer's loss is the payee's gain is what was told."""
    check_balances(PAID, {"buyer": 1_000_000, "payTo": 5}, {"buyer": 950_000, "payTo": 50_005})


@pytest.mark.parametrize("width", [80, 100, 116])
def test_what_was_charged_is_never_cut_off(width: int) -> None:
    """Most terminals are 80 columns wide."""
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(
        act_table("A title", [Line("POST /run/x", "402", "x" * 60), Line("", "", "", 123_450)], width)
    )
    text = console.export_text()
    assert "nothing charged" in text
    assert "−0.012345 USDC" in text
