"""The stall guard: when a running job has given no sign of life for longer than runs of its configuration ever do.

A sign of life is a log that grows, an object that is written, or cards that compute. Only time in which the cloud
could be observed counts: an outage is no stall. A function of observations and times, without I/O.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import median

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
LIST_SECONDS, LIST_AGAIN = 120.0, timedelta(minutes=20)

SAVE_SECONDS = 60.0  # what a kill of the follower loses of a pause at most, and how old what pages show may be

# A pause of so many seconds deserves a look before it is a stall, if none was ever as long, in this run and in earlier
# ones, and it is so many times the longest one of the run before, or so many times the typical one: after a long
# compilation its length says nothing.
ATTENTION_SECONDS, LONGEST_RATIO, TYPICAL_RATIO = 120.0, 3.0, 20.0

# The typical pause is the median of the newest ones; fewer than that tell nothing.
RECENT_PAUSES, FEWEST_PAUSES = 61, 5


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
    """Time without a sign of life: since when, how much of it could be observed, and the longest such pauses before.

    `recent`: seconds between the newest signs of life, oldest first; several between two observations count as one."""

    since: datetime
    seconds: float = 0.0
    pauses: Pauses = Pauses()
    recent: tuple[float, ...] = ()

    @property
    def longest_s(self) -> float | None:
        """The longest pause before; None if there was none."""
        return max(self.pauses.start_s, self.pauses.later_s) or None

    @property
    def typical_s(self) -> float | None:
        """The median of the newest pauses; None while there are too few."""
        return median(self.recent) if len(self.recent) >= FEWEST_PAUSES else None

    def alive(self, at: datetime, age: float, started_at: datetime) -> "Quiet":
        """There was a sign of life `age` seconds before `at`, in a pause that ended then."""
        in_start = self.since - started_at < START
        pause = Pauses(start_s=self.seconds) if in_start else Pauses(later_s=self.seconds)
        seconds = min(max(0.0, age), self.seconds)
        recent = (*self.recent, round(self.seconds - seconds, 1))[-RECENT_PAUSES:]
        return Quiet(at - timedelta(seconds=seconds), seconds, self.pauses.longest(pause), recent)


@dataclass(frozen=True, slots=True)
class Watch:
    """What is known of a running job. `silent` counts logs and objects only, `quiet` cards that compute as well.

    `stalled_at`: when it was found to be stalled; None while it goes on. `limit_s`: the seconds of a pause after which
    it will be; None in watches of earlier versions. `learnt_s`: the longest such pause of earlier runs; 0 if there is
    none. `slow_cards`: node and card of those that people were told of."""

    started_at: datetime
    attempt: int
    observed_at: datetime
    log_bytes: int
    silent: Quiet
    quiet: Quiet
    objects: str = ""
    listed_at: datetime | None = None
    computed_at: datetime | None = None
    measured_at: datetime | None = None
    stalled_at: datetime | None = None
    slow_cards: tuple[tuple[int, int], ...] = ()
    limit_s: float | None = None
    learnt_s: float = 0.0

    @property
    def is_measured(self) -> bool:
        """Whether the use of the cards is known until now."""
        return self.measured_at is not None and self.observed_at - self.measured_at <= LONGEST_GAP

    @property
    def current(self) -> Quiet:
        """The pause that counts: without measurements cards may compute unseen."""
        return self.quiet if self.is_measured else self.silent

    @property
    def is_in_start(self) -> bool:
        """Whether the pause began while the job started."""
        return self.current.since - self.started_at < START

    @property
    def is_unusual(self) -> bool:
        """Whether the pause is far longer than those before, in this run and in earlier ones."""
        now, longest, typical = self.current.seconds, self.current.longest_s, self.current.typical_s
        if longest is None or now < ATTENTION_SECONDS or now <= max(longest, self.learnt_s):
            return False
        if typical is None and self.is_in_start:  # a banner before a compilation says nothing of its length
            return False
        return now >= LONGEST_RATIO * longest or (typical is not None and now >= TYPICAL_RATIO * typical)


@dataclass(frozen=True, slots=True)
class SignOfLife:
    """The last sign of life of a running job, until when it was observed, and what to hold its silence against.

    `longest_s`, `typical_s`: pauses of the run before; `limit_s`: the pause that counts as a stall. Seconds; None is
    not known."""

    at: datetime
    observed_at: datetime
    longest_s: float | None
    typical_s: float | None
    limit_s: float | None

    def is_observed(self, now: datetime) -> bool:
        """Whether what is known of the job is as of now."""
        return now - self.observed_at <= LONGEST_GAP

    def is_long(self, now: datetime) -> bool:
        """Whether the silence is so many times the longest pause of the run before that it deserves a look."""
        return self.longest_s is not None and (now - self.at).total_seconds() >= LONGEST_RATIO * self.longest_s


def sign_of_life(watch: Watch, printed_at: datetime | None) -> SignOfLife:
    """What a watch says. `printed_at`: of the newest line of progress, which may be newer than the watch."""
    at = watch.current.since if printed_at is None else max(watch.current.since, printed_at)
    quiet = watch.current
    return SignOfLife(at, max(at, watch.observed_at), quiet.longest_s, quiet.typical_s, watch.limit_s)


@dataclass(frozen=True, slots=True)
class Limits:
    """After how many quiet seconds a job counts as stalled, with and without measurements of its cards.

    `learnt_quiet`, `learnt_silent`: the longest pauses of earlier runs."""

    quiet: Pauses
    silent: Pauses
    learnt_quiet: Pauses = Pauses()
    learnt_silent: Pauses = Pauses()

    def of(self, watch: Watch) -> float:
        """The limit for the pause that a job is in."""
        return _in_force(watch, self.quiet, self.silent)

    def note_pause(self, watch: Watch) -> Watch:
        """The watch with what its pause is held against."""
        learnt = _in_force(watch, self.learnt_quiet, self.learnt_silent)
        return replace(watch, limit_s=self.of(watch), learnt_s=learnt)

    def is_reached(self, watch: Watch) -> bool:
        """Whether the pause is longer than healthy ones."""
        return watch.current.seconds >= self.of(watch)


def limits_of(stall_minutes: int | None, earlier: Sequence[Watch]) -> Limits:
    """The limits of a configuration. `stall_minutes`: the manifest's; `earlier`: completed runs, the newest first."""
    is_known = len(earlier) >= KNOWN_RUNS
    minutes = stall_minutes or (STALL_MINUTES if is_known else UNKNOWN_MINUTES)
    quiet, silent = Pauses(), Pauses()
    for watch in earlier[:LEARNT_RUNS]:
        quiet, silent = quiet.longest(watch.quiet.pauses), silent.longest(watch.silent.pauses)
    return Limits(_raise_limits(minutes, quiet), _raise_limits(minutes, silent), quiet, silent)


def _in_force(watch: Watch, quiet: Pauses, silent: Pauses) -> float:
    pauses = quiet if watch.is_measured else silent
    return pauses.start_s if watch.is_in_start else pauses.later_s


def begin_watch(observation: Observation, started_at: datetime) -> Watch:
    """The first observation of a job, or of another attempt at it, counts as a sign of life."""
    now = Quiet(observation.at)
    return Watch(
        started_at, observation.attempt, observation.at, observation.log_bytes, now, now,
        computed_at=observation.computed_at, measured_at=observation.measured_at,
    )  # fmt: skip


def update_watch(watch: Watch, observation: Observation, limits: Limits) -> Watch:
    """The watch after one more observation; `stalled_at` says whether the job counts as stalled now."""
    if observation.attempt != watch.attempt:
        again = begin_watch(observation, observation.at)
        silent = replace(again.silent, pauses=watch.silent.pauses, recent=watch.silent.recent)
        quiet = replace(again.quiet, pauses=watch.quiet.pauses, recent=watch.quiet.recent)
        return replace(again, silent=silent, quiet=quiet, slow_cards=watch.slow_cards)
    if observation.at < watch.observed_at:  # the clock was set back
        return replace(watch, observed_at=observation.at)
    after = _count_pauses(watch, observation)
    if not limits.is_reached(after):
        # Stalled until there is a sign of life: what is measured or not changes the limit only.
        is_alive = after.current.seconds < watch.current.seconds
        return replace(after, stalled_at=None if is_alive else watch.stalled_at)
    return replace(after, stalled_at=watch.stalled_at or observation.at)


def end_watch(watch: Watch, at: datetime) -> Watch:
    """The watch of a job that has ended: its last pause, too, is one that was healthy if it completed."""
    elapsed = _compute_elapsed(watch, at)
    silent, quiet = (
        replace(each, seconds=each.seconds + elapsed).alive(at, 0.0, watch.started_at)
        for each in (watch.silent, watch.quiet)
    )
    return replace(watch, observed_at=at, silent=silent, quiet=quiet, stalled_at=None)


def due_at(watch: Watch, limits: Limits) -> datetime:
    """When the job counts as stalled without another sign of life: then it is observed, however slow the pace is."""
    return watch.observed_at + timedelta(seconds=max(0.0, limits.of(watch) - watch.current.seconds))


def _raise_limits(minutes: int, learnt: Pauses) -> Pauses:
    longest = (learnt.start_s, learnt.later_s)
    return Pauses(*(max(60.0 * minutes, seconds * MARGIN + MARGIN_SECONDS) for seconds in longest))


def _count_pauses(watch: Watch, observation: Observation) -> Watch:
    at, elapsed = observation.at, _compute_elapsed(watch, observation.at)
    silent, quiet = (replace(each, seconds=each.seconds + elapsed) for each in (watch.silent, watch.quiet))
    has_lines = observation.log_bytes != watch.log_bytes
    age = elapsed / 2 if has_lines else _age_of_objects(watch, observation)  # it came in the middle, on average
    if age is not None:
        silent, quiet = silent.alive(at, age, watch.started_at), quiet.alive(at, age, watch.started_at)
    computed = observation.computed_at
    if computed is not None and (watch.computed_at is None or computed > watch.computed_at):
        since = (at - computed).total_seconds()  # measurements come a minute late or more
        quiet = quiet.alive(at, since, watch.started_at) if since < quiet.seconds else quiet
    # Without a new list nobody knows whether objects came before or after the last line of a log.
    objects = observation.objects or ("" if has_lines else watch.objects)
    return replace(
        watch, observed_at=at, log_bytes=observation.log_bytes, objects=objects,
        listed_at=at if observation.objects else watch.listed_at, silent=silent, quiet=quiet,
        computed_at=computed or watch.computed_at, measured_at=observation.measured_at or watch.measured_at,
    )  # fmt: skip


def _compute_elapsed(watch: Watch, at: datetime) -> float:
    gap = at - watch.observed_at
    return max(0.0, gap.total_seconds()) if gap <= LONGEST_GAP else 0.0


def _age_of_objects(watch: Watch, observation: Observation) -> float | None:
    """Seconds since an object was written, at most; None if there is none since the last list."""
    is_new = bool(watch.objects and observation.objects and watch.objects != observation.objects)
    return (observation.at - watch.listed_at).total_seconds() if is_new and watch.listed_at else None


def lists_objects(watch: Watch | None, limits: Limits, now: datetime) -> bool:
    """Whether an observation now needs a list of the written objects."""
    if watch is None or watch.silent.seconds < LIST_SECONDS:
        return False
    if not watch.objects or watch.listed_at is None:
        return True
    return now - watch.listed_at >= LIST_AGAIN or (not watch.stalled_at and due_at(watch, limits) <= now)


def is_saved(watch: Watch, saved: Watch | None) -> bool:
    """Whether `saved`, which the next follower goes on from and pages show, is recent enough to stay.

    Jobs are not saved at each poll: an older state delays a warning after a kill, but causes none."""
    if saved is None:
        return False
    is_same = watch.stalled_at == saved.stalled_at and watch.attempt == saved.attempt
    is_same = is_same and watch.is_unusual == saved.is_unusual
    longer = watch.quiet.pauses.longest(saved.quiet.pauses), watch.silent.pauses.longest(saved.silent.pauses)
    has_longer = any(
        now.start_s - before.start_s > SAVE_SECONDS or now.later_s - before.later_s > SAVE_SECONDS
        for now, before in zip(longer, (saved.quiet.pauses, saved.silent.pauses), strict=True)
    )
    age = (watch.observed_at - saved.observed_at).total_seconds()
    return is_same and not has_longer and age < SAVE_SECONDS
