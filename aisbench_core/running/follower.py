"""The follower: one process moves every active run through its states; another takes over if it dies."""

import getpass
import logging
import os
import socket
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from time import monotonic

from aisbench_core.authoring.workloads import Workloads
from aisbench_core.cloud.ports import Connect
from aisbench_core.errors import (
    AisbenchError,
    AuthFailed,
    CloudError,
    CloudUnavailable,
    ConfigError,
    DamagedLedger,
    DiskError,
    SpecError,
    StaleRun,
    WarehouseError,
    full_disks_named,
)
from aisbench_core.job_secrets import JobSecrets
from aisbench_core.messages import Message, joined, message_of
from aisbench_core.model import Api, Clock, Event, JobStatus, Level, Run, RunRecord, RunState
from aisbench_core.private_files import is_read_only
from aisbench_core.progress.watch import ProgressWatch
from aisbench_core.running.collecting import Collecting
from aisbench_core.running.ledger import Ledger
from aisbench_core.running.ledger_watches import WatchLedger
from aisbench_core.running.logs import LogPace
from aisbench_core.running.publishing.folders import RunFolders
from aisbench_core.running.publishing.following import FollowedFolders
from aisbench_core.running.run_paths import RunFolder
from aisbench_core.running.runs import Launches
from aisbench_core.running.stall_guard import StallGuard
from aisbench_core.running.steps import Steps, failed
from aisbench_core.running.stores.connection import Leader
from aisbench_core.settings import Settings

LOG = logging.getLogger(__name__)

POLLED = frozenset({RunState.QUEUED, RunState.RUNNING})
# States that move many bytes; they have threads of their own, so that no stop waits for an upload.
SLOW = frozenset({RunState.UPLOADING, RunState.COLLECTING})

BEAT_SECONDS = 1.0
LONGEST_WAIT = 600.0
# Of the delay; more are centuries, and at last more than a number can hold.
MOST_DOUBLINGS = 30

LOCK_SECONDS = 0.5

# From one look for new events in event files to the next, in polls of jobs: curves need not grow as quickly as logs.
SUMMARIES_POLLS = 3
# The longest pause of event files that do not grow, or that there are none of.
SUMMARIES_QUIET_SECONDS = 900.0

INTERNAL = Message("internal error: the traceback is in the log file; the other runs go on")

STATES = {
    RunState(name): name
    for name in (
        Message("held"),
        *(Message("preparing"), Message("uploading"), Message("submitting"), Message("queued"), Message("running")),
        *(Message("stopping"), Message("collecting"), Message("completed"), Message("failed"), Message("stopped")),
    )
}


@dataclass(frozen=True, slots=True)
class Following:
    """What every follower of this data folder is made of.

    `record` stores an ended run; `admission` gives a function that launches the next cells of series; `schedule`
    launches series whose time has come; `notify` sends the next notification. `diagnose`: as in
    Collecting; `slow_share`: as in Steps."""

    settings: Settings
    ledger: Ledger
    watches: WatchLedger
    workloads: Workloads
    launches: Launches
    folders: RunFolders
    secrets: JobSecrets
    connect: Connect
    record: Callable[[RunRecord], None]
    admission: Callable[[], Callable[[], None]]
    schedule: Callable[[], None]
    notify: Callable[[], None]
    diagnose: Callable[[RunFolder], None]
    slow_share: Callable[[], float | None]
    clock: Clock

    def follower(self, leaving: threading.Event | None = None) -> "Follower":
        """A follower of all runs. `leaving`: set it to let a long upload end early."""
        # A damaged ledger admits no launch, so no folder is left over; the next follower clears them.
        with suppress(DamagedLedger):
            self.launches.clear()
        return Follower(self, leaving or threading.Event())

    @contextmanager
    def in_background(self) -> Iterator[None]:
        """Follow in a thread for as long as this lasts, whenever no other process does."""
        stop = threading.Event()
        thread = threading.Thread(target=self.follower(stop).run_forever, args=(stop,), name="follower", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


class Follower:
    """Starts one step of every due run per `tick`; steps of different runs run concurrently."""

    def __init__(self, parts: Following, leaving: threading.Event) -> None:
        self._parts, self._leaving = parts, leaving
        settings, ledger, connect, clock = parts.settings, parts.ledger, parts.connect, parts.clock
        self._settings = settings
        self._ledger = ledger
        self._connect = connect
        self._clock = clock
        # Half of the time between two polls, which are never exactly that far apart.
        paces = LogPace(settings.poll_seconds), LogPace(settings.poll_seconds / 2)
        summaries = LogPace(SUMMARIES_POLLS * settings.poll_seconds, SUMMARIES_QUIET_SECONDS)
        guard, progress = StallGuard(parts.watches, parts.workloads), ProgressWatch(parts.workloads)
        self._steps = Steps(
            settings, ledger, parts.workloads, connect, clock, parts.secrets, leaving, progress, *paces, summaries,
            guard, parts.slow_share,
        )  # fmt: skip
        self._collecting = Collecting(
            settings, ledger, connect, parts.record, clock, parts.secrets, progress, parts.diagnose
        )
        self._folders = FollowedFolders(parts.folders)
        self._admit = parts.admission()
        self._schedule = parts.schedule
        self._notify = parts.notify
        user, host = getpass.getuser(), socket.gethostname()
        self._who = Message("{user}@{host} (process {process})", user=user, host=host, process=os.getpid())
        self._pool = ThreadPoolExecutor(settings.follower_threads, "step")
        self._slow_pool = ThreadPoolExecutor(settings.follower_threads, "slow-step")
        # Of its own: a receiver that does not answer takes a thread for seconds.
        self._notifying = ThreadPoolExecutor(1, "notify")
        self._guard = threading.Lock()
        self._busy: set[str] = set()
        self._futures: set[Future[None]] = set()
        self._polled_at: dict[tuple[str, Api], datetime] = {}
        # Moved to SUBMITTING by this process, so no other process can have created their job.
        self._submitted: set[str] = set()
        self._beaten: datetime | None = None
        self._last_error = ""

    def run_forever(self, stop: threading.Event) -> None:
        """Follow until `stop` is set. Waits while another process follows, or while the data folder is read-only."""
        leader, follower = self._ledger.leader(self._settings.follower_lock), self
        while not stop.is_set():
            if is_read_only(self._settings.data_dir):
                stop.wait(LOCK_SECONDS)
                continue
            started = monotonic()
            if not leader.acquire(LOCK_SECONDS):
                stop.wait(started + LOCK_SECONDS - monotonic())
                continue
            try:
                follower._follow(stop, leader)
            finally:
                leader.release()
            # Others may follow from now on: what this one remembers of runs and their files may not hold any more.
            follower = Follower(self._parts, self._leaving)

    def tick(self) -> None:
        """Start one step of every due run, and one list call for every profile whose jobs are due."""
        now = self._clock()
        if self._beaten is None or abs(now - self._beaten) >= timedelta(seconds=BEAT_SECONDS):
            self._ledger.beat(self._who, now)
            self._beaten = now
        self._start("schedules", self._schedule, self._pool)
        self._start("series", self._admit, self._pool)
        self._start("notifications", self._notify, self._notifying)
        with self._guard:
            # Copied before the ledger is read: a step that ends in between has already changed its run.
            busy = set(self._busy)
        due = [run for run in self._ledger.active() if run.run_id not in busy and self._has_come(run, now)]
        by_list_call: dict[tuple[str, Api], list[Run]] = defaultdict(list)
        for run in due:
            if run.state in POLLED:
                by_list_call[run.profile, run.spec.api].append(run)
            else:
                pool = self._slow_pool if run.state in SLOW else self._pool
                self._start(run.run_id, partial(self._advance, run), pool)
        for key, runs in by_list_call.items():
            last = self._polled_at.get(key)
            if last is None or abs(now - last) >= timedelta(seconds=self._settings.poll_seconds):
                self._polled_at[key] = now
                self._start(f"poll of {' by '.join(key)}", partial(self._poll, *key, runs), self._pool)

    def settle(self) -> None:
        """Wait until all started steps have ended."""
        while True:
            with self._guard:
                started = set(self._futures)
            if not started:
                return
            wait(started)

    def _follow(self, stop: threading.Event, leader: Leader) -> None:
        LOG.info("%s follows", self._who)
        while not stop.is_set() and leader.is_leading():
            self._tick_safely()
            stop.wait(self._settings.tick_seconds)
        self.settle()  # nobody else is let in before no step of ours is running
        for pool in (self._pool, self._slow_pool, self._notifying):
            pool.shutdown()

    def _tick_safely(self) -> None:
        """One tick; an error is logged once, and the next tick tries again."""
        try:
            self.tick()
        except Exception as error:
            if str(error) != self._last_error:
                bug = None if isinstance(error, AisbenchError) else error
                LOG.error("cannot follow: %s", error, exc_info=bug)  # noqa: TRY400  # ours need no traceback
            self._last_error = str(error)
        else:
            if self._last_error:
                LOG.info("following again")
            self._last_error = ""

    def _has_come(self, run: Run, now: datetime) -> bool:
        """Whether a step is due. A due time beyond the longest delay means that the clock has jumped back since."""
        if run.state is RunState.HELD:
            return run.next_step_at <= now
        longest = max(self._settings.retry_most_seconds, LONGEST_WAIT)
        return not timedelta() < run.next_step_at - now <= timedelta(seconds=longest)

    def _start(self, task: str, work: Callable[[], None], pool: ThreadPoolExecutor) -> None:
        """Run the work in a thread, unless the same task is still running."""
        with self._guard:
            if task in self._busy:
                return
            self._busy.add(task)
            future = pool.submit(work)
            self._futures.add(future)
        future.add_done_callback(partial(self._end, task))

    def _end(self, task: str, future: Future[None]) -> None:
        with self._guard:
            self._futures.discard(future)
            self._busy.discard(task)
        error = future.exception()
        if error is not None:
            LOG.error("%s: the outcome could not be stored", task, exc_info=error)

    def _poll(self, profile: str, api: Api, runs: list[Run]) -> None:
        """One list call for all runs of a profile's API, then one step for each of them."""
        try:
            training = self._connect(profile, api).training
            statuses = training.status([run.job_id for run in runs], min(run.created_at for run in runs))
        except Exception as raised:
            error = raised if isinstance(raised, AisbenchError) else AisbenchError(INTERNAL)
            if error is not raised:
                LOG.exception("poll of %s: a bug", profile)
            for run in runs:
                self._delay(run, error)
            return
        for run in runs:
            self._start(run.run_id, partial(self._advance, run, statuses.get(run.job_id)), self._pool)

    def _advance(self, run: Run, status: JobStatus | None = None) -> None:
        """Execute the step of the run's state and store the outcome; `status` is the job's, if it was polled."""
        try:
            with self._steps.errors_masked(run), full_disks_named():
                after = self._folders.step(run, partial(self._step, run, status))
        except StaleRun:
            return  # somebody else moved the run, and that counts
        except (CloudUnavailable, DiskError, WarehouseError) as error:
            self._delay(run, error)
        except AisbenchError as error:
            self._refuse(run, error)
        except Exception:
            LOG.exception("run %s: a bug in state %s", run.run_id, run.state)
            self._refuse(run, AisbenchError(INTERNAL))
        else:
            self._store(run, after)

    def _step(self, run: Run, status: JobStatus | None) -> Run:
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

    def _store(self, before: Run, after: Run) -> None:
        """Store a step's outcome, unless somebody moved the run meanwhile: a person's Stop must win."""
        if after == before:
            return
        moved = after.state is not before.state
        now = self._clock()
        detail = after.detail
        if detail is not before.detail:
            detail = self._steps.masked(after, message_of(detail))
        after = replace(after, attempts=0, detail=detail, updated_at=now if moved else before.updated_at)
        if before.attempts and after.detail == before.detail:
            after = replace(after, detail="")
        event = None
        if moved:
            level = Level.ERROR if RunState.FAILED in (after.state, after.verdict) else Level.INFO
            event = Event(after.run_id, now, "follower", level, state_message(after), self._who)
        elif before.attempts:
            event = Event(after.run_id, now, "follower", Level.INFO, Message("going on"), self._who)
        try:
            self._ledger.advance(before, after, event)
        except StaleRun:
            return
        (self._submitted.add if after.state is RunState.SUBMITTING else self._submitted.discard)(after.run_id)
        if before.attempts:
            LOG.info("run %s: going on after %d failed attempts", before.run_id, before.attempts)

    def _delay(self, run: Run, error: AisbenchError) -> None:
        """Retry with exponential backoff; only the first failure becomes an event."""
        now = self._clock()
        doublings = min(run.attempts, MOST_DOUBLINGS)
        delay = min(self._settings.retry_first_seconds * 2.0**doublings, self._settings.retry_most_seconds)
        detail, attempts = self._steps.masked(run, retrying(error.sentence)), run.attempts + 1
        after = replace(run, attempts=attempts, next_step_at=now + timedelta(seconds=delay), detail=detail)
        first = Event(run.run_id, now, "follower", Level.WARNING, after.detail, self._who)
        try:
            self._ledger.advance(run, after, None if run.attempts else first)
        except StaleRun:
            return
        if not run.attempts:
            LOG.warning("run %s: %s", run.run_id, after.detail)

    def _refuse(self, run: Run, error: AisbenchError) -> None:
        """Fail a run whose error a retry does not fix, unless it must be kept alive."""
        if _stays_alive(run, error, run.run_id in self._submitted):
            self._delay(run, error)
        elif run.state is RunState.COLLECTING:
            self._store(run, run.to(RunState.FAILED, detail=error.sentence, ended_at=run.ended_at or self._clock()))
        else:
            self._store(run, failed(run, error.sentence))


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
            recoverable = CloudError if run.verdict is RunState.COMPLETED else AuthFailed
            return isinstance(error, (recoverable, ConfigError, SpecError))
        case _:
            return False


def state_message(run: Run) -> Message:
    """The new state and its reason. Who stopped a run is part of the earlier event, when collecting began."""
    state = STATES[run.state]
    return joined(": ", [state, run.detail]) if run.detail and run.state is not RunState.STOPPED else state


def retrying(error: Message) -> Message:
    """The detail of a run whose last step failed temporarily."""
    return Message("retrying: {trouble}", trouble=error)
