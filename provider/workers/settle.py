"""Queue `settle.<service>`: ask the facilitator, once a claim."""

from provider.platform import settler
from provider.workers.celery import app


@app.task(name="tasks.settle.settle_job")
def settle_job(job_id: str) -> None:
    """Settle a job's payment if that is still to be done (S4)."""
    settler().settle(job_id)
