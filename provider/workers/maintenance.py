"""Queue `maintenance`: what beat asks for every few seconds. Late, doubled or lost runs harm nobody (C3)."""

from celery.signals import worker_ready

from provider.broker.options import SWEEP
from provider.platform import reconciler, sweep
from provider.workers.celery import app


@app.task(name="tasks.maintenance.sweep")
def sweep_jobs() -> None:
    """Look at every job that is due (§9)."""
    sweep().run()


@app.task(name="tasks.maintenance.reconcile")
def reconcile_jobs() -> None:
    """Decide uncertain payments from the chain (§10)."""
    if (decider := reconciler()) is not None:
        decider.run()


@worker_ready.connect
def _sweep_at_start(**_: object) -> None:
    app.send_task(SWEEP, ignore_result=True, retry=False)
