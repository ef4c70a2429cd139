"""Debian's nginx in front of a server, with nothing set but where to pass calls on to."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CONFIGURATION = """
daemon off;
pid {home}/pid;
error_log stderr;
events {{}}
http {{
  access_log off;
  client_body_temp_path {home}/body;
  proxy_temp_path {home}/proxy;
  fastcgi_temp_path {home}/fastcgi;
  uwsgi_temp_path {home}/uwsgi;
  scgi_temp_path {home}/scgi;
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass {upstream}; }}
  }}
}}
"""


def nginx_or_skip() -> str:
    """Find nginx; skip the test where it is missing; on a CI machine that is a failure."""
    found = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None and os.environ.get("CI"):
        pytest.fail("nginx is not installed, and CI must run this test (apt-get install nginx-light)")
    if found is None:
        pytest.skip("nginx is not installed (apt-get install nginx-light)")
    return found


@contextmanager
def running_nginx(home: Path, upstream: str) -> Iterator[str]:
    """Run nginx before a server, and give its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    file = home / "nginx.conf"
    file.write_text(CONFIGURATION.format(home=home, port=port, upstream=upstream))
    process = subprocess.Popen([nginx_or_skip(), "-p", str(home), "-c", str(file)])
    try:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=10)


def _wait_for(port: int) -> None:
    for _ in range(100):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise RuntimeError("nginx did not start")
