"""The follower: a process that moves active runs through their states; another takes over if it dies."""

import logging
import os
import socket
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from time import monotonic

from aisbench_core.base.errors import AisbenchError, DamagedLedger, LedgerUnavailable
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import is_read_only
from aisbench_core.cloud.ports import Connect
from aisbench_core.config.job_secrets import JobSecrets
from aisbench_core.config.process_account import process_account
from aisbench_core.config.settings import Settings
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.model import Clock, Run, RunRecord
from aisbench_core.running.collecting import Collecting
from aisbench_core.running.following.beats import Beats
from aisbench_core.running.following.profile_follower import ProfileFollower
from aisbench_core.running.following.tasks import EVERYTHING, Tasks
from aisbench_core.running.launches import Launches
from aisbench_core.running.logs import LogPace
from aisbench_core.running.progress.watch import ProgressWatch
from aisbench_core.running.resolving.service import Sealing
from aisbench_core.running.stall_guard import StallGuard
from aisbench_core.running.steps import Steps
from aisbench_core.store.ledger.database.connection import ALL, Leases, ProfileShare
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.watches import WatchLedger
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.following import FollowedFolders
from aisbench_core.store.run_folders.run_paths import RunFolder

LOG = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
LOCK_SECONDS = 0.5

# From one look for new events in event files to the next, in polls of jobs: curves need not grow as quickly as logs.
SUMMARIES_POLLS = 3
# The longest pause of event files that do not grow, or that there are none of.
SUMMARIES_QUIET_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Following:
    """What every follower of this data folder is made of.

    `record` stores an ended run; `begin_collecting`, `expect`, `seal`: as in Collecting; `admission` gives a function
    that launches the next cells of series; `schedule` launches series whose time has come; `delete` removes what
    belongs to deleted runs; `alert` checks budgets; `notify` sends the next notification; `publish_head`
    keeps the audit's elsewhere. `diagnose`: as in Collecting; `resolving`, `slow_share`: as in Steps."""

    settings: Settings
    ledger: Ledger
    watches: WatchLedger
    workloads: Workloads
    launches: Launches
    folders: RunFolders
    secrets: JobSecrets
    connect: Connect
    record: Callable[[RunRecord], None]
    begin_collecting: Callable[[str], bytes | None]
    expect: Callable[[str, Mapping[str, bytes]], None]
    seal: Callable[[Iterable[str]], None]
    resolving: Sealing
    admission: Callable[[], Callable[[], None]]
    schedule: Callable[[], None]
    delete: Callable[[], None]
    alert: Callable[[], None]
    notify: Callable[[], None]
    publish_head: Callable[[], None]
    diagnose: Callable[[RunFolder], None]
    slow_share: Callable[[], float | None]
    clock: Clock

    def follower(self, leaving: threading.Event | None = None) -> "Follower":
        """A follower of all runs. `leaving`: set it to let a long upload end early."""
        # A ledger that cannot be read admits no launch; the next follower clears what killed ones left.
        with suppress(DamagedLedger, LedgerUnavailable):
            self.launches.clear()
        return Follower(self, leaving or threading.Event())

    @contextmanager
    def in_background(self) -> Iterator[None]:
        """Follow in a thread for as long as this lasts, whenever no other process does."""
        stop = threading.Event()
        work = partial(self.follower(stop).run_forever, stop, substitute=True)
        thread = threading.Thread(target=work, name="follower", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


class Follower:
    """Follows the runs of its share of the profiles; the one that leads also does what is not about a single run."""

    def __init__(self, parts: Following, leaving: threading.Event) -> None:
        self._parts, self._leaving = parts, leaving
        settings = parts.settings
        self._settings, self._ledger, self._clock = settings, parts.ledger, parts.clock
        # Half of the time between two polls, which are never exactly that far apart.
        paces = LogPace(settings.poll_seconds), LogPace(settings.poll_seconds / 2)
        self._paces = (*paces, LogPace(SUMMARIES_POLLS * settings.poll_seconds, SUMMARIES_QUIET_SECONDS))
        self._admit = parts.admission()
        user, host = process_account(), socket.gethostname()
        self._who = Message("{user}@{host} (process {process})", user=user, host=host, process=os.getpid())
        self._tasks = Tasks(settings.follower_threads)
        self._profiles: dict[str, ProfileFollower] = {}
        self._beats = Beats(self._ledger)
        self._share: ProfileShare | None = None
        self._beaten: datetime | None = None
        self._last_error = ""

    def run_forever(self, stop: threading.Event, *, substitute: bool = False) -> None:
        """Follow until `stop` is set; wait while others follow everything, or while the data folder is read-only.

        `substitute`: follow only while no other process does that is there for it."""
        leases, follower = self._ledger.leases(self._settings.follower_lock, substitute=substitute), self
        while not stop.is_set():
            if is_read_only(self._settings.data_dir):
                stop.wait(LOCK_SECONDS)
                continue
            started = monotonic()
            if not leases.join(LOCK_SECONDS):
                stop.wait(started + LOCK_SECONDS - monotonic())
                continue
            try:
                follower._follow_runs(stop, leases)
            finally:
                leases.leave()
            # Others may follow from now on: what this one remembers of runs and their files may not hold any more.
            follower = Follower(self._parts, self._leaving)

    def tick(self) -> None:
        """Start one step of every due run, and one list call for every profile whose jobs are due."""
        self._run_tick(lambda _: ALL)

    def settle(self) -> None:
        """Wait until all started steps have ended."""
        self._tasks.settle()

    def _follow_runs(self, stop: threading.Event, leases: Leases) -> None:
        LOG.info("%s follows", self._who)
        while not stop.is_set() and leases.are_held():
            self._tick_safely(leases)
            stop.wait(self._settings.tick_seconds)
        self._tasks.shut_down()  # nobody else is let in before no step of ours is running

    def _tick_safely(self, leases: Leases) -> None:
        """One tick; an error is logged once, and the next tick tries again."""
        try:
            self._run_tick(lambda profiles: leases.share(profiles, self._tasks.is_idle))
        except Exception as error:
            if str(error) != self._last_error:
                bug = None if isinstance(error, AisbenchError) else error
                LOG.error("cannot follow: %s", error, exc_info=bug)  # noqa: TRY400  # ours need no traceback
            self._last_error = str(error)
        else:
            if self._last_error:
                LOG.info("following again")
            self._last_error = ""

    def _run_tick(self, share_of: Callable[[frozenset[str]], ProfileShare]) -> None:
        now = self._clock()
        # Read before the ledger: a task that ends in between has already changed its run.
        busy = self._tasks.busy()
        runs = self._group_active_runs()
        share = share_of(frozenset(runs))
        self._save_beat(share, now)
        if share.leads:
            self._tasks.start(EVERYTHING, "schedules", self._parts.schedule, self._tasks.quick)
            self._tasks.start(EVERYTHING, "series", self._admit, self._tasks.quick)
            self._tasks.start(EVERYTHING, "deletions", self._parts.delete, self._tasks.collecting)
            self._tasks.start(EVERYTHING, "budgets", self._parts.alert, self._tasks.quick)
            self._tasks.start(EVERYTHING, "head", self._parts.publish_head, self._tasks.notifying)
            self._tasks.start(EVERYTHING, "notifications", self._parts.notify, self._tasks.notifying)
        if share.held is not None:
            self._profiles = {name: one for name, one in self._profiles.items() if name in share.held}
        for profile in share.list_followed(runs):
            self._get_profile_follower(profile).tick([run for run in runs[profile] if run.run_id not in busy], now)

    def _group_active_runs(self) -> Mapping[str, list[Run]]:
        """The active runs by profile."""
        runs: dict[str, list[Run]] = defaultdict(list)
        for run in self._ledger.active():
            runs[run.profile].append(run)
        return runs

    def _save_beat(self, share: ProfileShare, now: datetime) -> None:
        if share != self._share or self._beaten is None or abs(now - self._beaten) >= timedelta(seconds=BEAT_SECONDS):
            self._beats.save(self._who, now, share)
            self._share, self._beaten = share, now

    def _get_profile_follower(self, profile: str) -> ProfileFollower:
        found = self._profiles.get(profile)
        if found is None:
            found = self._profiles[profile] = self._make_profile_follower(profile)
        return found

    def _make_profile_follower(self, profile: str) -> ProfileFollower:
        parts = self._parts
        settings, ledger, connect, clock = parts.settings, parts.ledger, parts.connect, parts.clock
        guard, progress = StallGuard(parts.watches, parts.workloads), ProgressWatch(parts.workloads)
        steps = Steps(
            settings, ledger, parts.workloads, connect, clock, parts.secrets, self._leaving, progress, *self._paces,
            guard, parts.slow_share, parts.resolving,
        )  # fmt: skip
        collecting = Collecting(
            settings, ledger, connect, parts.record, parts.begin_collecting, parts.expect, parts.seal, clock,
            parts.secrets, progress, parts.diagnose,
        )  # fmt: skip
        folders = FollowedFolders(parts.folders)
        return ProfileFollower(profile, steps, collecting, folders, self._tasks, self._who)
