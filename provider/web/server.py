"""How gunicorn serves the web process: `gunicorn -c python:provider.web.server provider.web.wsgi:app`."""

import math
import os
import resource
import tempfile
from typing import Any

from provider.logs import logging_config


def allow_files(count: int) -> int:
    """Let this process open so many files, as far as it may; give how many it can open then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY not in (soft, hard):
        soft = min(max(soft, count), hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return count if soft == resource.RLIM_INFINITY else soft


worker_class = "provider.web.server_worker.WebWorker"
workers = int(os.environ.get("WEB_PROCESSES", "1"))
# A platform that sets PORT routes to every interface; on a desk the service stays private.
bind = f"0.0.0.0:{os.environ['PORT']}" if "PORT" in os.environ else "127.0.0.1:8000"
backlog = 512
# Half as many other connections find room beside streams and held answers.
worker_connections = int(os.environ.get("WEB_STREAMS", "2000")) * 3 // 2 + 100
worker_connections = min(worker_connections, allow_files(worker_connections + 300) - 300)
# The head of a request has as long, from the connection or the answer before it; then its body has the rest.
keepalive = min(5, math.ceil(float(os.environ.get("WEB_READ_SECONDS", "20"))))
# Calls are held for up to 25 s (H3); a platform sends SIGKILL 30 s after SIGTERM.
graceful_timeout = 28
timeout = 60
# PAYMENT-SIGNATURE may have 16 KB (H2), twice that reaches the application, which answers with a problem.
limit_request_field_size = 32_768
limit_request_fields = 64
limit_request_line = 8_190  # GET calls carry their input in the query.
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108
control_socket_disable = True
# Gunicorn merges this into defaults of its own, whose loggers name handlers that ours replace.
logconfig_dict = {
    **logging_config(os.environ.get("LOG_LEVEL", "INFO")),
    "loggers": {"gunicorn.error": {"handlers": ["stderr"], "propagate": False}, "gunicorn.access": {}},
}

if workers > 1:
    # Each process counts its own requests; /metrics adds them up from files here.
    os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", tempfile.mkdtemp(prefix="provider-metrics-"))


def child_exit(server: Any, worker: Any) -> None:
    """Forget the gauges of a worker that ended."""
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        from prometheus_client import multiprocess

        multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
