"""Queue `handle.<service>`: run the next jobs of a lane."""

from provider.jobs import keys
from tasks.app import app
from tasks.parts import runner


@app.task(name="tasks.handle.handle_job")
def handle_job(job_id: str) -> None:
    """Run the lane's next jobs; the one named is a hint (Q6)."""
    runner().run_lane(keys.split(job_id)[0])
