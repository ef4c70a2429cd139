"""The standard library is patched before anything keeps a copy of it (gunicorn itself imports ssl before)."""

import subprocess
import sys
from pathlib import Path

import requests

from tests.support.gunicorn import running_gunicorn
from tests.support.raw_http import answer, localhost_tls, raw_server

HEAVY = ("requests", "urllib3", "redis", "flask", "stellar_sdk", "prometheus_client", "celery")


def test_a_worker_waits_for_the_network_as_a_greenlet(tmp_path: Path) -> None:
    """Also inside TLS, where a context from before the patch would recurse for ever."""
    context, authority = localhost_tls(tmp_path)
    with raw_server(answer(200, {}), tls=context) as server:
        url = server.url.replace("http://127.0.0.1", "https://localhost")
        environment = {"TLS_URL": url, "TLS_CERTIFICATE": str(authority)}
        with running_gunicorn(environment, app="tests.support.patched_app:app") as web:
            found = requests.get(web, timeout=30).json()
    assert len(found) == 6
    assert all(found.values()), found


def test_the_master_process_loads_nothing_that_would_keep_a_copy() -> None:
    """It imports the configuration and the worker's class before the worker patches."""
    program = (
        "import sys, runpy; runpy.run_path('config/gunicorn.py'); import provider.web.server_worker; "
        f"print(*[name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
