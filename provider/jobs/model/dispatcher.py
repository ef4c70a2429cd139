"""What the domain asks of the message queue: two wake-ups, each a hint (C1)."""

from typing import Protocol


class Dispatcher(Protocol):
    """Publishes wake-ups. It never raises: a lost message is the sweep's business (C1)."""

    def handle(self, job_id: str) -> None:
        """Wake the lane of a job: a worker leases the lane's next job, perhaps another one (Q6)."""
        ...

    def settle(self, job_id: str) -> None:
        """Have a job's payment settled."""
        ...
