"""`python -m bench [--quick] [NAME …]`: run all measurements, or those named."""

import sys
from importlib import import_module

NAMES = ("calls", "jobs", "memory", "sweep", "reconcile", "store", "streams", "wakeup", "counts", "strangers")


def main(arguments: list[str]) -> None:
    quick = "--quick" in arguments
    names = [name for name in arguments if not name.startswith("-")] or NAMES
    for name in names:
        if name not in NAMES:
            raise SystemExit(f"no measurement {name!r}; there are {', '.join(NAMES)}")
        import_module(f"bench.{name}").run(quick)


if __name__ == "__main__":
    main(sys.argv[1:])
