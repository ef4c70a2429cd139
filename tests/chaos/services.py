"""What the chaos tests sell: handlers that note each start, and how many of the lane ran beside them."""

import fcntl
import os
import time
from pathlib import Path
from typing import Any

from provider.services import ChargePolicy, Context, Registry, Service, TransientError
from tests.chaos import crashing

NOTES = "CHAOS_NOTES"
"""Environment variable: the directory in which handlers leave notes."""


def work(value: dict[str, Any], context: Context) -> Any:
    """Work for longer than a lease is renewed; fail, or never end, as the input says."""
    mark = _note_start(context.job_id)
    context.checkpoint("first")
    while value.get("loop"):
        pass
    time.sleep(value.get("seconds", 0.45))
    mark.unlink(missing_ok=True)
    if value.get("fail") == "always":
        raise RuntimeError
    if value.get("fail") == "once" and context.attempt == 1:
        raise TransientError
    return {"done": True}


def _note_start(job_id: str) -> Path:
    """Note down the start, and count those of the lane that run and live."""
    notes, lane = Path(os.environ[NOTES]), job_id.rpartition(".")[0]
    with (notes / "starts").open("a") as starts:
        fcntl.flock(starts, fcntl.LOCK_EX)
        mark = notes / f"{lane}@{os.getpid()}"
        mark.touch()
        beside = [_is_alive(path) for path in notes.glob(f"{lane}@*")].count(True)
        starts.write(f"{job_id} {beside}\n")
    return mark


def _is_alive(mark: Path) -> bool:
    try:
        return (
            Path(f"/proc/{mark.name.partition('@')[2]}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        )
    except OSError:
        return False


def _sell(name: str, charge: ChargePolicy, **limits: Any) -> None:
    registry.add(
        Service(
            name=name,
            description="Works for half a second.",
            price="0.05",
            charge=charge,
            handler=work,
            input_schema={"type": "object"},
            output_schema={"type": "object"},
            example_input={},
            example_output={},
            timeout_seconds=20,
            concurrency=1,
            expected_seconds=0.5,
            max_retries=1,
            **limits,
        )
    )


registry = Registry()
_sell("after", ChargePolicy.ON_SUCCESS)
_sell("before", ChargePolicy.UPFRONT)
_sell("unserved", ChargePolicy.ON_SUCCESS, max_timeout_seconds=40)
crashing.install()
