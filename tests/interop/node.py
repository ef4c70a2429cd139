"""Run the official npm packages in a network that has no outside.

Their client knows only the public test network, over https. The local chain answers in its place: it is their
HTTPS proxy, and ends their tunnels with a certificate of its own authority (facts B4.1 c).
"""

import fcntl
import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
NEWEST = HERE / "newest"
"""The packages of today, beside those of a year ago: `@x402/core` has learnt spend controls in between."""
SECONDS = 90


def node_or_skip() -> None:
    """Skip the test where Node is missing; on a CI machine that is a failure."""
    if shutil.which("node") and shutil.which("npm"):
        return
    if os.environ.get("CI"):
        pytest.fail("node and npm are not installed, and CI must run these tests")
    pytest.skip("node and npm are not installed")


def install(folder: Path = HERE) -> None:
    """Install the locked packages of a folder once, however many test runs want them now."""
    with (folder / ".install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "node_modules" / ".installed-lock.json"
        wanted = (folder / "package-lock.json").read_text()
        if not done.exists() or done.read_text() != wanted:
            subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=folder, check=True, timeout=600)
            done.write_text(wanted)


@dataclass
class Node:
    """Runs the scripts of this folder with the chain as their only network."""

    rpc_url: str
    ca_file: Path
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, script: str, *arguments: str, stdin: Any = None) -> Any:
        """Run a script and read the JSON it prints."""
        done = subprocess.run(
            ["node", str(HERE / script), *arguments],
            input=json.dumps(stdin),
            env={**os.environ, **self._network(), **self.environment},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def _network(self) -> dict[str, str]:
        local = "127.0.0.1,localhost"
        trusted = {"NODE_EXTRA_CA_CERTS": str(self.ca_file)}
        names = {
            "HTTPS_PROXY": self.rpc_url,
            "https_proxy": self.rpc_url,
            "NO_PROXY": local,
            "no_proxy": local,
        }
        return {**names, **trusted}
