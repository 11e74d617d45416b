"""Watches running jobs for stalls: observes, warns once, says when a job goes on, and learns from completed runs."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from zlib import crc32

from aisbench_core.base.errors import AisbenchError, CloudRejected, ResultError
from aisbench_core.base.messages import Message
from aisbench_core.cloud.ports import Cloud
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.liveness import stalls
from aisbench_core.domain.liveness.slow_cards import CardRate, slow_message
from aisbench_core.domain.liveness.stalls import Limits, Observation, Watch
from aisbench_core.domain.results.utilisation import measured_until
from aisbench_core.model import (
    Event,
    JobStatus,
    Level,
    MetricSample,
    NewsKind,
    Notice,
    Run,
    RunState,
    StopCause,
    StopKind,
    WorkloadFacts,
    canonical_json,
)
from aisbench_core.running.run_files import read_facts
from aisbench_core.store.ledger.watches import WatchLedger
from aisbench_core.store.run_folders import run_paths
from aisbench_core.store.run_folders.run_paths import RunFolder

# Of each output, 1000 objects each; a job that has written more shows new ones in its log as well.
LISTED_PAGES = 10


@dataclass(slots=True)
class _Watched:
    configuration: str
    limits: Limits
    watch: Watch | None
    saved: Watch | None
    computed_at: datetime | None = None
    measured_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class StallGuard:
    """Threads may share it: a run has one step at a time."""

    watches: WatchLedger
    workloads: Workloads
    _watched: dict[str, _Watched] = field(default_factory=dict)

    def is_due(self, run: Run, now: datetime) -> bool:
        """Whether the job counts as stalled now unless it has given a sign of life."""
        watched = self._watched.get(run.run_id)
        watch = watched.watch if watched else None
        if watched is None or watch is None or watch.stalled_at:
            return False
        return stalls.due_at(watch, watched.limits) <= now

    def is_stalled(self, run: Run, folder: RunFolder) -> bool:
        """Whether that was found before, by this follower or by an earlier one."""
        watch = self._get_watched(run, folder).watch
        return watch is not None and watch.stalled_at is not None

    def note_samples(self, run: Run, folder: RunFolder, samples: Sequence[MetricSample]) -> None:
        """Remember what the platform has measured, for the next observation."""
        watched = self._get_watched(run, folder)
        watched.computed_at, watched.measured_at = measured_until(samples)

    def observe(
        self, cloud: Cloud, run: Run, status: JobStatus, folder: RunFolder, log_bytes: int, now: datetime
    ) -> Watch:
        """Take into account what a poll found, and store a warning or its end."""
        watched = self._get_watched(run, folder)
        before = watched.watch
        objects = _fingerprint_outputs(cloud, run) if stalls.lists_objects(before, watched.limits, now) else ""
        attempt = max(1, len(status.attempts))
        found = Observation(now, attempt, log_bytes, objects, watched.computed_at, watched.measured_at)
        started = run.started_at or now
        after = stalls.update_watch(before, found, watched.limits) if before else stalls.begin_watch(found, started)
        after = watched.watch = watched.limits.note_pause(after)
        self._save_watch(run, watched, before)
        return after

    def report_slow(self, run: Run, folder: RunFolder, rates: Sequence[CardRate], now: datetime) -> None:
        """Store which cards are slow now, and tell of those that were not before, and when all are fast again."""
        watched = self._get_watched(run, folder)
        slow = {(rate.node, rate.card): rate for rate in rates if rate.slow_since}
        known = set(watched.watch.slow_cards) if watched.watch else set()
        if watched.watch is None or slow.keys() == known:
            return
        new, events, notices = [slow[card] for card in slow.keys() - known], list[Event](), list[Notice]()
        if new:
            text = slow_message(new)
            events.append(Event(run.run_id, now, "follower", Level.WARNING, text))
            notice_id = f"{NewsKind.STRAGGLER}:{run.run_id}:{now.isoformat()}"
            notices.append(Notice(notice_id, run.run_id, NewsKind.STRAGGLER, now, text))
        elif not slow:
            events.append(Event(run.run_id, now, "follower", Level.INFO, Message("no card is slow any more")))
        watched.watch = watched.saved = replace(watched.watch, slow_cards=tuple(sorted(slow)))
        self.watches.save(run.run_id, watched.configuration, watched.watch, events=events, notices=notices)

    def end(self, run: Run, folder: RunFolder, at: datetime) -> None:
        """The job has ended; of a completed run the pauses are remembered for later ones of its configuration."""
        watched = self._get_watched(run, folder)
        self._watched.pop(run.run_id, None)
        if watched.watch is None:
            return
        completed_at = at if run.final_state is RunState.COMPLETED else None
        self.watches.save(
            run.run_id, watched.configuration, stalls.end_watch(watched.watch, at), completed_at=completed_at
        )

    def _get_watched(self, run: Run, folder: RunFolder) -> _Watched:
        watched = self._watched.get(run.run_id)
        if watched is None:
            configuration = _hash_configuration(run, folder)
            limits = stalls.limits_of(self._stall_minutes(run), self.watches.earlier(configuration))
            saved = self.watches.get(run.run_id)
            watched = self._watched[run.run_id] = _Watched(configuration, limits, saved, saved)
        return watched

    def _stall_minutes(self, run: Run) -> int | None:
        with suppress(AisbenchError):  # the workload was removed meanwhile
            return self.workloads.get(run.spec.workload).stall_minutes
        return None

    def _save_watch(self, run: Run, watched: _Watched, before: Watch | None) -> None:
        after = watched.watch
        if after is None or stalls.is_saved(after, watched.saved):
            return
        was, now = before.stalled_at if before else None, after.stalled_at
        events, notices = list[Event](), list[Notice]()
        if now and not was:
            warning = _describe_stall(after, watched.limits)
            events.append(Event(run.run_id, now, "follower", Level.WARNING, warning))
            notice_id = f"{NewsKind.STALLED}:{run.run_id}:{now.isoformat()}"
            notices.append(Notice(notice_id, run.run_id, NewsKind.STALLED, now, warning))
        elif before and was and not now:
            quiet = _to_minutes(before.current.seconds)
            goes_on = Message("sign of life again after {minutes} minutes", minutes=quiet)
            events.append(Event(run.run_id, after.observed_at, "follower", Level.INFO, goes_on))
        self.watches.save(run.run_id, watched.configuration, after, events=events, notices=notices)
        watched.saved = after


def find_stop_cause(run: Run, watch: Watch) -> StopCause | None:
    """Why a stalled run is stopped now, as its spec wants; None while it is not."""
    minutes = run.spec.stop_when_stalled_minutes
    if minutes is None or watch.stalled_at is None or watch.current.seconds < 60 * minutes:
        return None
    return StopCause(StopKind.STALL, _to_minutes(watch.current.seconds))


def _describe_stall(watch: Watch, limits: Limits) -> Message:
    values = {"minutes": _to_minutes(watch.current.seconds), "limit": _to_minutes(limits.of(watch))}
    return Message("stalled: no sign of life for {minutes} minutes (alarm after {limit})", **values)


def _to_minutes(seconds: float) -> int:
    return round(timedelta(seconds=seconds) / timedelta(minutes=1))


def _fingerprint_outputs(cloud: Cloud, run: Run) -> str:
    """A text that changes when an object of the outputs is written; empty if they cannot be listed."""
    count = size = digest = 0
    try:
        for channel in run_paths.list_outputs(run, cloud.profile):
            for _, page in zip(range(LISTED_PAGES), cloud.objects.pages(channel.path), strict=False):
                for stat in page:
                    count, size = count + 1, size + stat.size
                    digest = crc32(f"{stat.path} {stat.etag}".encode(), digest)
    except CloudRejected:
        return ""
    return f"{count} {size} {digest:08x}"


def _hash_configuration(run: Run, folder: RunFolder) -> str:
    """A hash of what decides how long a run is quiet: what is trained, how, and on what."""
    spec, facts = run.spec, _read_facts(folder)
    speed = facts.speed_parameters if facts else spec.parameters
    values = [
        spec.workload, spec.framework_version, spec.mode, spec.flavor, spec.pool_id, spec.node_count,
        spec.cards_per_node, spec.engine_version, spec.image_url, run.profile, None if speed is None else dict(speed),
    ]  # fmt: skip
    return sha256(canonical_json(values).encode()).hexdigest()


def _read_facts(folder: RunFolder) -> WorkloadFacts | None:
    try:
        return read_facts(folder.launch).workload
    except ResultError:
        return None
