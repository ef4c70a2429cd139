"""A platform in the background: `provider dev` on free ports, its output in a file."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from provider.localnet.stack.children import begin_child

START_SECONDS = 105
STOP_SECONDS = 20
PAUSE_SECONDS = 0.1


class PlatformFailed(Exception):
    """The platform did not come up."""


@contextlib.contextmanager
def background_platform(
    home: Path,
    services: str,
    ledger_seconds: float = 1.0,
    on_end: Callable[[], object] = lambda: None,
) -> Iterator[dict[str, Any]]:
    """Run a platform in a data directory, give its description, and end it whatever happens.

    `on_end` is called before that, since ending takes some seconds.
    """
    command = [
        *(sys.executable, "-m", "provider.cli.main", "dev", "--port-base", "0"),
        *("--data-dir", str(home), "--ledger-seconds", str(ledger_seconds), "--services", services),
    ]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C is ours to handle.
            preexec_fn=begin_child,
        )
    try:
        yield _description(process, home)
    finally:
        on_end()
        _end(process)


def _description(process: "subprocess.Popen[bytes]", home: Path) -> dict[str, Any]:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(FileNotFoundError):
            description: dict[str, Any] = json.loads((home / "dev.json").read_text())
            return description
        time.sleep(PAUSE_SECONDS)
    last = (home / "log").read_text(errors="replace").splitlines()[-5:]
    raise PlatformFailed("\n".join(["The platform did not come up; its last lines:", *last]))


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ask for an orderly end; a platform killed after that still takes its processes along."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
