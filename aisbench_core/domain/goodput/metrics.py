"""Goodput, lost time, recovery and interruptions of a run as metrics."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from aisbench_core.domain.goodput.spans import TimeCause, sum_causes
from aisbench_core.domain.goodput.timeline import divide_time, list_processes, recovery_parts
from aisbench_core.model import Better, MetricSource, PhaseSpan, Run, RunAttempt, RunMetric, StepTime
from aisbench_core.model.columns import FRACTION

# Of the time from submission to end: training that was not repeated. Meta's effective training time ratio (ETTR).
GOODPUT, PRODUCTIVE, DEFINITION = "goodput", "productive_s", "ettr"
WITHOUT_ROLLBACK = "ettr/rollback_not_measured"
"""The definition where a restarted script numbers no steps: what it trained again counts as training."""
LOST, RECOVERY = "lost_s/", "recovery_s/"
INTERRUPTIONS = "interruptions"

_PARTS = {"scheduling": "t1_scheduling", "init": "t2_init", "checkpoint_load": "t3_load", "compile": "t4_compile"}


def goodput_metrics(
    run: Run, attempts: Sequence[RunAttempt], phases: Sequence[PhaseSpan], steps: Sequence[StepTime]
) -> Iterator[RunMetric]:
    """Productive share, seconds by cause and recoveries; nothing unless the job's ranks reported their time."""
    spans = divide_time(run, attempts, phases, steps)
    if not spans or run.ended_at is None:
        return
    wall = spans[-1].ended - spans[0].began
    sums = sum_causes(spans)
    trained = sums.get(TimeCause.TRAINING, timedelta())
    processes = list_processes(phases, steps, attempts, run.ended_at)
    is_numbered = bool(steps) and not any(step.is_counted for step in steps)
    definition = WITHOUT_ROLLBACK if len(processes) > 1 and not is_numbered else DEFINITION
    yield replace(_make_metric(GOODPUT, trained / wall, FRACTION, Better.HIGHER), definition=definition)
    yield replace(_make_metric(PRODUCTIVE, trained.total_seconds(), "s"), definition=definition)
    for cause, time in sums.items():
        if cause is not TimeCause.TRAINING:
            yield _make_metric(LOST + cause.value, time.total_seconds(), "s", Better.LOWER)
    for name, time in recovery_parts(processes).items():
        if name in _PARTS:
            yield _make_metric(RECOVERY + _PARTS[name], time.total_seconds(), "s", Better.LOWER)
    if len(processes) > 1 and is_numbered:
        rolled_back = sums.get(TimeCause.ROLLED_BACK, timedelta())
        yield _make_metric(RECOVERY + "t0_rollback", rolled_back.total_seconds(), "s", Better.LOWER)
    count = max(len(processes), len(attempts)) - 1
    yield _make_metric(INTERRUPTIONS, float(count), "", Better.LOWER)


def _make_metric(name: str, value: float, unit: str, better: Better = Better.NEITHER) -> RunMetric:
    return RunMetric(name, value, unit, better, definition=DEFINITION, source=MetricSource.CONSOLE)
