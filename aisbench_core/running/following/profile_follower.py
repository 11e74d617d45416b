"""The runs of one profile: each active one moves through its states, a step at a time."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from aisbench_core.base.errors import (
    AisbenchError,
    AuthFailed,
    CloudError,
    CloudUnavailable,
    ConfigError,
    DiskError,
    SpecError,
    StaleRun,
    WarehouseError,
    full_disks_named,
)
from aisbench_core.base.messages import Message, join_parts, message_of
from aisbench_core.model import Api, Event, JobStatus, Level, Run, RunState
from aisbench_core.running.collecting import Collecting
from aisbench_core.running.following.tasks import Tasks
from aisbench_core.running.steps import Steps, fail_run
from aisbench_core.store.ledger.database.clock import skew_message
from aisbench_core.store.run_folders.following import FollowedFolders

LOG = logging.getLogger(__name__)

POLLED = frozenset({RunState.QUEUED, RunState.RUNNING})
LONGEST_WAIT = 600.0
# Of the delay; more are centuries, and at last more than a number can hold.
MOST_DOUBLINGS = 30

INTERNAL = Message("internal error: the traceback is in the log file; the other runs go on")

STATES = {
    RunState(name): name
    for name in (
        Message("held"),
        *(Message("preparing"), Message("uploading"), Message("submitting"), Message("queued"), Message("running")),
        *(Message("stopping"), Message("collecting"), Message("completed"), Message("failed"), Message("stopped")),
    )
}


class ProfileFollower:
    """Starts one step of every due run of a profile per `tick`; steps of different runs run concurrently.

    It remembers what it did with runs and their files, so it must not outlive the time in which nobody else follows
    them. `who`: this process, in events."""

    def __init__(
        self, profile: str, steps: Steps, collecting: Collecting, folders: FollowedFolders, tasks: Tasks, who: Message
    ) -> None:
        self._profile, self._tasks, self._who = profile, tasks, who
        self._steps, self._collecting, self._folders = steps, collecting, folders
        self._settings, self._ledger, self._clock = steps.settings, steps.ledger, steps.clock
        self._polled_at: dict[Api, datetime] = {}
        # Moved to SUBMITTING by this process, so no other process can have created their job.
        self._submitted: set[str] = set()

    def tick(self, runs: Iterable[Run], now: datetime) -> None:
        """Start one step of every run that is due, and one list call for those whose jobs are."""
        by_list_call: dict[Api, list[Run]] = defaultdict(list)
        for run in runs:
            if not self._has_come(run, now):
                continue
            if run.state in POLLED:
                by_list_call[run.spec.api].append(run)
            else:
                # States that move many bytes have threads of their own.
                slow = {RunState.UPLOADING: self._tasks.uploading, RunState.COLLECTING: self._tasks.collecting}
                pool = slow.get(run.state, self._tasks.quick)
                self._tasks.start(self._profile, run.run_id, partial(self._advance_run, run), pool)
        for api, polled in by_list_call.items():
            last = self._polled_at.get(api)
            if last is None or abs(now - last) >= timedelta(seconds=self._settings.poll_seconds):
                self._polled_at[api] = now
                task = f"poll of {self._profile} by {api}"
                self._tasks.start(self._profile, task, partial(self._poll_runs, api, polled), self._tasks.quick)

    def _has_come(self, run: Run, now: datetime) -> bool:
        """Whether a step is due. A due time beyond the longest delay means that the clock has jumped back since."""
        if run.state is RunState.HELD:
            return run.next_step_at <= now
        longest = max(self._settings.retry_most_seconds, LONGEST_WAIT)
        return not timedelta() < run.next_step_at - now <= timedelta(seconds=longest)

    def _poll_runs(self, api: Api, runs: list[Run]) -> None:
        """One list call for all runs of an API, then one step for each of them."""
        try:
            training = self._steps.connect(self._profile, api).training
            statuses = training.status([run.job_id for run in runs], min(run.created_at for run in runs))
        except Exception as raised:
            error = raised if isinstance(raised, AisbenchError) else AisbenchError(INTERNAL)
            if error is not raised:
                LOG.exception("poll of %s: a bug", self._profile)
            for run in runs:
                self._delay_run(run, error)
            return
        for run in runs:
            step = partial(self._advance_run, run, statuses.get(run.job_id))
            self._tasks.start(self._profile, run.run_id, step, self._tasks.quick)

    def _advance_run(self, run: Run, status: JobStatus | None = None) -> None:
        """Execute the step of the run's state and store the outcome; `status` is the job's, if it was polled."""
        try:
            with self._steps.errors_masked(run), full_disks_named():
                after = self._folders.step(run, partial(self._execute_step, run, status))
        except StaleRun:
            return  # somebody else moved the run, and that counts
        except (CloudUnavailable, DiskError, WarehouseError) as error:
            self._delay_run(run, error)
        except AisbenchError as error:
            self._fail_run(run, error)
        except Exception:
            LOG.exception("run %s: a bug in state %s", run.run_id, run.state)
            self._fail_run(run, AisbenchError(INTERNAL))
        else:
            self._store_outcome(run, after)

    def _execute_step(self, run: Run, status: JobStatus | None) -> Run:
        if run.state in POLLED:
            return self._steps.poll(run, status)
        if run.state is RunState.COLLECTING:
            return self._collecting.collect(run, self._steps.folder(run))
        steps = {
            RunState.HELD: self._steps.expire,
            RunState.PREPARING: self._steps.prepare,
            RunState.UPLOADING: self._steps.upload,
            RunState.SUBMITTING: self._steps.submit,
            RunState.STOPPING: self._steps.stop,
        }
        return steps[run.state](run)

    def _store_outcome(self, before: Run, after: Run) -> None:
        """Store a step's outcome, unless somebody moved the run meanwhile: a person's Stop must win."""
        if after == before:
            return
        moved = after.state is not before.state
        now = self._clock()
        detail = after.detail
        if detail is not before.detail:
            detail = self._steps.mask_text(after, message_of(detail))
        after = replace(after, attempts=0, detail=detail, updated_at=now if moved else before.updated_at)
        if before.attempts and after.detail == before.detail:
            after = replace(after, detail="")
        event = None
        if moved:
            level = Level.ERROR if RunState.FAILED in (after.state, after.final_state) else Level.INFO
            event = Event(after.run_id, now, "follower", level, state_message(after), self._who)
        elif before.attempts:
            event = Event(after.run_id, now, "follower", Level.INFO, Message("continuing"), self._who)
        try:
            self._ledger.advance(before, after, event)
        except StaleRun:
            return
        if moved and before.state is RunState.PREPARING:
            self._note_skew(after, now)
        (self._submitted.add if after.state is RunState.SUBMITTING else self._submitted.discard)(after.run_id)
        if before.attempts:
            LOG.info("run %s: going on after %d failed attempts", before.run_id, before.attempts)

    def _note_skew(self, run: Run, now: datetime) -> None:
        """Of a run that begins, whose times would be wrong by this machine's clock, or are by two clocks."""
        for message in filter(None, self._iter_skews(run)):
            LOG.warning("run %s: %s", run.run_id, message)
            self._ledger.note(Event(run.run_id, now, "follower", Level.WARNING, message, self._who))

    def _iter_skews(self, run: Run) -> Iterator[Message | None]:
        yield skew_message(self._who, self._ledger.clock_ahead())
        with suppress(AisbenchError):  # keys that were removed just now; the next step says so
            cloud = self._steps.connect(run.profile, run.spec.api)
            region = Message("region {region}", region=cloud.profile.region)
            yield skew_message(self._who, cloud.clock_ahead() or timedelta(), region)

    def _delay_run(self, run: Run, error: AisbenchError) -> None:
        """Retry with exponential backoff; only the first failure becomes an event."""
        now = self._clock()
        doublings = min(run.attempts, MOST_DOUBLINGS)
        delay = min(self._settings.retry_first_seconds * 2.0**doublings, self._settings.retry_most_seconds)
        detail, attempts = self._steps.mask_text(run, error.sentence), run.attempts + 1
        after = replace(run, attempts=attempts, next_step_at=now + timedelta(seconds=delay), detail=detail)
        first = Event(run.run_id, now, "follower", Level.WARNING, after.explanation, self._who)
        try:
            self._ledger.advance(run, after, None if run.attempts else first)
        except StaleRun:
            return
        if not run.attempts:
            LOG.warning("run %s: %s", run.run_id, after.explanation)

    def _fail_run(self, run: Run, error: AisbenchError) -> None:
        """Fail a run whose error a retry does not fix, unless it must be kept alive."""
        if _stays_alive(run, error, run.run_id in self._submitted):
            self._delay_run(run, error)
        elif run.state is RunState.COLLECTING:
            self._store_outcome(
                run, run.to(RunState.FAILED, detail=error.sentence, ended_at=run.ended_at or self._clock())
            )
        else:
            self._store_outcome(run, fail_run(run, error.sentence))


def _stays_alive(run: Run, error: AisbenchError, submitted_here: bool) -> bool:
    """Whether to keep a run alive despite an error that does not pass by itself.

    `submitted_here`: this follower moved the run to its state. A job that may be running costs money while we cannot
    see it, and results can be fetched once keys and profile are right."""
    match run.state:
        case RunState.QUEUED | RunState.RUNNING:
            return True
        case RunState.STOPPING:
            return run.submitted_at is not None
        case RunState.SUBMITTING:  # an attempt whose response was lost, or that was killed, may have created a job
            return run.attempts > 0 or not submitted_here or not isinstance(error, CloudError)
        case RunState.COLLECTING:
            recoverable = CloudError if run.final_state is RunState.COMPLETED else AuthFailed
            return isinstance(error, (recoverable, ConfigError, SpecError))
        case _:
            return False


def state_message(run: Run) -> Message:
    """The new state and its reason. Who stopped a run is part of the earlier event, when collecting began."""
    state = STATES[run.state]
    return join_parts(": ", [state, run.detail]) if run.detail and run.state is not RunState.STOPPED else state
