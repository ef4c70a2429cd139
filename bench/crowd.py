"""`python -m bench.crowd PORT COUNT stream|wait`: clients that wait for jobs, until their input ends.

The ids of the jobs come on standard input, one a line, then an empty line. Prints `open` once all wait.
"""

import resource
import selectors
import socket
import sys
import time


def main(port: int, count: int, kind: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, count + 100), hard), hard))
    ids = list(iter(sys.stdin.readline, "\n"))
    selector = selectors.DefaultSelector()
    for number in range(count):
        selector.register(_ask(port, ids[number % len(ids)].strip(), kind), selectors.EVENT_READ)
    selector.register(sys.stdin, selectors.EVENT_READ, "input")
    heard, is_open, settled_at = 0, False, time.monotonic() + 2
    while True:
        for key, _ in selector.select(0.5):
            if key.data == "input":
                print(heard, flush=True)
                return
            data = key.fileobj.recv(65536)  # type: ignore[union-attr]
            heard += data.count(b"\nevent: ") + data.count(b"HTTP/1.1 ") * (kind == "wait")
            if not data:
                selector.unregister(key.fileobj)
        if not is_open and time.monotonic() > settled_at:
            is_open = True
            print("open", flush=True)


def _ask(port: int, job_id: str, kind: str) -> socket.socket:
    path = f"/jobs/{job_id}/events" if kind == "stream" else f"/jobs/{job_id}"
    more = "" if kind == "stream" else "Prefer: wait=120\r\n"
    client = socket.create_connection(("127.0.0.1", port), timeout=30)
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{more}\r\n".encode())
    client.setblocking(False)
    return client


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
