"""Debian's Chromium without a window, driven by its own DevTools protocol over a pair of pipes."""

import base64
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--no-first-run", "--no-proxy-server", "--disable-background-networking", "--disable-component-update",
    "--disable-extensions", "--mute-audio", "--remote-debugging-pipe",
]  # fmt: skip
SECONDS = 60


def chromium_or_skip() -> str:
    """Find the browser; skip the test where it is missing; on a CI machine that is a failure."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and os.environ.get("CI"):
        pytest.fail("chromium is not installed, and CI must run this test (apt-get install chromium)")
    if found is None:
        pytest.skip("chromium is not installed (apt-get install chromium)")
    return found


class Browser:
    """One page of a running browser."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._ids = itertools.count(1)
        self._rest = b""
        self._session: str | None = None
        self.complaints: list[str] = []
        """What scripts threw and what the page's policy forbade."""

    def open(self, url: str, *, scripts: bool = True, width: int = 760, height: int = 560) -> None:
        """Show a page in a tab of its own."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url=url)

    def text(self) -> str:
        """Read what a person sees."""
        return str(self.evaluate("document.body ? document.body.innerText : ''"))

    def evaluate(self, expression: str) -> Any:
        """Evaluate an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    def wait_for(self, expression: str, seconds: float = 20) -> None:
        """Wait until an expression holds in the page."""
        ends_at = time.monotonic() + seconds
        while not self.evaluate(expression):
            assert time.monotonic() < ends_at, f"{expression} does not hold in:\n{self.text()}"
            time.sleep(0.05)

    def screenshot(self, path: Path) -> None:
        """Keep a picture of the whole page."""
        path.parent.mkdir(parents=True, exist_ok=True)
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(picture))

    def call(self, method: str, **params: Any) -> Any:
        """Call a method of the protocol and wait for its result."""
        number = next(self._ids)
        session = {"sessionId": self._session} if self._session and not method.startswith("Target.") else {}
        message = json.dumps({"id": number, "method": method, "params": params, **session})
        os.write(self._to, message.encode() + b"\0")
        while True:
            told = self._read()
            if told.get("id") == number:
                assert "error" not in told, told
                return told["result"]
            self._note(told)

    def _read(self) -> Any:
        while b"\0" not in self._rest:
            more = os.read(self._from, 1 << 20)
            assert more, "the browser ended"
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)

    def _note(self, told: Any) -> None:
        if told.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(told["params"]["exceptionDetails"].get("text", "an exception"))
        elif told.get("method") == "Log.entryAdded" and told["params"]["entry"]["level"] == "error":
            self.complaints.append(told["params"]["entry"]["text"])


@contextmanager
def running_chromium() -> Iterator[Browser]:
    """Run a browser with nothing in it; skip the test where there is none."""
    command = chromium_or_skip()
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as home:
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{from_write}', "bash", command, *FLAGS]
            + [f"--user-data-dir={home}", "about:blank"],
            pass_fds=(to_read, from_write),
            env={**os.environ, "HOME": home},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(from_write)
        try:
            yield Browser(to_write, from_read)
        finally:
            process.terminate()
            process.wait(timeout=SECONDS)
            os.close(to_write)
            os.close(from_read)
