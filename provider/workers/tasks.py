"""The tasks of the workers: each takes an id or nothing, and asks the domain what there is to do (C1)."""

from celery import Celery

from provider.broker.queues import HANDLE_JOB, RECONCILE, SETTLE_JOB, SWEEP
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

    @app.task(name=SWEEP)
    def sweep_jobs() -> None:
        """Look at every job that is due (§9)."""
        platform.sweep.run()

    @app.task(name=RECONCILE)
    def reconcile_jobs() -> None:
        """Decide uncertain payments from the chain (§10)."""
        if platform.reconciler is not None:
            platform.reconciler.run()
