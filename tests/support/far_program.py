"""A program for remote workers in tests; `do` in its input says how it behaves."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def tell(*messages: dict[str, Any]) -> None:
    """Tell all of it in one write."""
    with Path(os.environ["JOB_MESSAGES"]).open("a") as pipe:
        pipe.write("".join(json.dumps(message) + "\n" for message in messages))


def work(value: dict[str, Any], context: dict[str, Any]) -> Any:
    match value.get("do"):
        case "exit":
            sys.exit(value["status"])
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "say":
            sys.stdout.write(value["text"] * value.get("times", 1))
            sys.stdout.flush()
            os._exit(0)
        case "flood":
            for done in range(value["times"]):
                tell({"progress": {"done": done + 1, "total": value["times"]}})
            time.sleep(value.get("seconds", 0))
        case "units":
            marks = [{"unit": "a"}, {"unit": "x" * 1000}, {"unit": "b", "cursor": {"at": context["attempt"]}}]
            tell({"nonsense": 1}, *({"checkpoint": mark} for mark in marks))
            if context["attempt"] == 1:
                sys.exit(75)
        case "many":
            tell(*({"checkpoint": {"unit": f"u{number}"}} for number in range(value["units"])))
            sys.exit(75)
        case "hang":  # And let nobody end it easily; it tells something, but for "silent" ones.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            child = subprocess.Popen(SLEEP)
            Path(value["notes"]).write_text(f"{os.getpid()} {child.pid}")
            for done in range(1200):
                if not value.get("silent"):
                    tell({"progress": {"done": done}})
                time.sleep(0.05)
        case "wait":
            Path(value["notes"]).write_text(str(os.getpid()))
            while not Path(value["until"]).exists():
                time.sleep(0.02)
        case "tidy":  # Say at the end how far it is.
            signal.signal(signal.SIGTERM, lambda *_: (tell({"checkpoint": {"unit": "half"}}), sys.exit(1)))
            Path(value["notes"]).write_text(str(os.getpid()))
            time.sleep(60)
        case "finish":  # SIGTERM makes it finish at once.
            signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
            stopped: list[bool] = []
            Path(value["notes"]).write_text(str(os.getpid()))
            while not stopped:
                time.sleep(0.02)
    names = ("JOB_ID", "JOB_SERVICE", "JOB_ATTEMPT", "JOB_DEADLINE", "PROVIDER_WORKER_TOKEN")
    return {"context": context, "environment": {n: os.environ[n] for n in names if n in os.environ}}


if __name__ == "__main__":
    given = json.load(sys.stdin)
    json.dump(work(given, json.loads(Path(os.environ["JOB_CONTEXT"]).read_text())), sys.stdout)
