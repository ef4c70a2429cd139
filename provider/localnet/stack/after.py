"""Wait until loopback ports accept connections, then become a command: `after.py PORT… -- COMMAND…`.

Run by path and without site-packages, so it costs a few milliseconds. When a port stays closed the
command starts all the same and tells by itself what it misses.
"""

import os
import socket
import sys
import time

PATIENCE_SECONDS = 20
PAUSE_SECONDS = 0.05


def wait_for(port: int, deadline: float) -> None:
    """Return once the port accepts a connection or the deadline is over."""
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    split = sys.argv.index("--")
    until = time.monotonic() + PATIENCE_SECONDS
    for text in sys.argv[1:split]:
        wait_for(int(text), until)
    os.execvp(sys.argv[split + 1], sys.argv[split + 1 :])  # noqa: S606
