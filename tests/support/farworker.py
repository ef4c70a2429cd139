"""A remote worker by hand: the requests that one makes, one at a time."""

from dataclasses import dataclass
from typing import Any

from flask.testing import FlaskClient

Job = dict[str, Any]


@dataclass
class FarWorker:
    """Calls the gateway with a token."""

    client: FlaskClient
    token: str

    def post(self, path: str, body: Any = None) -> Any:
        """Make a request, and give the whole answer."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return self.client.post(f"/worker/{path}", headers=headers, json={} if body is None else body)

    def claim(self, *services: str) -> Job | None:
        """Claim a job of these services, or of any; None when that is declined."""
        answer = self.post("claims", {"services": list(services)})
        assert answer.status_code == 200, answer.text
        job: Job | None = answer.json.get("job")
        assert job is not None or answer.json == {"declined": "none-available"}
        return job

    def tell(self, job: Job, what: str, **said: Any) -> dict[str, Any]:
        """Say something about a job that is, or was, in these hands."""
        answer = self.post(f"jobs/{job['id']}/{what}", {"lease": job["lease"], **said})
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json
        return told
