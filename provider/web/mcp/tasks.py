"""Jobs as tasks (extension `io.modelcontextprotocol/tasks`, SEP-2663)."""

from contextlib import suppress
from typing import Any

from provider.errors import CancelRefused, JobNotFound
from provider.jobs.model.status import Status
from provider.web.mcp.protocol import INVALID_PARAMS, MISSING_CAPABILITY, TASKS, ProtocolFault, Question
from provider.web.mcp.results import job_result, task_of
from provider.web.parts import parts
from provider.web.views import View


def get_task(question: Question) -> dict[str, Any]:
    """Show a task; a finished one carries the result that its call would have had."""
    view = _view(question)
    task = task_of(view, parts().store)
    if view.job.is_final and view.job.status is not Status.CANCELLED:
        task["result"] = {**job_result(view), "resultType": "complete"}
    return task


def update_task(question: Question) -> dict[str, Any]:
    """Acknowledge: no job asks its buyer for anything."""
    _view(question)
    return {}


def cancel_task(question: Question) -> dict[str, Any]:
    """Ask for a cancel; a job that cannot be cancelled goes on, and tasks/get shows it."""
    job_id = _view(question).job.id
    with suppress(CancelRefused):
        parts().canceller.cancel(job_id, by_payer=True)
    return {}


def _view(question: Question) -> View:
    if not question.takes_tasks:
        data: dict[str, Any] = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        raise ProtocolFault(MISSING_CAPABILITY, f"The client has to declare {TASKS}.", 400, data)
    try:
        return parts().views.get(question.text("taskId"))
    except JobNotFound as error:
        raise ProtocolFault(INVALID_PARAMS, error.detail) from None
