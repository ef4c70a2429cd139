"""A relay before Redis that can fall silent, like a router that forgot a connection, or lose an answer."""

import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field


@dataclass
class Relay:
    """Passes on what either side sends; a connection that is `silent` stays open and loses everything."""

    target: str
    listener: socket.socket
    silent: set[int] = field(default_factory=set)
    cut: set[int] = field(default_factory=set)
    opened: int = 0
    loses_the_answer_to: bytes = b""
    """Part of a request: Redis gets the next one that holds it, and the connection ends before its answer."""

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.listener.getsockname()[1]}"

    def silence(self) -> None:
        """Lose, from now on, whatever is sent on the connections there are; new ones work."""
        self.silent |= set(range(self.opened))

    def run(self) -> None:
        """Serve until the listener is closed."""
        with suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self.target)
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(self.opened, *ends), daemon=True).start()
                self.opened += 1

    def _pass_on(self, number: int, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError), source, target:
            while data := source.recv(65_536):
                if number in self.cut:
                    return
                if self.loses_the_answer_to and self.loses_the_answer_to in data:
                    self.loses_the_answer_to = b""
                    self.cut.add(number)
                if number not in self.silent:
                    target.sendall(data)


def start_relay(target: str) -> Relay:
    """Relay to a unix socket for the rest of the session; subscriptions outlive their tests."""
    relay = Relay(target, socket.create_server(("127.0.0.1", 0)))
    threading.Thread(target=relay.run, daemon=True).start()
    return relay
