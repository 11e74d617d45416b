"""The follower: one process moves every active run through its states; another takes over if it dies."""

import logging
import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from aisbench_core.cloud.ports import Connect
from aisbench_core.errors import (
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
from aisbench_core.messages import Message, message_of
from aisbench_core.model import Api, Clock, Event, JobStatus, Level, Run, RunState
from aisbench_core.running.collecting import Collecting
from aisbench_core.running.follower_lock import FollowerLock
from aisbench_core.running.ledger import Ledger
from aisbench_core.running.run_messages import retrying, state_message
from aisbench_core.running.steps import Steps, failed
from aisbench_core.settings import Settings

LOG = logging.getLogger(__name__)

POLLED = frozenset({RunState.QUEUED, RunState.RUNNING})
# States that move many bytes; they have threads of their own, so that no stop waits for an upload.
SLOW = frozenset({RunState.UPLOADING, RunState.COLLECTING})

BEAT_SECONDS = 1.0
LONGEST_WAIT = 600.0
# Of the delay; more are centuries, and at last more than a number can hold.
MOST_DOUBLINGS = 30

INTERNAL = Message("internal error: the traceback is in the log file; the other runs go on")


class Follower:
    """Starts one step of every due run per `tick`; steps of different runs run concurrently."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        steps: Steps,
        collecting: Collecting,
        connect: Connect,
        clock: Clock,
        who: str,
        admit: Callable[[], None],
    ) -> None:
        """`admit` launches the next cells of series."""
        self._settings = settings
        self._ledger = ledger
        self._steps = steps
        self._collecting = collecting
        self._connect = connect
        self._clock = clock
        self._who = who
        self._admit = admit
        self._pool = ThreadPoolExecutor(settings.follower_threads, "step")
        self._slow_pool = ThreadPoolExecutor(settings.follower_threads, "slow-step")
        self._guard = threading.Lock()
        self._busy: set[str] = set()
        self._futures: set[Future[None]] = set()
        self._looked: dict[tuple[str, Api], datetime] = {}
        # Moved to SUBMITTING by this process, so no other process can have created their job.
        self._submitted: set[str] = set()
        self._beaten: datetime | None = None
        self._trouble = ""

    def run_forever(self, stop: threading.Event) -> None:
        """Follow until `stop` is set. Waits while another process follows, or while the data folder is read-only."""
        lock = FollowerLock(self._settings.follower_lock)
        while not stop.is_set():
            with lock.attempt(stop) as is_ours:
                if is_ours:
                    self._follow(stop)

    def tick(self) -> None:
        """Start one step of every due run, and one list call for every profile whose jobs are due."""
        now = self._clock()
        self._beat(now)
        self._start("series", self._admit, self._pool)
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
                self._start(run.run_id, partial(self._take, run), pool)
        for key, runs in by_list_call.items():
            if self._is_due(key, now):
                self._looked[key] = now
                self._start(f"look at {' by '.join(key)}", partial(self._look, *key, runs), self._pool)

    def settle(self) -> None:
        """Wait until all started steps have ended."""
        while True:
            with self._guard:
                started = set(self._futures)
            if not started:
                return
            wait(started)

    def _follow(self, stop: threading.Event) -> None:
        LOG.info("%s follows", self._who)
        while not stop.is_set():
            self._tick_safely()
            stop.wait(self._settings.tick_seconds)
        self.settle()  # the lock is released only once no step of ours is running

    def _tick_safely(self) -> None:
        """One tick; an error is logged once, and the next tick tries again."""
        trouble: Exception | None = None
        try:
            self.tick()
        except Exception as error:
            trouble = error
        if trouble is not None and str(trouble) != self._trouble:
            bug = None if isinstance(trouble, AisbenchError) else trouble
            LOG.error("cannot follow: %s", trouble, exc_info=bug)
        elif trouble is None and self._trouble:
            LOG.info("following again")
        self._trouble = "" if trouble is None else str(trouble)

    def _beat(self, now: datetime) -> None:
        if self._beaten is None or abs(now - self._beaten) >= timedelta(seconds=BEAT_SECONDS):
            self._ledger.beat(self._who, now)
            self._beaten = now

    def _has_come(self, run: Run, now: datetime) -> bool:
        """Whether a step is due. A due time beyond the longest delay means that the clock has jumped back since."""
        longest = max(self._settings.retry_most_seconds, LONGEST_WAIT)
        return not timedelta() < run.next_step_at - now <= timedelta(seconds=longest)

    def _is_due(self, key: tuple[str, Api], now: datetime) -> bool:
        last = self._looked.get(key)
        return last is None or abs(now - last) >= timedelta(seconds=self._settings.poll_seconds)

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

    def _look(self, profile: str, api: Api, runs: list[Run]) -> None:
        """One list call for all runs of a profile's API, then one step for each of them."""
        try:
            training = self._connect(profile, api).training
            statuses = training.status([run.job_id for run in runs], min(run.created_at for run in runs))
        except AisbenchError as error:
            self._delay_all(runs, error)
            return
        except Exception:
            LOG.exception("look at %s: a bug", profile)
            self._delay_all(runs, AisbenchError(INTERNAL))
            return
        for run in runs:
            self._start(run.run_id, partial(self._take, run, statuses.get(run.job_id)), self._pool)

    def _take(self, run: Run, status: JobStatus | None = None) -> None:
        try:
            with self._steps.errors_masked(run), full_disks_named():
                after = self._step(run, status)
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
        match run.state:
            case RunState.PREPARING:
                return self._steps.prepare(run)
            case RunState.UPLOADING:
                return self._steps.upload(run)
            case RunState.SUBMITTING:
                return self._steps.submit(run)
            case RunState.STOPPING:
                return self._steps.stop(run)
            case RunState.COLLECTING:
                return self._collecting.collect(run, self._steps.folder(run))
            case _:
                return self._steps.poll(run, status)

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
        try:
            self._ledger.advance(before, after, self._event(before, after, now))
        except StaleRun:
            return
        self._remember(after)
        if before.attempts:
            LOG.info("run %s: going on after %d failed attempts", before.run_id, before.attempts)

    def _remember(self, run: Run) -> None:
        if run.state is RunState.SUBMITTING:
            self._submitted.add(run.run_id)
        else:
            self._submitted.discard(run.run_id)

    def _event(self, before: Run, after: Run, now: datetime) -> Event | None:
        if after.state is not before.state:
            level = Level.ERROR if RunState.FAILED in (after.state, after.verdict) else Level.INFO
            return Event(after.run_id, now, "follower", level, state_message(after), self._who)
        if before.attempts:
            return Event(after.run_id, now, "follower", Level.INFO, Message("going on"), self._who)
        return None

    def _delay_all(self, runs: list[Run], error: AisbenchError) -> None:
        for run in runs:
            self._delay(run, error)

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
        if _is_kept(run, error, run.run_id in self._submitted):
            self._delay(run, error)
        elif run.state is RunState.COLLECTING:
            self._store(run, run.to(RunState.FAILED, detail=error.sentence, ended_at=run.ended_at or self._clock()))
        else:
            self._store(run, failed(run, error.sentence))


def _is_kept(run: Run, error: AisbenchError, submitted_here: bool) -> bool:
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
