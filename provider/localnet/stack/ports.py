"""The loopback ports of a local platform: a fixed pattern from one base, or whatever is free."""

import contextlib
import socket
from dataclasses import dataclass, fields

from provider.errors import ConfigurationError

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """One port for each server."""

    web: int
    chain: int
    chain_tls: int
    facilitator: int
    redis: int
    flower: int

    @classmethod
    def from_base(cls, base: int) -> "Ports":
        """Lay the ports out from the web server's; 0 takes free ones instead."""
        if base == 0:
            return cls.free()
        offsets = {"web": 0, "chain": 100, "chain_tls": 143, "facilitator": 200, "redis": 379, "flower": 555}
        return cls(**{name: base + offset for name, offset in offsets.items()})

    @classmethod
    def free(cls) -> "Ports":
        """Take free ports from the kernel, all held at once so that they differ."""
        with contextlib.ExitStack() as held:
            sockets = [held.enter_context(socket.socket()) for _ in fields(cls)]
            for one in sockets:
                one.bind((LOOPBACK, 0))
            ports = [one.getsockname()[1] for one in sockets]
        return cls(**dict(zip((f.name for f in fields(cls)), ports, strict=True)))

    def check_free(self) -> None:
        """Raise one ConfigurationError that names every port in use by another process."""
        taken = [(f.name, getattr(self, f.name)) for f in fields(self) if not is_free(getattr(self, f.name))]
        if taken:
            lines = [f"port {port} (for {name.replace('_', ' ')}) is taken" for name, port in taken]
            lines.append("`provider dev --port-base N` moves all ports, and N = 0 takes free ones")
            raise ConfigurationError(lines)


def is_free(port: int) -> bool:
    """Say whether this process could listen on a loopback port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True
