"""Client of the worker gateway: claims, reports and announcements over HTTP (docs/remote-workers.md)."""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import requests

from provider.errors import PlatformRefused, PlatformUnreachable

ANSWER_SECONDS = 30.0
SILENCE_SECONDS = 75.0
"""A stream silent for so long is dead: the gateway sends a comment every 30 s."""
TOO_MANY_REQUESTS = 429

Job = dict[str, Any]
"""A claimed job; the names are those of the wire."""


class GatewayClient:
    """Sends requests with a token, from any thread. Each may raise PlatformUnreachable or PlatformRefused."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"}
        self._own = threading.local()

    def claim(self, services: Sequence[str]) -> Job | None:
        """Claim a job of these services, or of any allowed one; None when none waits."""
        job: Job | None = self._post("claims", {"services": list(services)}).get("job")
        return job

    def report(self, job: Job, action: str, **fields: Any) -> dict[str, Any]:
        """Report on a claimed job; returns the answer of the gateway."""
        return self._post(f"jobs/{job['id']}/{action}", {"lease": job["lease"], **fields})

    def announcements(self, services: Sequence[str]) -> Iterator[None]:
        """Yield whenever jobs may wait, until the connection ends."""
        asked = {"services": ",".join(services)} if services else {}
        try:
            with self._session.get(
                f"{self._url}/worker/events",
                params=asked,
                headers=self._headers,
                stream=True,
                timeout=(ANSWER_SECONDS, SILENCE_SECONDS),
            ) as answer:
                _check(answer)
                yield None  # Jobs may have come before the subscription.
                for line in answer.iter_lines(chunk_size=1):
                    if line.startswith(b"data:"):
                        yield None
        except requests.RequestException as error:
            raise PlatformUnreachable(type(error).__name__) from error

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            answer = self._session.post(
                f"{self._url}/worker/{path}", json=body, headers=self._headers, timeout=ANSWER_SECONDS
            )
            _check(answer)
            given: dict[str, Any] = answer.json()
        except requests.RequestException as error:
            raise PlatformUnreachable(type(error).__name__) from error
        return given

    @property
    def _session(self) -> requests.Session:
        """The connections of the calling thread."""
        if not hasattr(self._own, "session"):
            self._own.session = requests.Session()
        session: requests.Session = self._own.session
        return session


def _check(answer: requests.Response) -> None:
    """Raise PlatformRefused for an answer that will not change, PlatformUnreachable for one that may."""
    if answer.status_code >= requests.codes.server_error or answer.status_code == TOO_MANY_REQUESTS:
        raise PlatformUnreachable(f"status {answer.status_code}")
    if not answer.ok:
        raise PlatformRefused(_problem(answer), answer.status_code)


def _problem(answer: requests.Response) -> str:
    try:
        problem = answer.json()
        return f"{problem['code']}: {problem['detail']}"
    except (ValueError, KeyError, TypeError):
        return f"status {answer.status_code}"
