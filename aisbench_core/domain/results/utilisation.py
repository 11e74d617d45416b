"""Finds nodes whose cards were hardly used for minutes, and the likely reason (training guide, section 4.6)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean

from aisbench_core.base.messages import Message
from aisbench_core.model import MetricSample

# The platform warns below this mean; a compilation or an evaluation of some minutes is no reason to warn.
LOW_PERCENT = 50.0
LONG_ENOUGH = timedelta(minutes=10)

# Samples are a minute apart: after a longer gap nobody knows what happened in between.
LARGEST_GAP = timedelta(minutes=2)
IDLE_PERCENT, BUSY_PERCENT = 1.0, 80.0
IDLE_PROCESSOR_PERCENT = 3.0  # what an operating system and an agent of the platform take

_MEMORY_OF = {"npuUtil": "npuMemUsage", "gpuUtil": "gpuMemUsage"}
_PROCESSOR = "cpuUsage"

# The platform's names for the use of a card, in percent.
CARD_METRICS = tuple(_MEMORY_OF)


@dataclass(frozen=True, slots=True)
class LowUtilisation:
    """A time in which the cards of a node were used less than LOW_PERCENT. `mean`: percent, of its samples.

    `reason` is the likely one, from what else was measured in that time."""

    node: int
    metric: str
    since: datetime
    until: datetime
    mean: float
    reason: Message


def measured_until(samples: Sequence[MetricSample]) -> tuple[datetime | None, datetime | None]:
    """The newest samples of cards that compute, and of cards at all; None: there is none.

    Where no card is measured, as on nodes without any, the processors count."""
    cards = [sample for sample in samples if sample.name in _MEMORY_OF and 0 <= sample.value <= 100]
    processors = [sample for sample in samples if sample.name == _PROCESSOR and 0 <= sample.value <= 100]
    measured, lowest = (cards, IDLE_PERCENT) if cards else (processors, IDLE_PROCESSOR_PERCENT)
    computing = (sample.at for sample in measured if sample.value >= lowest)
    return max(computing, default=None), max((sample.at for sample in measured), default=None)


def busiest_metric(samples: Sequence[MetricSample]) -> str | None:
    """The metric that says how much the nodes compute: their cards' use, or their processors' where that is unknown."""
    measured = {sample.name for sample in samples if 0 <= sample.value <= 100}
    return next((name for name in (*_MEMORY_OF, _PROCESSOR) if name in measured), None)


def mean_use(samples: Sequence[MetricSample], metric: str) -> float | None:
    """The mean of a metric in percent over a run's nodes and time; None: not measured."""
    values = [sample.value for sample in samples if sample.name == metric and 0 <= sample.value <= 100]
    return fmean(values) if values else None


def low_utilisation(samples: Sequence[MetricSample]) -> list[LowUtilisation]:
    """For each node and kind of cards the longest such time of at least LONG_ENOUGH, if any, by node.

    Values outside 0 to 100 (the platform's -1) are not measured: they end a time like a gap does."""
    by_node: dict[int, dict[str, list[MetricSample]]] = defaultdict(lambda: defaultdict(list))
    for sample in sorted(samples, key=lambda sample: sample.at):
        by_node[sample.node][sample.name].append(sample)
    found = []
    for node, measured in sorted(by_node.items()):
        for metric in _MEMORY_OF.keys() & measured.keys():
            longest = max(_low_times(measured[metric]), key=lambda low: low[-1].at - low[0].at, default=None)
            if longest:
                since, until = longest[0].at, longest[-1].at
                mean = fmean(sample.value for sample in longest)
                reason = _explain_idling(mean, metric, _compute_means(measured, since, until))
                found.append(LowUtilisation(node, metric, since, until, mean, reason))
    return found


def _low_times(samples: Sequence[MetricSample]) -> Iterator[list[MetricSample]]:
    low: list[MetricSample] = []
    for sample in samples:
        is_low = 0 <= sample.value < LOW_PERCENT
        if low and (not is_low or sample.at - low[-1].at > LARGEST_GAP):
            yield from _if_long(low)
            low = []
        if is_low:
            low.append(sample)
    yield from _if_long(low)


def _if_long(low: list[MetricSample]) -> Iterator[list[MetricSample]]:
    if low and low[-1].at - low[0].at >= LONG_ENOUGH:
        yield low


def _compute_means(
    measured: Mapping[str, Sequence[MetricSample]], since: datetime, until: datetime
) -> dict[str, float]:
    """The mean of each metric in this time, without values that are not measured."""
    values = {
        name: [sample.value for sample in samples if since <= sample.at <= until and 0 <= sample.value <= 100]
        for name, samples in measured.items()
    }
    return {name: fmean(measurements) for name, measurements in values.items() if measurements}


def _explain_idling(mean: float, metric: str, means: Mapping[str, float]) -> Message:
    processor, memory = means.get(_PROCESSOR), means.get(_MEMORY_OF[metric])
    if mean < IDLE_PERCENT:
        return Message("the cards compute nothing: the job compiles, waits for data, or hangs")
    if processor is not None and processor >= BUSY_PERCENT:
        return Message(
            "the processor is busy ({processor:.0f} %): read and augment data in parallel", processor=processor
        )
    if memory is not None and memory < LOW_PERCENT:
        return Message("only {memory:.0f} % of the cards' memory is used: a larger batch may help", memory=memory)
    return Message("reading data, saving checkpoints or logging may hold up the training")
