"""The metrics that the console computes of runs that train language models."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from statistics import median

from aisbench_core.domain.llm.chips import Chips
from aisbench_core.domain.llm.llm_settings import LlmRun
from aisbench_core.domain.llm.mfu import MfuReading, select_ranked
from aisbench_core.domain.llm.tokens import (
    Devices,
    StepTimes,
    TokenRate,
    TrainingStep,
    add_rates,
    choose_counted,
    compute_rate,
    summarize_times,
)
from aisbench_core.domain.llm.training import (
    COUNTED_BY,
    NOMINAL,
    NOMINAL_BY,
    PER_DIE,
    PRINTED_BY,
    TOKENS,
    TOKENS_UNIT,
    describe_training,
    join_servers,
)
from aisbench_core.domain.progress.logged import LogMeasures
from aisbench_core.model import Better, Combined, MetricSource, PhaseName, PhaseSpan, RunMetric, StepTime

PRINTED_STEPS = "log/steps"
"""Begins the definition of times that a framework prints of one rank, not of the slowest."""

HIGHER, LOWER = Better.HIGHER, Better.LOWER


def derive_training(
    run: LlmRun,
    times: Sequence[StepTime],
    log: LogMeasures | None,
    ranks: int,
    named: str,
    chips: Chips,
    servers: int = 1,
) -> list[RunMetric]:
    """Rates, times of steps and MFU within the run's window: from what its ranks reported, otherwise from its log.

    `servers`: how many train alone, each its own global batch: their rates add up, and their steps count alike."""
    of_servers = [run.window.select(steps) for steps in join_servers(times, ranks, servers)]
    counted = [choose_counted(steps) for steps in of_servers]
    summary = summarize_times(list(chain.from_iterable(of_servers)))
    rate = add_rates([compute_rate(steps, run.nominal_tokens) for steps in counted])
    counted_by = COUNTED_BY
    if not summary and log:
        nominal = run.nominal_tokens / log.step_s if run.nominal_tokens and log.step_s else None
        rate, counted_by = TokenRate(log.tokens_per_s, nominal), PRINTED_BY
    numbers = [step.number for step in chain.from_iterable(counted)] or ([log.first, log.last] if log else [0])
    window = f"steps/{min(numbers)}-{max(numbers)}"
    chip = chips.find(named)
    devices = Devices(ranks, chip.dies_per_card if chip else 0)
    metrics = [*_list_rates(rate, devices, counted_by, window), *_list_times(summary, "steps")]
    if not summary and log:
        printed = [TrainingStep(number, seconds) for number, seconds in log.step_times]
        metrics += _list_times(summarize_times(printed), PRINTED_STEPS)
    if not summary and log and log.step_s:
        metrics.append(_make_metric("step_mean_s", log.step_s, "s", LOWER, window))
    readings = describe_training(run, metrics, named, chips).readings
    return [*metrics, *_list_readings(select_ranked(readings), metrics)]


def derive_checkpoints(phases: Iterable[PhaseSpan]) -> Iterator[RunMetric]:
    """Seconds of a save and of a load, the median over ranks and times; and of all saves of the slowest rank."""
    saves: dict[int, list[float]] = {}
    loads: list[float] = []
    for phase in phases:
        if phase.ended_at is None:
            continue
        seconds = (phase.ended_at - phase.began_at).total_seconds()
        if seconds < 0:  # the node's clock was set back
            continue
        if phase.name is PhaseName.CHECKPOINT_SAVE:
            saves.setdefault(phase.rank, []).append(seconds)
        elif phase.name is PhaseName.CHECKPOINT_LOAD:
            loads.append(seconds)
    if saves:
        yield _make_metric(
            "checkpoint_save_s", median(chain.from_iterable(saves.values())), "s", LOWER, "phases/median"
        )
        yield _make_metric("checkpoint_blocked_s", max(map(sum, saves.values())), "s", LOWER, "phases/slowest_rank")
    if loads:
        yield _make_metric("checkpoint_load_s", median(loads), "s", LOWER, "phases/median")


def derive_target(
    reached: Mapping[str, object],
    steps: Sequence[TrainingStep],
    goal: str = "target",
    definition: str = "target/accuracy",
) -> Iterator[RunMetric]:
    """Time, epochs and tokens to a target. `reached`: seconds_to_target, step and epoch; empty: it was missed."""
    seconds, step = reached.get("seconds_to_target"), reached.get("step")
    if isinstance(seconds, int | float):
        yield _make_metric(f"time_to_{goal}_s", float(seconds), "s", LOWER, definition)
    epoch = reached.get("epoch")
    if isinstance(epoch, int | float):
        yield _make_metric(f"epochs_to_{goal}", float(epoch), "", LOWER, definition)
    before = [one.tokens for one in steps if isinstance(step, int) and one.number <= step]
    counts = [tokens for tokens in before if tokens is not None]
    if counts and len(counts) == step:
        yield _make_metric(f"tokens_to_{goal}", sum(counts), "tokens", LOWER, definition)


def derive_loss(run: LlmRun, log: LogMeasures, steps: Sequence[TrainingStep]) -> Iterator[RunMetric]:
    """The loss of the window's last step, after so many tokens as the definition says: those that every rank counted
    since the first step, otherwise nominal ones."""
    if log.loss is None or not log.loss_step:
        return
    before = {step.number: step.tokens for step in steps if step.number <= log.loss_step}
    counts = [tokens for tokens in before.values() if tokens is not None]
    way, tokens = COUNTED_BY, float(sum(counts))
    if len(counts) < log.loss_step:
        way, tokens = NOMINAL_BY, float((run.nominal_tokens or 0) * log.loss_step)
    if tokens:
        yield _make_metric("loss_at_tokens", log.loss, "", LOWER, f"loss/{way}/{tokens:.0f}")


def _list_rates(rate: TokenRate | None, devices: Devices, counted_by: str, window: str) -> Iterator[RunMetric]:
    if rate is None:
        return
    if rate.nominal is not None:
        yield _make_metric(NOMINAL, rate.nominal, TOKENS_UNIT, Better.NEITHER, f"{NOMINAL_BY}/{window}")
    if rate.value is None:
        return
    definition = f"{NOMINAL_BY if rate.counted is None else counted_by}/{window}"
    yield replace(_make_metric(TOKENS, rate.value, TOKENS_UNIT, HIGHER, definition), combined=Combined.SUM)
    yield _make_metric(PER_DIE, rate.value / devices.dies, TOKENS_UNIT, HIGHER, definition)
    if devices.dies_per_card:
        yield _make_metric("tokens_per_s_per_card", rate.value / devices.cards, TOKENS_UNIT, HIGHER, definition)


def _list_times(times: StepTimes | None, of: str) -> Iterator[RunMetric]:
    if times is None:
        return
    definition = f"{of}/{times.first}-{times.last}"
    for name, seconds in (("p50", times.p50_s), ("p95", times.p95_s), ("p99", times.p99_s)):
        yield _make_metric(f"step_{name}_s", seconds, "s", LOWER, definition)
    if times.jitter is not None:
        yield _make_metric("step_jitter", times.jitter, "", LOWER, definition)


def _list_readings(readings: Iterable[MfuReading], rates: Iterable[RunMetric]) -> Iterator[RunMetric]:
    """In percent of a peak that the unit names: values in two units are never in one ranking.

    A share above 1 is no measurement: the page warns of it."""
    of_rate = next((f"/{rate.definition}" for rate in rates if rate.name == PER_DIE), "")
    for reading in readings:
        unit = f"% of {reading.peak.tflops:g} {reading.precision} TFLOPS"
        for name, share in (("mfu", reading.mfu), ("hfu", reading.hfu)):
            if share is not None and share <= 1:
                yield _make_metric(f"{name}.{reading.formula}", 100 * share, unit, HIGHER, reading.definition + of_rate)


def _make_metric(name: str, value: float, unit: str, better: Better, definition: str) -> RunMetric:
    return RunMetric(name, value, unit, better, definition=definition, source=MetricSource.CONSOLE)
