"""The stall guard: when a running job has given no sign of life for longer than runs of its configuration ever do.

A sign of life is a log that grows, an object that is written, or cards that compute. Only time in which the cloud
could be observed counts: an outage is no stall. A function of observations and times, without I/O.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

# The limit in minutes where the manifest names none, for a configuration whose pauses are known.
STALL_MINUTES = 15

# A compilation of 40 minutes without a line is healthy; whoever knows better says so in the manifest.
UNKNOWN_MINUTES = 60

# So many completed runs make the pauses of a configuration known: a compiler's cache may have been warm in some.
KNOWN_RUNS = 5
LEARNT_RUNS = 20  # the newest ones; older ones may have had other images and data
# What earlier runs needed at most, and more: no two compilations take equally long.
MARGIN, MARGIN_SECONDS = 1.5, 120.0

# Pauses that begin later are evaluations and checkpoints, earlier ones downloads and compilations.
START = timedelta(minutes=30)

# After more time without an observation nobody knows what happened in between; normal pauses between two are shorter.
LONGEST_GAP = timedelta(minutes=5)

# Objects are listed only while the logs are silent: each request is billed.
LIST_SECONDS = 60.0

SAVE_SECONDS = 60.0  # what a kill of the follower loses of a pause at most


@dataclass(frozen=True, slots=True)
class Observation:
    """What one poll of a running job found.

    `log_bytes`: of all logs together. `objects`: a text that changes when one is written; empty: not listed.
    `computed_at`: the newest measurement of cards that compute; `measured_at`: the newest one of any. None: there is
    none."""

    at: datetime
    attempt: int
    log_bytes: int
    objects: str = ""
    computed_at: datetime | None = None
    measured_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Pauses:
    """The longest pauses of a run in seconds, by when they began: while it started, or later."""

    start_s: float = 0.0
    later_s: float = 0.0

    def longest(self, other: "Pauses") -> "Pauses":
        """The longer ones of both."""
        return Pauses(max(self.start_s, other.start_s), max(self.later_s, other.later_s))


@dataclass(frozen=True, slots=True)
class Quiet:
    """Time without a sign of life: since when, how much of it could be observed, and the longest such pauses before."""

    since: datetime
    seconds: float = 0.0
    pauses: Pauses = Pauses()

    def alive(self, at: datetime, elapsed: float, started_at: datetime) -> "Quiet":
        """There was a sign of life `at` that time; `elapsed`: observed seconds since the last observation."""
        lasted = self.seconds + elapsed
        in_start = self.since - started_at < START
        pause = Pauses(start_s=lasted) if in_start else Pauses(later_s=lasted)
        return Quiet(max(at, self.since), 0.0, self.pauses.longest(pause))


@dataclass(frozen=True, slots=True)
class Watch:
    """What is known of a running job. `silent` counts logs and objects only, `quiet` cards that compute as well.

    `stalled_at`: when it was found to be stalled; None while it goes on."""

    started_at: datetime
    attempt: int
    observed_at: datetime
    log_bytes: int
    silent: Quiet
    quiet: Quiet
    objects: str = ""
    computed_at: datetime | None = None
    measured_at: datetime | None = None
    stalled_at: datetime | None = None

    @property
    def is_measured(self) -> bool:
        """Whether the use of the cards is known until now."""
        return self.measured_at is not None and self.observed_at - self.measured_at <= LONGEST_GAP

    @property
    def current(self) -> Quiet:
        """The pause that counts: without measurements cards may compute unseen."""
        return self.quiet if self.is_measured else self.silent


@dataclass(frozen=True, slots=True)
class Limits:
    """After how many quiet seconds a job counts as stalled, with and without measurements of its cards."""

    quiet: Pauses
    silent: Pauses

    def of(self, watch: Watch) -> float:
        """The limit for the pause that a job is in."""
        pauses = self.quiet if watch.is_measured else self.silent
        return pauses.start_s if watch.current.since - watch.started_at < START else pauses.later_s

    def reached(self, watch: Watch) -> bool:
        """Whether the pause is longer than healthy ones."""
        return watch.current.seconds >= self.of(watch)


def limits_of(stall_minutes: int | None, earlier: Sequence[Watch]) -> Limits:
    """The limits of a configuration. `stall_minutes`: the manifest's; `earlier`: completed runs, the newest first."""
    is_known = len(earlier) >= KNOWN_RUNS
    minutes = stall_minutes or (STALL_MINUTES if is_known else UNKNOWN_MINUTES)
    quiet, silent = Pauses(), Pauses()
    for watch in earlier[:LEARNT_RUNS]:
        quiet, silent = quiet.longest(watch.quiet.pauses), silent.longest(watch.silent.pauses)
    return Limits(_raised(minutes, quiet), _raised(minutes, silent))


def begun(observation: Observation, started_at: datetime) -> Watch:
    """The first observation of a job, or of another attempt at it, counts as a sign of life."""
    now = Quiet(observation.at)
    return Watch(
        started_at, observation.attempt, observation.at, observation.log_bytes, now, now, observation.objects,
        observation.computed_at, observation.measured_at,
    )  # fmt: skip


def observed(watch: Watch, observation: Observation, limits: Limits) -> Watch:
    """The watch after one more observation; `stalled_at` says whether the job counts as stalled now."""
    if observation.attempt != watch.attempt:
        again = begun(observation, observation.at)
        silent = replace(again.silent, pauses=watch.silent.pauses)
        return replace(again, silent=silent, quiet=replace(again.quiet, pauses=watch.quiet.pauses))
    if observation.at < watch.observed_at:  # the clock was set back
        return replace(watch, observed_at=observation.at)
    after = _counted(watch, observation)
    if not limits.reached(after):
        # Stalled until there is a sign of life: what is measured or not changes the limit only.
        is_alive = after.current.seconds < watch.current.seconds
        return replace(after, stalled_at=None if is_alive else watch.stalled_at)
    return replace(after, stalled_at=watch.stalled_at or observation.at)


def ended(watch: Watch, at: datetime) -> Watch:
    """The watch of a job that has ended: its last pause, too, is one that was healthy if it completed."""
    gap = at - watch.observed_at
    elapsed = max(0.0, gap.total_seconds()) if gap <= LONGEST_GAP else 0.0
    silent, quiet = (each.alive(at, elapsed, watch.started_at) for each in (watch.silent, watch.quiet))
    return replace(watch, observed_at=at, silent=silent, quiet=quiet, stalled_at=None)


def due_at(watch: Watch, limits: Limits) -> datetime:
    """When the job counts as stalled without another sign of life: then it is observed, however slow the pace is."""
    return watch.observed_at + timedelta(seconds=max(0.0, limits.of(watch) - watch.current.seconds))


def _raised(minutes: int, learnt: Pauses) -> Pauses:
    longest = (learnt.start_s, learnt.later_s)
    return Pauses(*(max(60.0 * minutes, seconds * MARGIN + MARGIN_SECONDS) for seconds in longest))


def _counted(watch: Watch, observation: Observation) -> Watch:
    gap = observation.at - watch.observed_at
    elapsed = gap.total_seconds() if gap <= LONGEST_GAP else 0.0
    has_objects = bool(watch.objects and observation.objects and watch.objects != observation.objects)
    is_written = observation.log_bytes != watch.log_bytes or has_objects
    # It came at any time since the last poll: in the middle, on average.
    middle = observation.at - timedelta(seconds=elapsed / 2)
    silent, quiet = (
        each.alive(middle, elapsed, watch.started_at) if is_written else replace(each, seconds=each.seconds + elapsed)
        for each in (watch.silent, watch.quiet)
    )
    silent = replace(silent, seconds=elapsed / 2) if is_written else silent
    quiet = replace(quiet, seconds=elapsed / 2) if is_written else quiet
    computed = observation.computed_at
    if computed is not None and (watch.computed_at is None or computed > watch.computed_at):
        since = (observation.at - computed).total_seconds()
        if since < quiet.seconds:  # measurements come a minute late or more
            quiet = quiet.alive(computed, 0.0, watch.started_at)
            quiet = replace(quiet, seconds=since)
    return replace(
        watch, observed_at=observation.at, log_bytes=observation.log_bytes,
        # Without a new list nobody knows whether they changed before or after the last line of a log.
        objects=observation.objects or ("" if is_written else watch.objects), silent=silent, quiet=quiet,
        computed_at=computed or watch.computed_at, measured_at=observation.measured_at or watch.measured_at,
    )  # fmt: skip


def lists_objects(watch: Watch | None) -> bool:
    """Whether the next observation needs a list of the written objects."""
    return watch is not None and watch.silent.seconds >= LIST_SECONDS


def is_saved(watch: Watch, saved: Watch | None) -> bool:
    """Whether `saved`, which the next follower goes on from, is recent enough not to be replaced by `watch`.

    Lively jobs are not saved at each poll: an older state delays a warning after a kill, but causes none."""
    if saved is None:
        return False
    is_same = watch.stalled_at == saved.stalled_at and watch.attempt == saved.attempt
    longer = watch.quiet.pauses.longest(saved.quiet.pauses), watch.silent.pauses.longest(saved.silent.pauses)
    has_longer = any(
        now.start_s - before.start_s > SAVE_SECONDS or now.later_s - before.later_s > SAVE_SECONDS
        for now, before in zip(longer, (saved.quiet.pauses, saved.silent.pauses), strict=True)
    )
    is_quiet = watch.current.seconds >= SAVE_SECONDS
    age = (watch.observed_at - saved.observed_at).total_seconds()
    return is_same and not has_longer and not (is_quiet and age >= SAVE_SECONDS)
