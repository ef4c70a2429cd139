"""The local chain as a server, for the command line and for embedding in tests."""

from __future__ import annotations

import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from provider.localnet.chain import ca
from provider.localnet.chain.admin import Admin
from provider.localnet.chain.faults import Faults
from provider.localnet.chain.handler import Listener
from provider.localnet.chain.rpc import Rpc
from provider.localnet.chain.state import ChainState

POLL_SECONDS = 0.02


class ChainServer:
    """Serves a chain over HTTP, over HTTPS and as the end of CONNECT tunnels.

    Port 0 takes a free one; `tls_port` None leaves HTTPS out. Certificates go to `data_dir`, or to a
    temporary directory that `stop` removes. Raises OSError when a port is taken.
    """

    def __init__(
        self,
        state: ChainState | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        tls_port: int | None = 0,
        data_dir: Path | None = None,
        faults: Faults | None = None,
    ) -> None:
        self.state, self.faults = state or ChainState(), faults or Faults()
        self.host, self._stopping, self._cleanup = host, threading.Event(), ExitStack()
        if data_dir is None:
            data_dir = Path(self._cleanup.enter_context(tempfile.TemporaryDirectory(prefix="chain-")))
        with ExitStack() as undo:
            undo.callback(self._cleanup.close)
            certificates = ca.ensure(data_dir)
            self.ca_file = certificates.ca_file
            tls, admin = certificates.server_context(), Admin(self.state, self.faults)
            rpc = Rpc(self.state, self.faults, pause=self._pause)
            self._plain = Listener((host, port), rpc, admin, tls, encrypted=False)
            undo.callback(self._plain.server_close)
            self._encrypted = None
            if tls_port is not None:
                self._encrypted = Listener((host, tls_port), rpc, admin, tls, encrypted=True)
            undo.pop_all()

    @property
    def url(self) -> str:
        return f"http://{self._reachable}:{self._plain.server_port}"

    @property
    def tls_url(self) -> str:
        if self._encrypted is None:
            raise RuntimeError("this chain has no TLS port")
        return f"https://{self._reachable}:{self._encrypted.server_port}"

    @property
    def _reachable(self) -> str:
        """Where to connect to: a server on all addresses is reached on the loopback one."""
        return "127.0.0.1" if self.host in ("", "0.0.0.0") else self.host

    @property
    def _listeners(self) -> list[Listener]:
        return [self._plain] + ([self._encrypted] if self._encrypted else [])

    def start(self) -> ChainServer:
        for listener in self._listeners:
            threading.Thread(
                target=listener.serve_forever, args=(POLL_SECONDS,), name="chain", daemon=True
            ).start()
        return self

    def stop(self) -> None:
        """Stop at once: kept-alive connections are closed, then the answers that were still waiting end."""
        if self._stopping.is_set():
            return
        for listener in self._listeners:
            listener.shutdown()
            listener.server_close()
            listener.hang_up()
        self._stopping.set()
        self._cleanup.close()

    def _pause(self, seconds: float) -> None:
        self._stopping.wait(seconds)

    def __enter__(self) -> ChainServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
