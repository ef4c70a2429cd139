"""The buyer's package is light: it needs neither the platform nor much time."""

import json
import subprocess
import sys

PROGRAM = """
import json, sys, time
began = time.process_time()
import stellar_sdk
sdk = time.process_time() - began
import provider.client
whole = time.process_time() - began
print(json.dumps({"more": whole - sdk, "modules": sorted(sys.modules)}))
"""
TRIES = 3
HEAVY = {"celery", "kombu", "flask", "redis", "gunicorn", "gevent", "environs", "httpx", "x402", "jsonschema"}


def imported() -> dict[str, object]:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_importing_the_client_takes_half_a_second_more_than_the_sdk_at_most() -> None:
    """Of processor time, the best of some tries: other processes of the machine are not what is measured."""
    assert min(float(str(imported()["more"])) for _ in range(TRIES)) <= 0.5


def test_importing_the_client_imports_nothing_of_the_platform() -> None:
    modules = imported()["modules"]
    assert isinstance(modules, list)
    assert {name.partition(".")[0] for name in modules} & HEAVY == set()
    platform = ("provider.web", "provider.jobs", "provider.workers", "provider.services", "provider.settings")
    assert [name for name in modules if name.startswith(platform)] == []
