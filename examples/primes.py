"""Does jobs of `primes` (examples/remote.py): provider remote-worker --exec "python3 examples/primes.py"."""

import json
import os
import sys
from pathlib import Path

BLOCK = 50_000


def main() -> None:
    """Read the input, work in blocks, say after each how far it is, print the output."""
    below = json.load(sys.stdin)["below"]
    context = json.loads(Path(os.environ["JOB_CONTEXT"]).read_text())
    so_far = context["cursors"].get("all", {"at": 2, "count": 0, "largest": 0})
    at, count, largest = so_far["at"], so_far["count"], so_far["largest"]
    with Path(os.environ["JOB_MESSAGES"]).open("a", buffering=1) as messages:
        while at < below:
            found = [number for number in range(at, min(at + BLOCK, below)) if is_prime(number)]
            at, count, largest = min(at + BLOCK, below), count + len(found), max([largest, *found])
            # A cursor as in remote-worker.mjs: either may go on where the other one died.
            cursor = {"at": at, "count": count, "largest": largest}
            print(json.dumps({"checkpoint": {"unit": "all", "cursor": cursor}}), file=messages)
            print(json.dumps({"progress": {"done": at, "total": below}}), file=messages)
    json.dump({"count": count, "largest": largest}, sys.stdout)


def is_prime(number: int) -> bool:
    """Try every divisor up to the root."""
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))


if __name__ == "__main__":
    main()
