"""The metrics that this console computes when it collects a run: one formula a function, in FORMULAS."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from aisbench_core.base.messages import Message
from aisbench_core.domain.goodput.metrics import goodput_metrics
from aisbench_core.domain.llm.chips import NO_CHIPS, Chips
from aisbench_core.domain.llm.derived import derive_checkpoints, derive_loss, derive_target, derive_training
from aisbench_core.domain.llm.llm_settings import read_llm
from aisbench_core.domain.llm.tokens import TrainingStep
from aisbench_core.domain.llm.training import join_ranks
from aisbench_core.domain.progress.logged import LogMeasures
from aisbench_core.domain.results.measured_block import measure_power
from aisbench_core.domain.results.progress import SECONDS, ProgressPoint, seconds_in
from aisbench_core.model import (
    Better,
    CardSample,
    CollectedResult,
    Event,
    MetricSample,
    MetricSource,
    Mode,
    PhaseSpan,
    Run,
    RunAttempt,
    RunMetric,
    StepTime,
    WorkloadFacts,
)
from aisbench_core.model.columns import FRACTION


@dataclass(frozen=True, slots=True)
class Measured:
    """All that formulas may read: what a run was, and what its job, its log and the platform said.

    `reported`: the metrics of the job, by name. `steps`, `phases`: of every rank, by rank; empty if the script reports
    none. `result` None: there is none. `chip`: its name, by description or flavor. `log`: what a log comes to, of a
    job that reports no steps. `progress`: what the script of the first node said. Nothing of it is 0 because it was not
    measured."""

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
    chip: str = ""
    chips: Chips = NO_CHIPS
    log: LogMeasures | None = None
    progress: Sequence[ProgressPoint] = ()

    @property
    def ranks(self) -> int:
        """How many the job has: one for each card that the cloud counts."""
        return self.run.spec.node_count * self.run.spec.cards_per_node

    @property
    def servers(self) -> int:
        """How many train alone: 1 if all train together."""
        return self.run.spec.node_count if self.run.spec.mode is Mode.SINGLE_SERVER else 1


Formula = Callable[[Measured], Iterable[RunMetric]]
"""Pure. What cannot be computed is left out; a metric that the job reported under the same name is replaced."""


def count_steps(measured: Measured) -> Iterable[RunMetric]:
    """How many different steps the first rank that reports any has reported."""
    first = measured.steps[0].rank if measured.steps else None
    numbers = {step.number for step in measured.steps if step.rank == first}
    if numbers:
        yield RunMetric("steps", float(len(numbers)), definition="reported_steps", source=MetricSource.CONSOLE)


def measure_training(measured: Measured) -> Iterable[RunMetric]:
    """Rates and MFU of a run that trains a language model: docs/llm.md."""
    llm = read_llm(measured.workload.speed_parameters)
    if llm is None:
        return []
    return derive_training(
        llm, measured.steps, measured.log, measured.ranks, measured.chip, measured.chips, measured.servers
    )


def measure_loss(measured: Measured) -> Iterable[RunMetric]:
    """The loss after so many tokens, of a run that trains one language model."""
    llm = read_llm(measured.workload.speed_parameters)
    if llm is None or measured.log is None:
        return []
    return derive_loss(llm, measured.log, join_ranks(measured.steps, measured.ranks))


def measure_checkpoints(measured: Measured) -> Iterable[RunMetric]:
    """Seconds in which ranks saved and loaded."""
    return derive_checkpoints(measured.phases)


def measure_target(measured: Measured) -> Iterable[RunMetric]:
    """Time, epochs and tokens to the workload's target; no tokens of servers that reach it one by one."""
    reached = next((event.message for event in measured.events if seconds_in(event) is not None), None)
    return derive_target(reached.values if isinstance(reached, Message) else {}, _join_steps(measured))


def _join_steps(measured: Measured) -> Sequence[TrainingStep]:
    return join_ranks(measured.steps, measured.ranks) if measured.servers == 1 else []


def measure_loss_target(measured: Measured) -> Iterable[RunMetric]:
    """The workload's target of the loss, the lowest loss, and time, epochs and tokens until it was low enough.

    Losses of tests count, or those of the training where there is no test. Of a run that began again, the time to the
    target is not known."""
    target = measured.workload.loss_target
    if target is None:
        return
    yield RunMetric("loss_target", target, better=Better.LOWER, definition="manifest", source=MetricSource.CONSOLE)
    points = [point for point in measured.progress if point.loss is not None]
    tested = [point for point in points if point.is_evaluation]
    losses = [(point.loss, point) for point in tested or points if point.loss is not None]
    if not losses:
        return
    way = "evaluation" if tested else "training"
    lowest = min(loss for loss, _ in losses)
    yield RunMetric("lowest_loss", lowest, better=Better.LOWER, definition=f"loss/{way}", source=MetricSource.CONSOLE)
    reached = next((point for loss, point in losses if loss <= target), None)
    if reached and len(measured.attempts) <= 1 and not measured.run.spec.resume_from:
        values = {SECONDS: reached.seconds, "step": reached.step, "epoch": reached.epoch}
        yield from derive_target(values, _join_steps(measured), "loss_target", f"target/loss/{way}/{target:g}")


def measure_memory(measured: Measured) -> Iterable[RunMetric]:
    """The most memory that a card used, in the samples of its tool."""
    used = [sample.value for sample in measured.card_samples if sample.name == "memoryUsed"]
    if used:
        yield RunMetric(
            "memory_peak_mb", max(used), "MB", Better.LOWER, definition="card_samples/max", source=MetricSource.CONSOLE
        )


def measure_coverage(measured: Measured) -> Iterable[RunMetric]:
    """For which share of the job's time the power of its cards was read."""
    began, ended = measured.run.started_at, measured.run.ended_at
    power = measure_power(measured.card_samples, measured.ranks)
    share = power.coverage(measured.ranks, ended - began) if power and began and ended else None
    if share is not None:
        yield RunMetric("power_coverage", share, FRACTION, Better.HIGHER, source=MetricSource.CONSOLE)


def measure_energy(measured: Measured) -> Iterable[RunMetric]:
    """Energy for each of what throughput counts (a sample, a token), at the mean power of all cards."""
    info = measured.result.info if measured.result else None
    counted, per, second = measured.workload.throughput_unit.rpartition("s/s")
    if info and info.efficientcy and per and not second and re.fullmatch(r"[a-z]+", counted):
        yield RunMetric(
            f"energy_per_{counted}", 1 / info.efficientcy, f"J/{counted}", Better.LOWER, source=MetricSource.CONSOLE,
            definition="mean_power/throughput",
        )  # fmt: skip


def measure_goodput(measured: Measured) -> Iterable[RunMetric]:
    """What the run's time was spent on."""
    return goodput_metrics(measured.run, measured.attempts, measured.phases, measured.steps)


FORMULAS: tuple[Formula, ...] = (
    count_steps, measure_training, measure_loss, measure_checkpoints, measure_target, measure_memory, measure_coverage,
    measure_loss_target,
    measure_energy, measure_goodput,
)  # fmt: skip


def derive_metrics(measured: Measured) -> tuple[list[RunMetric], list[Message]]:
    """The reported metrics and the computed ones, by name; and what could not be computed.

    Numbers of a job that no formula can work with are no reason to lose its result."""
    metrics, failed = {metric.name: metric for metric in measured.reported}, []
    for formula in FORMULAS:
        try:
            metrics |= {metric.name: metric for metric in formula(measured)}
        except (ArithmeticError, ValueError) as error:
            failed.append(
                Message(
                    "{formula} failed with {error}: its metrics are left out",
                    formula=formula.__name__,
                    error=str(error),
                )
            )
    return [metrics[name] for name in sorted(metrics)], failed
