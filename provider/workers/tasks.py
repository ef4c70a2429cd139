"""The tasks of the workers: each takes an id or nothing, and asks the domain what there is to do (C1)."""

from typing import Any

from celery import Celery

from provider.broker.queues import HANDLE_JOB, RECONCILE, ROUND, SETTLE_JOB, SWEEP
from provider.jobs.model.job_id import service_of
from provider.platform import Platform


def add_tasks(app: Celery, platform: Platform) -> None:
    """Register the tasks of all queues. The platform's objects are made by the first task that needs them."""

    @app.task(name=HANDLE_JOB)
    def handle_job(job_id: str) -> None:
        """Run the next jobs of a lane; the job named is a hint (Q6)."""
        platform.runner.run_lane(service_of(job_id))

    @app.task(name=SETTLE_JOB)
    def settle_job(job_id: str) -> None:
        """Settle a job's payment if that is still to be done (S4)."""
        platform.settler.settle(job_id)

    @app.task(name=SWEEP, bind=True)
    def sweep_jobs(self: Any) -> None:
        """Look at every job that is due (§9)."""
        if is_wanted("sweep", self.request):
            platform.sweep.run()

    @app.task(name=RECONCILE, bind=True)
    def reconcile_jobs(self: Any) -> None:
        """Decide uncertain payments from the chain (§10)."""
        if platform.reconciler is not None and is_wanted("reconcile", self.request):
            platform.reconciler.run()

    def is_wanted(entry: str, request: Any) -> bool:
        """Return whether a message asks for a run that has not been made; one without a round does.

        So messages that piled up while no worker ran are one run, and no clock decides which are too old.
        """
        number = (request.headers or {}).get(ROUND)
        return number is None or platform.rounds.run(entry, int(number))
