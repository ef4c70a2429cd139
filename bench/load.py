"""A load generator: prepared requests over keep-alive connections, as fast as they are answered."""

import socket
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: how long it took, each call's seconds, each status' count, what the server computed."""

    seconds: float
    latencies: tuple[float, ...]
    statuses: Counter[int]
    processor_seconds: float = 0.0

    @property
    def per_second(self) -> float:
        return len(self.latencies) / self.seconds

    @property
    def processor_ms(self) -> float:
        return self.processor_seconds / len(self.latencies) * 1000

    def percentile_ms(self, percent: int) -> float:
        """Give the latency that so many percent of the calls kept below."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] * 1000


def together(rounds: list[Measured]) -> Measured:
    """Add several runs up."""
    seconds = sum(one.seconds for one in rounds)
    latencies = tuple(latency for one in rounds for latency in one.latencies)
    statuses = sum((one.statuses for one in rounds), Counter())
    return Measured(seconds, latencies, statuses, sum(one.processor_seconds for one in rounds))


def request_bytes(path: str, headers: dict[str, str], body: bytes) -> bytes:
    """Spell a POST request."""
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def fire(port: int, requests: list[bytes], *, connections: int, most_seconds: float) -> Measured:
    """Send each request once, over so many connections at a time, until all are answered or time is up."""
    queue = deque(requests)
    latencies: list[float] = []
    statuses: Counter[int] = Counter()
    lock = threading.Lock()
    start = threading.Barrier(connections + 1)
    ends_at = [0.0]

    def work() -> None:
        mine: list[float] = []
        connection = _Connection(port)
        start.wait()
        while time.perf_counter() < ends_at[0]:
            try:
                request = queue.popleft()
            except IndexError:
                break
            began = time.perf_counter()
            status = connection.send(request)
            mine.append(time.perf_counter() - began)
            with lock:
                statuses[status] += 1
        connection.close()
        with lock:
            latencies.extend(mine)

    threads = [threading.Thread(target=work) for _ in range(connections)]
    for thread in threads:
        thread.start()
    ends_at[0] = time.perf_counter() + most_seconds
    began = time.perf_counter()
    start.wait()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    return Measured(seconds, tuple(latencies), statuses)


class _Connection:
    """A keep-alive connection that reads just enough of an answer to find its end."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None
        self._rest = b""

    def send(self, request: bytes) -> int:
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=120)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._rest = b""
        self._socket.sendall(request)
        data = self._rest
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += self._more()
        head = data[:end].lower()
        if b"content-length:" in head:
            length = int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
            while len(data) < end + 4 + length:
                data += self._more()
        else:  # Chunked; one answer is under way at a time, so the last chunk ends the data.
            while not data.endswith(b"0\r\n\r\n"):
                data += self._more()
            length = len(data) - end - 4
        self._rest = data[end + 4 + length :]
        if b"connection: close" in head:
            self.close()
        return int(head[9:12])

    def _more(self) -> bytes:
        assert self._socket is not None
        more = self._socket.recv(65536)
        if not more:
            raise ConnectionError("the server closed the connection")
        return more

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
