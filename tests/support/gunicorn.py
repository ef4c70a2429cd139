"""The web process as it is deployed: gunicorn with our configuration, on a free port."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import requests


@contextmanager
def running_gunicorn(
    environment: Mapping[str, str], seconds: float = 30, app: str = "provider.web.wsgi:app"
) -> Iterator[str]:
    """Run an application with this environment added, and give its URL."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "gunicorn", "-c", "config/gunicorn.py", app]
    process = subprocess.Popen(command, env={**os.environ, **environment, "PORT": str(port)})
    try:
        _wait_for(f"{url}/healthz", process, seconds)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait_for(url: str, process: "subprocess.Popen[bytes]", seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(requests.RequestException):
            if requests.get(url, timeout=5).ok:
                return
        time.sleep(0.05)
    raise RuntimeError(f"gunicorn did not answer on {url}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
