"""Run a module under a wrong clock: `python -m tests.support.wrong_clock SECONDS_AHEAD MODULE …`."""

import datetime
import runpy
import sys
import time

_real = time.time


class _Wrong(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> "_Wrong":
        return cls.fromtimestamp(time.time(), tz)

    @classmethod
    def utcnow(cls) -> "_Wrong":
        return cls.now(datetime.UTC).replace(tzinfo=None)


def _set_clocks(seconds_ahead: float) -> None:
    time.time = lambda: _real() + seconds_ahead
    datetime.datetime = _Wrong  # type: ignore[misc]


if __name__ == "__main__":
    _set_clocks(float(sys.argv[1]))
    sys.argv = sys.argv[2:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
