"""The metrics that this console computes when it collects a run: one formula a function, in FORMULAS."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from aisbench_core.model import (
    CardSample,
    CollectedResult,
    Event,
    MetricSample,
    MetricSource,
    PhaseSpan,
    Run,
    RunAttempt,
    RunMetric,
    StepTime,
    WorkloadFacts,
)


@dataclass(frozen=True, slots=True)
class Measured:
    """All that formulas may read: what a run was, and what its job, its log and the platform said.

    `reported`: the metrics of the job, by name. `steps`, `phases`: of every rank, by rank; empty if the script reports
    none. `result` None: there is none. Nothing of it is 0 because it was not measured."""

    run: Run
    workload: WorkloadFacts
    accelerator: str
    result: CollectedResult | None
    reported: Sequence[RunMetric] = ()
    steps: Sequence[StepTime] = ()
    phases: Sequence[PhaseSpan] = ()
    samples: Sequence[MetricSample] = ()
    card_samples: Sequence[CardSample] = ()
    events: Sequence[Event] = ()
    attempts: Sequence[RunAttempt] = ()


Formula = Callable[[Measured], Iterable[RunMetric]]
"""Pure. What cannot be computed is left out; a metric that the job reported under the same name is replaced."""


def count_steps(measured: Measured) -> Iterable[RunMetric]:
    """How many different steps the first rank that reports any has reported."""
    first = measured.steps[0].rank if measured.steps else None
    numbers = {step.number for step in measured.steps if step.rank == first}
    if numbers:
        yield RunMetric("steps", float(len(numbers)), definition="reported_steps", source=MetricSource.CONSOLE)


FORMULAS: tuple[Formula, ...] = (count_steps,)


def derive_metrics(measured: Measured) -> list[RunMetric]:
    """The reported metrics and the computed ones, by name."""
    metrics = {metric.name: metric for metric in measured.reported}
    for formula in FORMULAS:
        metrics |= {metric.name: metric for metric in formula(measured)}
    return [metrics[name] for name in sorted(metrics)]
