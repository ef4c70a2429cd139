"""Look at real processes, through /proc, and find ports for them."""

import contextlib
import socket
import time
from collections.abc import Callable
from pathlib import Path


def wait_until(condition: Callable[[], object], seconds: float = 15) -> bool:
    """Ask again and again until the condition holds; False when it never did in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


def free_ports(count: int) -> list[int]:
    """Take free ports from the kernel, all held at once so that they differ."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(one.getsockname()[1]) for one in sockets]


def is_alive(pid: int) -> bool:
    """Say whether a process runs; one that only waits to be reaped does not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def family(root: int) -> set[int]:
    """Give the pids of a process and all its descendants."""
    parents = {pid: parent for pid, parent in map(_parent, _pids()) if parent is not None}
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def marked(text: str) -> set[int]:
    """Give the pids of all processes whose environment holds a text."""
    return {pid for pid in _pids() if text.encode() in _environment(pid) and is_alive(pid)}


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _parent(pid: int) -> tuple[int, int | None]:
    with contextlib.suppress(OSError):
        return pid, int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid, None


def _environment(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes()
    return b""
