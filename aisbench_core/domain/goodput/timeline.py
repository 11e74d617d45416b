"""A job's time by cause, as its first rank reported phases and steps: the whole job waits for any of its ranks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from statistics import median

from aisbench_core.domain.goodput.spans import TimeCause, TimeSpan, paint_time
from aisbench_core.model import PhaseName, PhaseSpan, Run, RunAttempt, StepTime

# A pause between two steps counts as a stall from so many usual ones on, and if it is no mere hiccup.
STALL_STEPS = 10
SHORTEST_STALL = timedelta(seconds=0.5)
# Reports that leave the job's time by more are those of a node whose clock is wrong.
MOST_CLOCK_ERROR = timedelta(minutes=1)

_CAUSES = {
    PhaseName.INIT: TimeCause.START,
    PhaseName.COMPILE: TimeCause.COMPILE,
    PhaseName.DATA: TimeCause.DATA,
    PhaseName.TRAIN: TimeCause.TRAINING,
    PhaseName.EVAL: TimeCause.EVALUATION,
    PhaseName.CHECKPOINT_SAVE: TimeCause.CHECKPOINT,
    PhaseName.CHECKPOINT_LOAD: TimeCause.CHECKPOINT,
}


@dataclass(frozen=True, slots=True)
class RankLife:
    """One life of the first rank, of which a restarted job has several.

    `last_sign`: of its last step or phase. `died`: when its attempt ended, which may be later."""

    began: datetime
    last_sign: datetime
    died: datetime
    phases: tuple[PhaseSpan, ...]
    steps: tuple[StepTime, ...]

    @property
    def first_trained(self) -> datetime | None:
        """When it began to train."""
        trains = [phase.began_at for phase in self.phases if phase.name is PhaseName.TRAIN]
        steps = [began_at(step) for step in self.steps[:1]]
        return min([*trains, *steps], default=None)


def began_at(step: StepTime) -> datetime:
    """When a step began."""
    return step.at - timedelta(seconds=step.seconds)


def list_processes(
    phases: Sequence[PhaseSpan], steps: Sequence[StepTime], attempts: Sequence[RunAttempt], ended: datetime
) -> list[RankLife]:
    """The lives of the first rank that reported anything, by time."""
    first = min([*(phase.rank for phase in phases), *(step.rank for step in steps)], default=None)
    by_start: dict[datetime, tuple[list[PhaseSpan], list[StepTime]]] = {}
    for phase in phases:
        if phase.rank == first:
            by_start.setdefault(phase.process_began_at, ([], []))[0].append(phase)
    for step in steps:
        if step.rank == first:
            by_start.setdefault(step.process_began_at, ([], []))[1].append(step)
    lives = sorted(by_start.items())
    bounds = [*(began for began, _ in lives[1:]), ended]
    return [
        _make_process(*life, bound, attempts, is_last=number == len(lives))
        for number, (life, bound) in enumerate(zip(lives, bounds, strict=False), start=1)
    ]


def _make_process(
    began: datetime,
    reported: tuple[list[PhaseSpan], list[StepTime]],
    bound: datetime,
    attempts: Sequence[RunAttempt],
    *,
    is_last: bool,
) -> RankLife:
    phases, steps = reported
    last_sign = min(max(_list_signs(began, phases, steps)), bound)
    ends = (attempt.ended_at for attempt in attempts if attempt.ended_at)
    # Without steps nothing tells when its open phase ended before the job did.
    default = bound if is_last and not steps else last_sign
    died = min((end for end in ends if last_sign <= end <= bound), default=default)
    is_open = any(phase.ended_at is None for phase in phases)
    return RankLife(began, last_sign, died if is_open else last_sign, tuple(phases), tuple(steps))


def _list_signs(began: datetime, phases: Sequence[PhaseSpan], steps: Sequence[StepTime]) -> list[datetime]:
    return [began, *(phase.ended_at or phase.began_at for phase in phases), *(step.at for step in steps)]


def divide_time(
    run: Run, attempts: Sequence[RunAttempt], phases: Sequence[PhaseSpan], steps: Sequence[StepTime]
) -> list[TimeSpan]:
    """The time from the submission to the end of a job, without gaps.

    Empty unless its ranks reported their time, by a clock that agrees with the platform's."""
    began, ended = run.submitted_at or run.started_at, run.ended_at
    if began is None or ended is None or ended <= began:
        return []
    processes = list_processes(phases, steps, attempts, ended)
    signs = [sign for process in processes for sign in _list_signs(process.began, process.phases, process.steps)]
    if signs and (min(signs) < began - MOST_CLOCK_ERROR or max(signs) > ended + MOST_CLOCK_ERROR):
        return []
    return paint_time(began, ended, _iter_spans(run, began, ended, processes)) if processes else []


def _iter_spans(run: Run, began: datetime, ended: datetime, processes: Sequence[RankLife]) -> Iterator[TimeSpan]:
    yield TimeSpan(began, ended, TimeCause.END)
    started = min(run.started_at or began, processes[0].began)
    yield TimeSpan(began, started, TimeCause.QUEUE)
    yield TimeSpan(started, processes[0].began, TimeCause.START)
    for process, following in pairwise(processes):
        yield TimeSpan(process.died, following.began, TimeCause.RESTART)
    for number, process in enumerate(processes):
        yield from _iter_spans_of(process, processes[number + 1 :], is_restarted=number > 0)


def _iter_spans_of(process: RankLife, later: Sequence[RankLife], *, is_restarted: bool) -> Iterator[TimeSpan]:
    """The spans of a process, those that cover others last."""
    prepared = process.first_trained or process.died
    yield TimeSpan(process.began, process.died, TimeCause.RESTART if is_restarted else TimeCause.START)
    lost_from = _find_lost(process, later)
    for began, ended in _training_times(process, prepared):
        yield TimeSpan(began, ended, TimeCause.TRAINING)
        yield TimeSpan(max(began, lost_from), ended, TimeCause.ROLLED_BACK)
    others = [phase for phase in process.phases if phase.name is not PhaseName.TRAIN]
    yield from _iter_stalls(process, others)
    for phase in others:
        cause = TimeCause.RESTART if is_restarted and phase.began_at < prepared else _CAUSES[phase.name]
        yield TimeSpan(phase.began_at, phase.ended_at or process.died, cause)


def _training_times(process: RankLife, prepared: datetime) -> list[tuple[datetime, datetime]]:
    trained = [phase for phase in process.phases if phase.name is PhaseName.TRAIN]
    if process.phases:
        return [(phase.began_at, phase.ended_at or process.died) for phase in trained]
    return [(prepared, process.died)]


def _find_lost(process: RankLife, later: Sequence[RankLife]) -> datetime:
    """From when on a process trained in vain: a later one began again with a step that it had done, or was doing."""
    repeated = min((step.number for life in later for step in life.steps[:1]), default=None)
    if repeated is None:
        return process.died
    kept = [step.at for step in process.steps if step.number < repeated]
    return max(kept, default=process.began)


def _iter_stalls(process: RankLife, others: Sequence[PhaseSpan]) -> Iterator[TimeSpan]:
    """Pauses between steps that nothing explains."""
    if len(process.steps) < 2:
        return
    usual = median((after.at - before.at).total_seconds() for before, after in pairwise(process.steps))
    limit = max(SHORTEST_STALL, timedelta(seconds=STALL_STEPS * usual))
    starts = [*(began_at(step) for step in process.steps[1:]), process.died]
    for step, following in zip(process.steps, starts, strict=True):
        pause = following - step.at
        if pause > limit and pause - _sum_overlap(step.at, following, others, process.died) > limit:
            yield TimeSpan(step.at, following, TimeCause.STALLED)


def _sum_overlap(began: datetime, ended: datetime, phases: Sequence[PhaseSpan], died: datetime) -> timedelta:
    shared = (min(ended, phase.ended_at or died) - max(began, phase.began_at) for phase in phases)
    return sum((time for time in shared if time > timedelta()), timedelta())


def recovery_parts(processes: Sequence[RankLife]) -> dict[str, timedelta]:
    """What recoveries took, in the parts T1 to T4 of MindCluster: scheduling, initialisation, loading, compilation.

    T0, the rollback, is the time of that cause."""
    parts: dict[str, timedelta] = {}
    for process, following in pairwise(processes):
        parts["scheduling"] = parts.get("scheduling", timedelta()) + following.began - process.died
        prepared = following.first_trained or following.died
        before = [phase for phase in following.phases if phase.began_at < prepared]
        for name, phases in groupby(sorted(before, key=lambda phase: phase.name), key=lambda phase: phase.name):
            took = sum(((phase.ended_at or following.died) - phase.began_at for phase in phases), timedelta())
            parts[name.value] = parts.get(name.value, timedelta()) + took
    return parts
