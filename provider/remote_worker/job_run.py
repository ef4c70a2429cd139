"""One claimed job, from its claim to its final report (§11).

While the platform is away the program goes on until the lease has run out by the local clock. From then on
another worker may run the job, and the result of this one is dropped (R1).
"""

import time
from collections.abc import Sequence
from typing import Any

import structlog

from provider.errors import PlatformRefused, PlatformUnreachable
from provider.remote_worker.gateway_client import GatewayClient, Job
from provider.remote_worker.program import MESSAGE_IGNORED, Ended, Event, Mark, Program, ProgressMessage
from provider.remote_worker.report import NO_REPORT, Report, report_end, report_failure

log = structlog.get_logger()

STARTED = "program_started"
ENDED = "job_ended"
DROPPED = "job_dropped"
UNREACHABLE = "platform_unreachable"

PROGRESS_SECONDS = 1.0
RETRY_SECONDS = 1.0
BUDGET_POLL_SECONDS = 0.1
MOST_MARKS = 1000
BODY_REFUSED = (400, 413)
"""Statuses by which the platform refuses a body."""


class JobRun:
    """Runs a program for a job. `run` and `stop` may be called from different threads."""

    def __init__(
        self,
        gateway: GatewayClient,
        command: Sequence[str],
        job: Job,
        *,
        claimed_at: float,
        grace_seconds: float,
    ) -> None:
        self._gateway = gateway
        self._command = command
        self._job = job
        self._grace_seconds = grace_seconds
        self._budget_ends_at: float = time.monotonic() + job["budgetSeconds"]
        self._marks: list[dict[str, Any]] = []
        self._batch = MOST_MARKS
        self._progress: dict[str, Any] | None = None
        self._progress_at = self._retry_at = 0.0
        self._stopping = False
        self._program: Program | None = None
        self._hold(claimed_at, job["leaseSeconds"])

    def run(self) -> None:
        """Run the program until the job has ended or its lease is lost."""
        log.info(STARTED, job_id=self._job["id"], attempt=self._job["attempt"])
        try:
            self._program = Program(self._command, self._job)
        except OSError as error:
            self._finish(report_failure("error", f"{self._command[0]}: {error.strerror}"))
            return
        try:
            report = self._watch(self._program)
        except BaseException:
            self._program.kill()
            raise
        self._finish(report)

    def stop(self) -> None:
        """End the program; report a result given within the grace, else hand the job back (C8)."""
        self._stopping = True
        if self._program is not None:
            self._program.interrupt()

    # While the program runs

    def _watch(self, program: Program) -> Report:
        """Serve the program until it ends or has to be ended; returns the final report."""
        while (report := self._report_due(time.monotonic())) is None:
            ended = self._take_events(program, self._next_due() - time.monotonic())
            if ended is not None:
                return report_end(ended)
        for event in program.end(self._grace_seconds):
            self._note(event)
            if isinstance(event, Ended) and self._stopping and event.status == 0:
                return report_end(event)  # It used the grace to finish.
        return report

    def _take_events(self, program: Program, seconds: float) -> Ended | None:
        """Wait for an event of the program, and take in all that have come by then."""
        if len(self._marks) >= MOST_MARKS:  # The program waits until these are reported.
            time.sleep(min(max(seconds, 0.0), RETRY_SECONDS))
            return None
        for _ in range(MOST_MARKS):
            event = program.next(seconds)
            if event is None or isinstance(event, Ended):
                return event
            self._note(event)
            seconds = 0.0
        return None

    def _note(self, event: Event) -> None:
        match event:
            case ProgressMessage(progress):
                self._progress = progress
            case Mark(checkpoint):
                self._marks.append(checkpoint)

    def _next_due(self) -> float:
        """Return when the next request is due, on the monotonic clock."""
        request_at = self._renew_at
        if self._marks:
            request_at = 0.0
        elif self._progress is not None:
            request_at = min(request_at, self._progress_at)
        return min(max(request_at, self._retry_at), self._budget_ends_at, self._lease_ends_at)

    def _report_due(self, now: float) -> Report | None:
        """Send what is due; returns the final report if the program has to be ended."""
        if self._stopping:
            return Report("release")
        if now >= self._lease_ends_at:
            return NO_REPORT
        if now >= self._budget_ends_at:
            return Report("renew")  # The platform knows the budget too, and fails the job with `timeout`.
        return self._send_update(now) if now >= self._next_due() else None

    def _send_update(self, now: float) -> Report | None:
        """Report checkpoints or progress, or renew the lease."""
        update = self._update(now)
        try:
            answer = self._send(update)
        except PlatformUnreachable as error:
            log.warning(UNREACHABLE, job_id=self._job["id"], detail=error.detail)
            self._retry_at = now + RETRY_SECONDS
            return None
        except PlatformRefused as error:
            return self._leave_out(update, error)
        if not answer["accepted"]:
            return NO_REPORT
        self._hold(now, answer["leaseSeconds"])
        return report_failure("error", "cancelled") if answer.get("cancel") else None

    def _leave_out(self, update: Report, refused: PlatformRefused) -> Report | None:
        """Leave out what the platform refuses; among many checkpoints it is found one by one."""
        if refused.answered not in BODY_REFUSED or update.action == "renew":
            return NO_REPORT
        was_alone = len(update.fields.get("checkpoints", ())) <= 1
        self._batch = 1
        if was_alone:
            log.warning(MESSAGE_IGNORED, job_id=self._job["id"], detail=refused.detail)
            self._mark_sent(update)
        return None

    def _update(self, now: float) -> Report:
        if self._marks:
            return Report("checkpoint", {"checkpoints": self._marks[: self._batch]})
        if self._progress is not None and now >= self._progress_at:
            return Report("progress", {"progress": self._progress})
        return Report("renew")

    def _send(self, report: Report) -> dict[str, Any]:
        """Send a report; what was acknowledged is not sent again."""
        answer = self._gateway.report(self._job, report.action, **report.fields)
        self._mark_sent(report)
        return answer

    def _mark_sent(self, report: Report) -> None:
        del self._marks[: len(report.fields.get("checkpoints", ()))]
        if "progress" in report.fields:
            self._progress, self._progress_at = None, time.monotonic() + PROGRESS_SECONDS

    def _hold(self, asked_at: float, lease_seconds: float) -> None:
        """Count a lease from before the request: it cannot end earlier than that."""
        self._lease_ends_at = asked_at + lease_seconds
        self._renew_at = asked_at + lease_seconds / 3

    # Its end

    def _finish(self, report: Report) -> None:
        """Retry the final report until it is acknowledged or the lease ends."""
        while report.action and time.monotonic() < self._lease_ends_at:
            try:
                answer = self._send_final(report)
            except PlatformUnreachable as error:
                log.warning(UNREACHABLE, job_id=self._job["id"], detail=error.detail)
                time.sleep(RETRY_SECONDS)
                continue
            except PlatformRefused as error:
                refused = self._refuses_output(report, error)
                report = report_failure("output_invalid", error.detail) if refused else NO_REPORT
                continue
            if report.action == "renew" and answer["accepted"]:  # The budget has not ended there yet.
                time.sleep(BUDGET_POLL_SECONDS)
                continue
            answered = {name: answer[name] for name in ("accepted", "reason", "detail") if name in answer}
            about = {name: report.fields[name] for name in ("class", "message") if name in report.fields}
            log.info(ENDED, job_id=self._job["id"], report=report.action, **about, **answered)
            return
        log.warning(DROPPED, job_id=self._job["id"])

    def _send_final(self, report: Report) -> dict[str, Any]:
        """Send the final report, and before it the checkpoints that another attempt would need."""
        while self._marks and report.action != "complete":
            self._send_checkpoints()
        if self._progress is not None and report.action in ("complete", "fail"):
            report = Report(report.action, {**report.fields, "progress": self._progress})
        return self._send(report)

    def _send_checkpoints(self) -> None:
        update = self._update(0.0)
        try:
            self._send(update)
        except PlatformRefused as error:
            if self._leave_out(update, error) is NO_REPORT:
                raise

    def _refuses_output(self, report: Report, error: PlatformRefused) -> bool:
        return report.action == "complete" and error.answered in BODY_REFUSED
