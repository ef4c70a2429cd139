"""Queue `handle.<service>`: run the next jobs of a lane."""

from provider.jobs.store import keys
from provider.platform import runner
from provider.workers.celery import app


@app.task(name="tasks.handle.handle_job")
def handle_job(job_id: str) -> None:
    """Run the lane's next jobs; the one named is a hint (Q6)."""
    runner().run_lane(keys.split(job_id)[0])
