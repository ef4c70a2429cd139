"""Serve a facilitator: in a thread for tests and `provider dev`, or with gunicorn for the command line."""

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from gunicorn.app.base import BaseApplication
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from provider.facilitator.app import create_app
from provider.facilitator.config import FacilitatorConfig
from provider.facilitator.facilitator import Facilitator

STOP_SECONDS = 1
THREADS = 128
"""Requests at once; a `/settle` holds its thread until the ledger closes."""


class FacilitatorServer:
    """A facilitator in threads of this process. Port 0 takes a free one."""

    def __init__(
        self, config: FacilitatorConfig, host: str = "127.0.0.1", port: int = 0, *, api_key: str = ""
    ) -> None:
        self.facilitator = Facilitator(config)
        app = create_app(self.facilitator, api_key=api_key)
        self._server: BaseWSGIServer = make_server(host, port, app, threaded=True, request_handler=_Quiet)
        self._host = host

    @property
    def url(self) -> str:
        return f"http://{self._host}:{self._server.server_port}"

    def start(self) -> "FacilitatorServer":
        threading.Thread(
            target=self._server.serve_forever, args=(0.02,), name="facilitator", daemon=True
        ).start()
        return self

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.facilitator.close()

    def __enter__(self) -> "FacilitatorServer":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _Quiet(WSGIRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Write no access log; the proxy in front has one."""


class _Gunicorn(BaseApplication):  # type: ignore[misc]
    """One worker process: the accounts and their sequence numbers have one owner."""

    def __init__(
        self, config: FacilitatorConfig, bind: str, api_key: str, when_ready: Callable[[int], None]
    ) -> None:
        self._facilitator_config, self._bind, self._api_key = config, bind, api_key
        self._when_ready = when_ready
        super().__init__()

    def load_config(self) -> None:
        settings: dict[str, Any] = {
            "bind": self._bind,
            "workers": 1,
            "worker_class": "gthread",
            "threads": THREADS,
            "graceful_timeout": STOP_SECONDS,
            "loglevel": "warning",
            "proc_name": "provider-facilitator",
            "control_socket_disable": True,
            # A kept connection may be closed just as a /settle is sent into it: an unknown outcome.
            "keepalive": 0,
            "post_worker_init": lambda worker: self._when_ready(worker.sockets[0].getsockname()[1]),
        }
        for name, value in settings.items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> Any:
        """Runs in the worker, after the fork: threads and files are not shared with the master."""
        facilitator = Facilitator(self._facilitator_config)
        _answer_before_the_end(facilitator)
        return create_app(facilitator, api_key=self._api_key)


def _answer_before_the_end(facilitator: Facilitator) -> None:
    """Answer calls that wait for a settlement with `settlement_pending` instead of a broken connection."""
    theirs = signal.getsignal(signal.SIGTERM)

    def end(number: int, frame: FrameType | None) -> None:
        facilitator.stop_waiting()
        if callable(theirs):
            theirs(number, frame)

    signal.signal(signal.SIGTERM, end)


def serve(
    config: FacilitatorConfig, host: str, port: int, *, api_key: str = "", when_ready: Callable[[int], None]
) -> None:
    """Serve until a signal comes; `when_ready` gets the port once requests are answered."""
    _Gunicorn(config, f"{host}:{port}", api_key, when_ready).run()
