"""One job in the hands of this worker, from its claim to its end (§11).

While the platform is away the program works on, until the lease has run out by our own clock: from then on
somebody else may do the job, and what ours does is worth nothing (R1).
"""

import time
from collections.abc import Sequence
from typing import Any

import structlog

from provider.errors import PlatformRefused, PlatformUnreachable
from provider.remote_worker.platform import Job, Platform
from provider.remote_worker.program import MESSAGE_IGNORED, Ended, Mark, Program, Progress
from provider.remote_worker.words import NOTHING, Word, conclusion, failure

log = structlog.get_logger()

STARTED = "program_started"
ENDED = "job_ended"
DROPPED = "job_dropped"
UNREACHABLE = "platform_unreachable"

PROGRESS_SECONDS = 1.0
RETRY_SECONDS = 1.0
MOMENT_SECONDS = 0.1
MOST_MARKS = 1000
UNFIT = (400, 413)
"""What the platform answers to a body that it cannot take."""


class Errand:
    """Has a program do a job. `run` and `stop` may be called in different threads."""

    def __init__(
        self, platform: Platform, command: Sequence[str], job: Job, *, claimed_at: float, grace_seconds: float
    ) -> None:
        self._platform = platform
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
        """Work until the job is done, or not ours any more."""
        log.info(STARTED, job_id=self._job["id"], attempt=self._job["attempt"])
        try:
            self._program = Program(self._command, self._job)
        except OSError as error:
            self._finish(failure("error", f"{self._command[0]}: {error.strerror}"))
            return
        try:
            word = self._watch(self._program)
        except BaseException:
            self._program.kill()
            raise
        self._finish(word)

    def stop(self) -> None:
        """Hand the job back, as soon as its program has ended (C8)."""
        self._stopping = True
        if self._program is not None:
            self._program.interrupt()

    # While the program runs

    def _watch(self, program: Program) -> Word:
        """Serve the program until it ends or has to, and give the last word on the job."""
        while (word := self._due_word(time.monotonic())) is None:
            ended = self._hear(program, self._next_due() - time.monotonic())
            if ended is not None:
                return conclusion(ended)
        for event in program.end(self._grace_seconds):
            self._note(event)
        return word

    def _hear(self, program: Program, seconds: float) -> Ended | None:
        """Wait for what the program tells, and take in all that it has told by then."""
        if len(self._marks) >= MOST_MARKS:  # It waits until the platform has heard those.
            time.sleep(min(max(seconds, 0.0), RETRY_SECONDS))
            return None
        for _ in range(MOST_MARKS):
            event = program.next(seconds)
            if event is None or isinstance(event, Ended):
                return event
            self._note(event)
            seconds = 0.0
        return None

    def _note(self, event: Progress | Mark | Ended) -> None:
        match event:
            case Progress(progress):
                self._progress = progress
            case Mark(checkpoint):
                self._marks.append(checkpoint)

    def _next_due(self) -> float:
        """Tell when there is something to do, on the monotonic clock."""
        talk_at = self._renew_at
        if self._marks:
            talk_at = 0.0
        elif self._progress is not None:
            talk_at = min(talk_at, self._progress_at)
        return min(max(talk_at, self._retry_at), self._budget_ends_at, self._lease_ends_at)

    def _due_word(self, now: float) -> Word | None:
        """Do what is due, and give the last word if the program has to end."""
        if self._stopping:
            return Word("release")
        if now >= self._lease_ends_at:
            return NOTHING
        if now >= self._budget_ends_at:
            return Word("renew")  # The platform knows too, and fails the job with `timeout`.
        return self._talk(now) if now >= self._next_due() else None

    def _talk(self, now: float) -> Word | None:
        """Tell what is new, or at least that we are still there."""
        word = self._news(now)
        try:
            answer = self._tell(word)
        except PlatformUnreachable as error:
            log.warning(UNREACHABLE, job_id=self._job["id"], detail=error.detail)
            self._retry_at = now + RETRY_SECONDS
            return None
        except PlatformRefused as error:
            return self._forgo(word, error)
        if not answer["accepted"]:
            return NOTHING
        self._hold(now, answer["leaseSeconds"])
        return failure("error", "cancelled") if answer.get("cancel") else None

    def _forgo(self, word: Word, refused: PlatformRefused) -> Word | None:
        """Leave out what the platform cannot take; of many checkpoints that is found one by one."""
        if refused.answered not in UNFIT or word.what == "renew":
            return NOTHING
        was_alone = len(word.said.get("checkpoints", ())) <= 1
        self._batch = 1
        if was_alone:
            log.warning(MESSAGE_IGNORED, job_id=self._job["id"], detail=refused.detail)
            self._has_told(word)
        return None

    def _news(self, now: float) -> Word:
        if self._marks:
            return Word("checkpoint", {"checkpoints": self._marks[: self._batch]})
        if self._progress is not None and now >= self._progress_at:
            return Word("progress", {"progress": self._progress})
        return Word("renew")

    def _tell(self, word: Word) -> dict[str, Any]:
        """Tell the platform something; what it has heard is not told again."""
        answer = self._platform.tell(self._job, word.what, **word.said)
        self._has_told(word)
        return answer

    def _has_told(self, word: Word) -> None:
        del self._marks[: len(word.said.get("checkpoints", ()))]
        if "progress" in word.said:
            self._progress, self._progress_at = None, time.monotonic() + PROGRESS_SECONDS

    def _hold(self, asked_at: float, lease_seconds: float) -> None:
        """Count a lease from before it was asked for: it cannot end sooner than we think."""
        self._lease_ends_at = asked_at + lease_seconds
        self._renew_at = asked_at + lease_seconds / 3

    # Its end

    def _finish(self, word: Word) -> None:
        """Say the last word until it is heard, or the lease is over."""
        while word.what and time.monotonic() < self._lease_ends_at:
            try:
                answer = self._say(word)
            except PlatformUnreachable as error:
                log.warning(UNREACHABLE, job_id=self._job["id"], detail=error.detail)
                time.sleep(RETRY_SECONDS)
                continue
            except PlatformRefused as error:
                word = failure("output_invalid", error.detail) if self._is_unfit(word, error) else NOTHING
                continue
            if word.what == "renew" and answer["accepted"]:  # Its budget has a moment left.
                time.sleep(MOMENT_SECONDS)
                continue
            told = {name: answer[name] for name in ("accepted", "reason", "detail") if name in answer}
            about = {name: word.said[name] for name in ("class", "message") if name in word.said}
            log.info(ENDED, job_id=self._job["id"], word=word.what, **about, **told)
            return
        log.warning(DROPPED, job_id=self._job["id"])

    def _say(self, word: Word) -> dict[str, Any]:
        """Say the last word, and before it what an attempt after this one has to know."""
        while self._marks and word.what != "complete":
            self._tell_marks()
        if self._progress is not None and word.what in ("complete", "fail"):
            word = Word(word.what, {**word.said, "progress": self._progress})
        return self._tell(word)

    def _tell_marks(self) -> None:
        marks = self._news(0.0)
        try:
            self._tell(marks)
        except PlatformRefused as error:
            if self._forgo(marks, error) is NOTHING:
                raise

    def _is_unfit(self, word: Word, error: PlatformRefused) -> bool:
        return word.what == "complete" and error.answered in UNFIT
