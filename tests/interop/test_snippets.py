"""What docs/buying.md tells buyers to write works as it stands, against the whole platform."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.interop.node import NEWEST, Node, install, node_or_skip

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PAGE = Path(__file__).parents[2] / "docs" / "buying.md"
PRELUDE = """
import os
from stellar_sdk import Keypair
keypair = Keypair.from_secret(os.environ["BUYER_SECRET"])
"""


def blocks(language: str, platform: dict[str, Any]) -> list[str]:
    """Give the code blocks of the page, for this platform's addresses; `qr-code` takes a text, too."""
    found = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.S)
    service = f"{platform['web_url']}/run/qr-code"
    return [
        block.replace("https://seller.example/run/word-count", service).replace(
            "https://soroban-testnet.stellar.org", platform["rpc_url"]
        )
        for block in found
    ]


def run_python(program: str, platform: dict[str, Any], folder: Path) -> str:
    environment = {**os.environ, "BUYER_SECRET": platform["buyer_secret"]}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_python_block_of_the_page_is_run_below(platform: dict[str, Any]) -> None:
    assert len(blocks("python", platform)) == 6


def test_the_buyer_buys_as_the_page_says(platform: dict[str, Any], tmp_path: Path) -> None:
    """The blocks of the first part build on each other."""
    pytest.importorskip("httpx")
    program = PRELUDE + "\n".join(blocks("python", platform)[:4])
    printed = run_python(program, platform, tmp_path)
    assert printed.count("'width'") == 4
    assert "Receipt(network='stellar:testnet'" in printed
    assert len((tmp_path / "payments.jsonl").read_text().splitlines()) == 5 * 3


@pytest.mark.parametrize("number", [4, 5], ids=["requests", "httpx"])
def test_the_x402_package_buys_as_the_page_says(
    platform: dict[str, Any], tmp_path: Path, number: int
) -> None:
    pytest.importorskip("x402")
    printed = run_python(PRELUDE + blocks("python", platform)[number], platform, tmp_path)
    assert "'status': 'succeeded'" in printed


def test_the_newest_npm_packages_buy_as_the_page_says(platform: dict[str, Any]) -> None:
    """Without `allowedAssets` they refuse every offer, see the test below."""
    assert run_node(blocks("js", platform)[0], platform)["status"] == "succeeded"


def test_without_allowed_assets_the_newest_npm_packages_refuse_to_pay(platform: dict[str, Any]) -> None:
    """Once this fails, the page has a line too many."""
    block = re.sub(r"\n *\.setSpendControls\(\{.*?\}\)(?=;)", "", blocks("js", platform)[0], flags=re.S)
    with pytest.raises(AssertionError, match="rejected by spendControls"):
        run_node(block, platform)


def run_node(block: str, platform: dict[str, Any]) -> Any:
    node_or_skip()
    install(NEWEST)
    script = NEWEST / f"snippet-{os.getpid()}.mjs"
    script.write_text(block)
    node = Node(platform["rpc_url"], Path(platform["ca_file"]), {"BUYER_SECRET": platform["buyer_secret"]})
    try:
        return node.run(str(script))
    finally:
        script.unlink()
