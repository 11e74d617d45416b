"""Simulated jobs for the stall guard: healthy ones with everything that makes them quiet, and ones that hang."""

import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from aisbench_core.domain.liveness.stalls import (
    Limits,
    Observation,
    Watch,
    begin_watch,
    due_at,
    end_watch,
    is_saved,
    limits_of,
    lists_objects,
    update_watch,
)

STARTED = datetime(2026, 11, 25, tzinfo=UTC)
POLL_S, SLOWEST_POLL_S = 5.0, 60.0  # the follower's pace: doubled while nothing is new
SYNC_S = 30.0  # the platform copies logs and outputs that often
METRIC_LAG_S = 90.0
MINUTE, HOUR = 60.0, 3600.0

Span = tuple[float, float]


@dataclass(frozen=True)
class Configuration:
    """What runs of a benchmark configuration have in common; seconds."""

    compile_s: float
    log_every_s: float
    evaluation_every_s: float
    evaluation_s: float
    evaluates_on_cards: bool
    checkpoint_every_s: float
    checkpoint_s: float
    has_metrics: bool
    is_starved: bool
    trains_s: float


@dataclass(frozen=True)
class Trace:
    """One run: times of log lines, objects and minutes in which cards computed, as seconds since its start."""

    ends_s: float
    lines: Sequence[float]
    objects: Sequence[float]
    computed: Sequence[float]
    measured: Sequence[float]
    outages: Sequence[Span] = ()
    restarts: Sequence[float] = ()
    hangs_s: float | None = None

    @property
    def last_sign_s(self) -> float:
        """When a job that hangs gave its last sign of life."""
        signs = (times[-1] for times in (self.lines, self.objects, self.computed) if times)
        return max(signs, default=0.0)


@dataclass
class Followed:
    """What the guard made of a trace; times in seconds since the start. `limit_s`: the one in force at the warning."""

    watch: Watch
    stalled_s: float | None = None
    limit_s: float = 0.0
    warnings: int = 0


@dataclass
class _Run:
    lines: list[float] = field(default_factory=list)
    objects: list[float] = field(default_factory=list)
    computing: list[Span] = field(default_factory=list)


def configuration(dice: random.Random) -> Configuration:
    """A configuration as they are met: some log every second, others every six minutes; most have metrics."""
    return Configuration(
        compile_s=dice.uniform(5, 40) * MINUTE,
        log_every_s=dice.choice([1, 5, 20, 60, 180, 360]),
        evaluation_every_s=dice.uniform(15, 60) * MINUTE,
        evaluation_s=dice.uniform(0.5, 25) * MINUTE,
        evaluates_on_cards=dice.random() < 0.5,
        checkpoint_every_s=dice.uniform(8, 30) * MINUTE,
        checkpoint_s=dice.uniform(5, 240),
        has_metrics=dice.random() < 0.85,
        is_starved=dice.random() < 0.15,
        trains_s=dice.uniform(0.7, 2.5) * HOUR,
    )


def healthy(each: Configuration, dice: random.Random) -> Trace:
    """A run that completes: start, a compilation without a line, training with evaluations and checkpoints."""
    run, now = _Run(), 0.0
    now = _lines(run, now, dice.uniform(10, 300), dice.uniform(1, 20), dice)
    # A fifth finds its graphs in the compiler's cache.
    now += each.compile_s * dice.lognormvariate(0, 0.1) * (0.2 if dice.random() < 0.2 else 1.0)
    trained_from, checkpointed = now, now
    while now - trained_from < each.trains_s:
        began = now
        while now - began < each.evaluation_every_s:
            step = min(each.checkpoint_every_s, each.evaluation_every_s) * dice.uniform(0.9, 1.1)
            until = now + step
            if not each.is_starved or dice.random() < 0.7:
                run.computing.append((now, until))
            now = _lines(run, now, step, each.log_every_s, dice)
            if now - checkpointed >= each.checkpoint_every_s * 0.9:
                now += each.checkpoint_s * dice.lognormvariate(0, 0.2)
                run.objects.append(now)
                checkpointed = now
        evaluated = now + each.evaluation_s * dice.lognormvariate(0, 0.1)
        if each.evaluates_on_cards:
            run.computing.append((now, evaluated))
        now = evaluated
        run.lines.append(now)
    return _trace(run, now, each, dice)


def hanging(each: Configuration, dice: random.Random) -> Trace:
    """The same run, but at some time nothing moves any more; from then on the cloud can be observed."""
    whole = healthy(each, dice)
    at = whole.ends_s * dice.uniform(0.02, 0.95)
    cut = {name: [time for time in getattr(whole, name) if time <= at] for name in ("lines", "objects", "computed")}
    measured = [time for time in whole.measured if time <= at]
    measured += _minutes(at, at + 6 * HOUR) if each.has_metrics else []
    outages = [span for span in whole.outages if span[1] < at]
    return replace(whole, ends_s=at + 6 * HOUR, measured=measured, outages=outages, restarts=(), hangs_s=at, **cut)


def follow(trace: Trace, limits: Limits) -> Followed:
    """Poll a trace as the follower does, until it ends or, if it hangs, a warning."""
    watch = begin_watch(_observation(trace, 0.0), STARTED)
    found, saved, pause, restarts = Followed(watch), None, POLL_S, list(trace.restarts)
    now = POLL_S
    while now < trace.ends_s:
        outage = next((until for since, until in trace.outages if since <= now < until), None)
        if outage is not None:
            now = outage + POLL_S
            continue
        if restarts and now >= restarts[0]:
            restarts.pop(0)
            watch = saved or begin_watch(_observation(trace, now), STARTED)
        listed = lists_objects(watch, limits, _time(now))
        before, watch = watch, update_watch(watch, _observation(trace, now, listed=listed), limits)
        saved = saved if is_saved(watch, saved) else watch
        if watch.stalled_at and not before.stalled_at:
            found.warnings += 1
            found.stalled_s, found.limit_s = now, limits.of(watch)
            if trace.hangs_s is not None:
                break
        grew = watch.log_bytes != before.log_bytes
        pause = POLL_S if grew else min(2 * pause, SLOWEST_POLL_S)
        due = (due_at(watch, limits) - STARTED).total_seconds()
        now = max(now + POLL_S, min(now + pause, due)) if not watch.stalled_at else now + pause
    found.watch = end_watch(watch, _time(trace.ends_s)) if trace.hangs_s is None else watch
    return found


def campaign(seed: int, configurations: int, runs: int, hangs: int) -> Iterator[tuple[Trace, Followed]]:
    """So many healthy runs of each configuration, in their order, and then so many that hang."""
    dice = random.Random(seed)
    for _ in range(configurations):
        each, earlier = configuration(dice), list[Watch]()
        for _ in range(runs):
            trace = healthy(each, dice)
            followed = follow(trace, limits_of(None, earlier))
            earlier.insert(0, followed.watch)
            yield trace, followed
        for _ in range(hangs):
            trace = hanging(each, dice)
            yield trace, follow(trace, limits_of(None, earlier))


def _lines(run: _Run, now: float, lasts: float, every: float, dice: random.Random) -> float:
    until = now + lasts
    every = max(every, SYNC_S / 3)  # more often makes no difference to whoever polls copies
    while (now := now + every * dice.uniform(0.8, 1.2)) < until:
        run.lines.append(now)
    return until


def _trace(run: _Run, ends: float, each: Configuration, dice: random.Random) -> Trace:
    measured = _minutes(0.0, ends) if each.has_metrics else []
    measured = [time for time in measured if dice.random() > 0.02]
    if dice.random() < 0.1:  # the service that measures has a fault of its own
        since = dice.uniform(0, ends)
        gap = dice.uniform(10, 60) * MINUTE
        measured = [time for time in measured if not since <= time < since + gap]
    computed = [time for time in measured if any(since <= time < until for since, until in run.computing)]
    outages = [(since, since + dice.uniform(1, 120) * MINUTE) for since in _some(dice, 0.2, ends)]
    return Trace(ends, run.lines, run.objects, computed, measured, outages, _some(dice, 0.1, ends))


def _some(dice: random.Random, share: float, ends: float) -> list[float]:
    return [dice.uniform(0, ends)] if dice.random() < share else []


def _minutes(since: float, until: float) -> list[float]:
    return [minute * MINUTE for minute in range(int(since // MINUTE) + 1, int(until // MINUTE))]


def _observation(trace: Trace, now: float, *, listed: bool = False) -> Observation:
    copied = now - now % SYNC_S
    computed = _newest(trace.computed, now - METRIC_LAG_S)
    measured = _newest(trace.measured, now - METRIC_LAG_S)
    objects = str(bisect_right(trace.objects, copied)) if listed else ""
    return Observation(_time(now), 1, bisect_right(trace.lines, copied), objects, computed, measured)


def _newest(times: Sequence[float], until: float) -> datetime | None:
    index = bisect_right(times, until)
    return _time(times[index - 1]) if index else None


def _time(seconds: float) -> datetime:
    return STARTED + timedelta(seconds=seconds)
