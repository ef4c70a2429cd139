"""What gunicorn's worker has patched when it loads an application: `tests.support.patched_app:app`.

Asks an HTTPS server (`TLS_URL`, certificate in `TLS_CERTIFICATE`) over both ways of the facilitator's client.
"""

import json
import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from typing import Any

import gevent.socket
import gevent.ssl
import urllib3.util.ssl_

from provider import bounded_http
from provider.payments import transport
from provider.payments.kept import KeptConnections


def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({**patched(), **asked()}).encode()]


def patched() -> dict[str, bool]:
    return {
        "socket": socket.socket is gevent.socket.socket,
        "ssl": ssl.SSLContext is gevent.ssl.SSLContext,
        "urllib3": urllib3.util.ssl_.SSLContext is gevent.ssl.SSLContext,
        "threading": "gevent" in type(threading.Event()).__module__,
    }


def asked() -> dict[str, bool]:
    url, certificate = os.environ["TLS_URL"], os.environ["TLS_CERTIFICATE"]
    bounded_http.DEFAULT_CA_BUNDLE_PATH = certificate
    with bounded_http.new_session({}) as session:
        session.verify = certificate
        over_session = transport.call(session, "GET", url, seconds=10)
    kept = KeptConnections(url, {}).call("GET", "/", b"", seconds=10)
    return {"session": over_session.status == 200, "kept": kept.status == 200}
