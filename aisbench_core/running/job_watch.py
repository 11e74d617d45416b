"""What the platform says about a run's job, polled while it lives and stored in the run's folder as job.json.

Each poll replaces the events from a little before the last known one on, so that none is stored twice after a kill."""

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pydantic import TypeAdapter, ValidationError

from aisbench_core.base.errors import CloudError, CloudRejected, CloudUnavailable, ResultError
from aisbench_core.base.messages import make_verbatim
from aisbench_core.base.private_files import write_whole
from aisbench_core.cloud.ports import TrainingService
from aisbench_core.config.job_secrets import mask_secrets
from aisbench_core.domain.logs.lines import is_system
from aisbench_core.domain.results.record import get_inner_path, make_damage_error
from aisbench_core.model import (
    ENDED_PHASES,
    DiagnosedFault,
    EventLanguage,
    JobDetails,
    JobDiagnosis,
    JobEvent,
    JobStage,
    JobStatus,
    JobTask,
    Phase,
    QueuePosition,
    RunAttempt,
    StageStep,
)
from aisbench_core.running import logs
from aisbench_core.store.run_folders.run_paths import RunFolder

# Events have whole seconds, and nodes send theirs with a delay.
OVERLAP = timedelta(minutes=1)
# A long queue moves every few seconds for days: the first place and the latest ones tell enough.
MOST_POSITIONS = 20

LAST_LINES = 8
LINE_LETTERS = 240
SEARCHED_LINES = 2000

# Where the log of each attempt begins: jobs go on writing to the same log.
_BEGINNING = re.compile(r"^\[ModelArts Service Log\]\[init\] download code_url")
# Training guide 4.3, and the examples of the API reference.
_EXIT = re.compile(r"^\[(?P<task>[\w-]+)\].*(?:\bexit code|退出码)\s*(?P<code>\d+)", re.IGNORECASE)
_WAITING = frozenset({Phase.CREATING, Phase.PENDING})
_FAILED = ENDED_PHASES - {Phase.COMPLETED, Phase.TERMINATED}
_DETAILS = TypeAdapter(JobDetails)


def read_details(folder: RunFolder) -> JobDetails:
    """What is known of the run's job; empty before the first poll. Raises ResultError when the file is damaged."""
    if not folder.job.exists():
        return JobDetails()
    try:
        return _DETAILS.validate_json(folder.job.read_bytes())
    except (OSError, ValidationError) as error:
        raise make_damage_error(get_inner_path(folder.job), error) from error


def write_details(details: JobDetails, folder: RunFolder) -> None:
    """Replace what is stored, in one step."""
    write_whole(folder.job, _DETAILS.dump_json(details, indent=1))


@dataclass(frozen=True, slots=True)
class JobWatch:
    """Polls one job. `pool_id`: the pool whose queue it may wait in. `secrets`: values to be masked.

    `fetch_logs` brings the logs up to date; it is called when an attempt has ended."""

    training: TrainingService
    folder: RunFolder
    pool_id: str
    secrets: Collection[str]
    fetch_logs: Callable[[], object]
    now: datetime

    def poll(self, status: JobStatus) -> JobDetails:
        """Store what is new; what the cloud refuses or fails to give now is left as it was, for the next poll."""
        before = after = self.read_stored()
        try:
            since = before.events[-1].at - OVERLAP if before.events else None
            after = self._with_events(before, status, since)
        except CloudUnavailable:
            return before  # the other requests would wait for the same service
        except CloudError:
            pass
        is_quiet = after.events == before.events and status.phase not in _WAITING
        if not (is_quiet and after.stages and after.stages[-1].is_running):
            after = self._with_stages(after, status)
        return self._store_details(before, self._with_attempts(self._with_queue(after, status), status))

    def complete(self, status: JobStatus) -> JobDetails:
        """The same once more for a job that has ended, with all its events. Raises CloudError if they are refused."""
        before = self.read_stored()
        after = self._with_attempts(self._with_stages(before, status), status)
        after = self._with_diagnosis(after, status)
        self._store_details(before, after)
        return self._store_details(after, self._with_attempts(self._with_events(after, status, None), status))

    def read_stored(self) -> JobDetails:
        """What earlier polls stored."""
        with suppress(ResultError):  # a damaged file is replaced by what the cloud still has
            return read_details(self.folder)
        return JobDetails()

    def _store_details(self, before: JobDetails, after: JobDetails) -> JobDetails:
        if after != before:
            write_details(after, self.folder)
        return after

    def _with_events(self, details: JobDetails, status: JobStatus, since: datetime | None) -> JobDetails:
        english = self._fetch_events(status.job_id, since, EventLanguage.ENGLISH)
        if not english:
            return details
        first = since or english[0].at  # what the cloud has forgotten stays here
        earlier = [event for event in details.events if event.at < first]
        known = details.events[len(earlier) :]
        masked_english = [self._masked_event(event) for event in english]
        if all(event.chinese for event in known) and masked_english == _without_chinese(known, english):
            return details
        chinese = self._fetch_events(status.job_id, since, EventLanguage.CHINESE)
        both = (self._masked_event(event) for event in _pair_events(english, chinese))
        return replace(details, events=(*earlier, *both))

    def _fetch_events(self, job_id: str, since: datetime | None, language: EventLanguage) -> list[JobEvent]:
        """The events from a time on, also in regions that do not accept such a time, or ignore it."""
        if since is None:
            return list(self.training.events(job_id, None, language))
        try:
            events = self.training.events(job_id, since, language)
        except CloudRejected:
            events = self.training.events(job_id, None, language)
        return [event for event in events if event.at >= since]

    def _with_stages(self, details: JobDetails, status: JobStatus) -> JobDetails:
        with suppress(CloudError):
            stages = tuple(map(self._masked_stage, self.training.stages(status.job_id)))
            return replace(details, stages=stages or details.stages)
        return details

    def _with_queue(self, details: JobDetails, status: JobStatus) -> JobDetails:
        """Its place among the jobs that wait in its pool; of a job that runs, the last one stays."""
        if not self.pool_id or status.phase not in _WAITING:
            return details
        with suppress(CloudError):
            waiting = self.training.list_waiting(self.pool_id) or ()
            position = next((index for index, job in enumerate(waiting, start=1) if job.name == status.name), 0)
            last = details.queue[-1] if details.queue else None
            if position and (last is None or (last.position, last.waiting) != (position, len(waiting))):
                queue = (*details.queue, QueuePosition(self.now, position, len(waiting)))
                return replace(details, queue=queue if len(queue) <= MOST_POSITIONS else (queue[0], *queue[2:]))
        return details

    def _with_attempts(self, details: JobDetails, status: JobStatus) -> JobDetails:
        """The cloud's attempts, with what is known here: their nodes and, once they have ended, their last words."""
        known = {attempt.number: attempt for attempt in details.attempts}
        attempts = tuple(self._merge_attempt(attempt, known.get(attempt.number), status) for attempt in status.attempts)
        if any(attempt.ended_at and not _has_ended(known.get(attempt.number)) for attempt in attempts):
            with suppress(CloudError):
                self.fetch_logs()
        attempts = tuple(
            self._with_end(attempt, details, status) if attempt.ended_at else attempt for attempt in attempts
        )
        return replace(details, attempts=attempts or details.attempts)

    def _merge_attempt(self, attempt: RunAttempt, known: RunAttempt | None, status: JobStatus) -> RunAttempt:
        tasks = known.tasks if known else ()
        if not tasks:
            with suppress(CloudError):
                tasks = tuple(self.training.tasks(status.job_id, attempt.number))
        if attempt.number == len(status.attempts):  # the exit codes are those of the last attempt
            ends = {end.task: end for end in status.task_statuses}
            tasks = tuple(
                replace(task, exit_code=ends[task.task].exit_code, message=self._mask_text(ends[task.task].message))
                if task.task in ends
                else task
                for task in tasks
            )
        words = known.last_words if known else ()
        return replace(attempt, reason=self._mask_text(attempt.reason), tasks=tasks, last_words=words)

    def _with_end(self, attempt: RunAttempt, details: JobDetails, status: JobStatus) -> RunAttempt:
        later = len(status.attempts) - attempt.number
        words = attempt.last_words
        # The log may arrive late, also after the next attempt has begun; of an old attempt its tail shows ever less.
        if later <= 1 and not (status.succeeded and not later):
            latest = self._last_words(attempt, later)
            words = latest if len(latest) >= len(words) else words
        events = _events_of(details.events, attempt)
        wrong = [event.message for event in events if event.level in ("Error", "Warning")]
        tasks = tuple(_with_exit_code(task, events) for task in attempt.tasks)
        return replace(attempt, tasks=tasks, last_words=words, last_event=wrong[-1] if wrong else "")

    def _last_words(self, attempt: RunAttempt, later: int) -> tuple[str, ...]:
        """The end of the node's log as it was before the `later` attempts, without the platform's own lines.

        Empty if the log does not show where they begin."""
        node = int(attempt.task.rpartition("-")[2]) if re.fullmatch(r"\S+-\d+", attempt.task) else 0
        lines = logs.read_tail(self.folder.log(node), SEARCHED_LINES).splitlines()
        beginnings = [number for number, line in enumerate(lines) if _BEGINNING.search(line)]
        if later > len(beginnings):
            return ()
        own = lines[: beginnings[-later]] if later else lines
        own = own[beginnings[-later - 1] :] if later < len(beginnings) else own
        written = [line.rstrip()[:LINE_LETTERS] for line in own if line.strip() and not is_system(line)]
        return tuple(written[-LAST_LINES:])

    def _with_diagnosis(self, details: JobDetails, status: JobStatus) -> JobDetails:
        """What the platform found in the log of a failed job; what it found before stays if it says nothing now."""
        if status.phase not in _FAILED:
            return details
        with suppress(CloudError):
            found = self.training.diagnosis(status.job_id)
            return replace(details, diagnosis=self._masked_diagnosis(found)) if found else details
        return details

    def _masked_diagnosis(self, found: JobDiagnosis) -> JobDiagnosis:
        faults = (
            DiagnosedFault(
                self._mask_text(fault.code),
                tuple((self._mask_text(name), self._mask_text(text)) for name, text in fault.facts),
                tuple(map(self._mask_text, fault.sources)),
            )
            for fault in found.faults
        )
        return replace(found, faults=tuple(faults))

    def _mask_text(self, text: str) -> str:
        return str(mask_secrets(make_verbatim(text), self.secrets)) if text else text

    def _masked_event(self, event: JobEvent) -> JobEvent:
        return replace(event, message=self._mask_text(event.message), chinese=self._mask_text(event.chinese))

    def _masked_stage(self, stage: JobStage) -> JobStage:
        steps = (
            StageStep(step.at, self._mask_text(step.english), self._mask_text(step.chinese)) for step in stage.steps
        )
        return replace(stage, steps=tuple(steps))


def _pair_events(english: Sequence[JobEvent], chinese: Sequence[JobEvent]) -> list[JobEvent]:
    """The events with their Chinese messages; without them if another event came between the two requests."""
    if [event.at for event in english] != [event.at for event in chinese[: len(english)]]:
        return list(english)
    # The manual has the Chinese sentences only, so a hang is recognised by either.
    return [
        replace(one, chinese=other.message, kind=one.kind or other.kind)
        for one, other in zip(english, chinese, strict=False)
    ]


def _without_chinese(known: Sequence[JobEvent], english: Sequence[JobEvent]) -> list[JobEvent]:
    """The known events as the English reply has them; their kind may come from the Chinese one."""
    if len(known) != len(english):
        return []
    return [replace(event, chinese="", kind=other.kind) for event, other in zip(known, english, strict=True)]


def _has_ended(attempt: RunAttempt | None) -> bool:
    return attempt is not None and attempt.ended_at is not None


def _events_of(events: Sequence[JobEvent], attempt: RunAttempt) -> list[JobEvent]:
    """The events between the attempt's start and its end, if it has ended."""
    if attempt.ended_at is None:
        return [event for event in events if attempt.started_at <= event.at]
    until = attempt.ended_at + timedelta(seconds=1)  # records have whole seconds
    return [event for event in events if attempt.started_at <= event.at <= until]


def _with_exit_code(task: JobTask, events: Sequence[JobEvent]) -> JobTask:
    """The task with the exit code that an event tells; a job's status has those of its last attempt only."""
    if task.exit_code is not None:
        return task
    ends = [end for event in events if (end := _EXIT.search(event.message)) and end["task"] == task.task]
    return replace(task, exit_code=int(ends[-1]["code"])) if ends else task
