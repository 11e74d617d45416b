"""How fast a run trained a language model, with everything that the numbers were divided by."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from aisbench_core.base.messages import Message
from aisbench_core.domain.llm.chips import Chip, Chips, explain_missing_peak
from aisbench_core.domain.llm.llm_settings import LlmRun
from aisbench_core.domain.llm.mfu import MfuReading, Trained, list_readings
from aisbench_core.domain.llm.tokens import TokenRate, TrainingStep
from aisbench_core.model import MetricSource, RunMetric, StepTime

TOKENS = "tokens_per_s"
NOMINAL = "nominal_tokens_per_s"
PER_DIE = "tokens_per_s_per_die"
TOKENS_UNIT = "tokens/s"
COUNTED_BY, PRINTED_BY, NOMINAL_BY = "tokens/counted", "tokens/printed", "tokens/nominal"
"""Ids of how tokens were counted: by all ranks, by the framework in its log, or as global batch x sequence."""


@dataclass(frozen=True, slots=True)
class LlmTraining:
    """A run that trained a language model. `metrics`: all of the run, by name.

    `readings` are empty where `why_no_mfu` says why."""

    run: LlmRun
    metrics: Mapping[str, RunMetric]
    chip: Chip | None
    readings: tuple[MfuReading, ...]
    why_no_mfu: Message | None
    missed_target: bool = False

    @property
    def rate(self) -> TokenRate:
        """Tokens per second of the job, as they were counted and nominally."""
        rate, nominal = _find_own(self.metrics, TOKENS), _find_own(self.metrics, NOMINAL)
        counted = rate.value if rate and not rate.definition.startswith(NOMINAL_BY) else None
        return TokenRate(counted, nominal.value if nominal else None)


def describe_training(run: LlmRun, metrics: Iterable[RunMetric], named: str, chips: Chips) -> LlmTraining:
    """The training of a run with these metrics, on the chip that `named` names: empty if nothing does."""
    by_name, chip = {metric.name: metric for metric in metrics}, chips.find(named)
    rate = _find_own(by_name, PER_DIE)
    problem = _find_problem(run, by_name, chip, named)
    readings: tuple[MfuReading, ...] = ()
    if not problem and rate and chip and run.shape and run.sequence and run.precision:
        readings = list_readings(Trained(run.shape, run.sequence, run.precision, chip), rate.value, run.recomputation)
    return LlmTraining(run, by_name, chip, readings, problem)


def _find_own(metrics: Mapping[str, RunMetric], name: str) -> RunMetric | None:
    """A rate that this console computed: what a job reports under its name may be anything."""
    metric = metrics.get(name)
    return metric if metric and metric.source is MetricSource.CONSOLE and metric.unit == TOKENS_UNIT else None


def _find_problem(run: LlmRun, metrics: Mapping[str, RunMetric], chip: Chip | None, named: str) -> Message | None:
    if _find_own(metrics, PER_DIE) is None:
        if _find_own(metrics, NOMINAL):  # it stands alone only then
            return Message("some ranks counted their tokens and others did not, so that there is no rate")
        return Message("no tokens were counted within the measured steps")
    if run.shape is None or run.sequence is None:
        return Message("the manifest does not state the model's shape and the sequence length")
    if chip is None or run.precision is None or not chip.list_peaks(run.precision):
        return explain_missing_peak(chip, named, run.precision, run.stated_precision)
    return None


def join_servers(times: Sequence[StepTime], ranks: int, servers: int) -> list[list[TrainingStep]]:
    """The steps of each server that trains alone; `ranks`: of all."""
    if servers == 1:
        return [join_ranks(times, ranks)]
    return [
        join_ranks([time for time in times if time.server == server], ranks // servers) for server in range(servers)
    ]


def join_ranks(times: Sequence[StepTime], ranks: int) -> list[TrainingStep]:
    """The steps of the whole job. Tokens of a step are known if all of so many ranks counted theirs."""
    by_number: dict[int, dict[int, StepTime]] = {}
    for time in times:  # a later process repeats steps, and its reports come later
        by_number.setdefault(time.number, {})[time.rank] = time
    return [_join_step(number, list(by_rank.values()), ranks) for number, by_rank in sorted(by_number.items())]


def _join_step(number: int, times: Sequence[StepTime], ranks: int) -> TrainingStep:
    counts = [time.tokens for time in times if time.tokens is not None]
    counted = sum(counts)  # 0: nobody counts
    tokens = counted if counted and len(counts) == ranks else None
    seconds = max(time.seconds for time in times)
    return TrainingStep(number, seconds, tokens, is_partly_counted=bool(counted) and tokens is None)
