"""What the training tool leaves at nothing in a run's block: power, energy, use of the cards, times of phases."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median

from aisbench_core.domain.results.card_samples import POWER
from aisbench_core.domain.results.train_result_info import render_block
from aisbench_core.domain.results.utilisation import CARD_METRICS, mean_use
from aisbench_core.model import CardSample, CollectedResult, MetricSample, PhaseName, PhaseSpan, Run

# Longer without a reading, in periods of the sampler: nobody knows what a card took in that time.
LARGEST_GAP = 3.0

_PREPARATION = (PhaseName.INIT, PhaseName.COMPILE)

_Reading = tuple[float, float]  # seconds since 1970, W


@dataclass(frozen=True, slots=True)
class MeasuredPower:
    """Power of all cards together. `average` over time and `highest` in W, `energy` in J over the time measured.

    `covered_s`: card-seconds between readings. `highest` is the highest sum within a period of the sampler, None if no
    period holds all cards."""

    average: float
    highest: float | None
    energy: float
    covered_s: float

    def coverage(self, cards: int, period: timedelta) -> float | None:
        """The measured share of so many cards over a period, 0 to 1; None for no period."""
        whole = cards * period.total_seconds()
        return min(1.0, self.covered_s / whole) if whole > 0 else None


def measure_power(samples: Iterable[CardSample], cards: int) -> MeasuredPower | None:
    """The power of a run with so many cards; None unless each of them, and no other, was read at least twice in a row.

    Energy is the area under the line through a card's readings (trapezoids); time in gaps is left out."""
    lines: dict[tuple[int, int], dict[float, float]] = defaultdict(dict)
    for sample in samples:
        if sample.name == POWER:
            lines[sample.node, sample.card][sample.at.timestamp()] = sample.value
    readings = [sorted(line.items()) for line in lines.values() if len(line) > 1]
    if len(readings) != cards or not readings:
        return None
    period = median(later - earlier for line in readings for (earlier, _), (later, _) in pairwise(line))
    integrals = [_integrate_line(line, LARGEST_GAP * period) for line in readings]
    if not all(seconds for _, seconds in integrals):
        return None
    energy, covered = (math.fsum(values) for values in zip(*integrals, strict=True))
    average = math.fsum(joules / seconds for joules, seconds in integrals)
    return MeasuredPower(average, _find_highest(readings, period), energy, covered)


def with_power(result: CollectedResult, power: MeasuredPower | None) -> CollectedResult:
    """The result with the measured power in its block; `efficientcy` is the cards' throughput per W: samples per J."""
    if power is None:
        return result
    throughput = math.fsum(rank.throughput for rank in result.rank_results)
    whole = len(result.rank_results) == result.ranks_expected and power.average > 0
    info = replace(
        result.info,
        average_power=power.average,
        max_power=power.highest,
        energy_consumption=power.energy,
        efficientcy=throughput / power.average if whole else None,
    )
    return replace(result, info=info, raw=render_block(info))


def with_utilisation(result: CollectedResult, samples: Sequence[MetricSample]) -> CollectedResult:
    """The result with the mean use of the nodes' cards in its block, from the platform's samples."""
    used = next((mean for name in CARD_METRICS if (mean := mean_use(samples, name)) is not None), None)
    if used is None:
        return result
    info = replace(result.info, resource_util_ratio=used / 100)
    return replace(result, info=info, raw=render_block(info))


def with_phases(result: CollectedResult, run: Run, phases: Sequence[PhaseSpan]) -> CollectedResult:
    """The result with the times of preparation (phases `init` and `compile` before the first `train`), of the first
    loading of data, and of training, as far as its lowest rank reported their beginning and end within the job's time.
    """
    own = [phase for phase in phases if phase.rank == phases[0].rank]
    trains = [phase for phase in own if phase.name is PhaseName.TRAIN]
    began = min((phase.began_at for phase in trains), default=None)
    prepared = [phase for phase in own if phase.name in _PREPARATION and (began is None or phase.began_at < began)]
    info = result.info
    if (period := _find_period(prepared, run)) is not None:
        info = replace(info, prepare_start_time=period[0], prepare_end_time=period[1])
    if (period := _find_period(trains, run)) is not None:
        info = replace(info, proc_start_time=period[0], proc_end_time=period[1])
    return with_data_loading(replace(result, info=info, raw=render_block(info)), run, phases)


def list_phased_keys(before: CollectedResult, after: CollectedResult) -> list[str]:
    """Which times of the block come from phases."""
    return [
        f"{name}_*"
        for name in ("prepare", "dataload", "proc")
        if getattr(before.info, f"{name}_start_time") != getattr(after.info, f"{name}_start_time")
    ]


def _find_period(phases: Sequence[PhaseSpan], run: Run) -> tuple[datetime, datetime] | None:
    """From the first beginning to the last end; None if one is open, or by a clock that is not the job's."""
    ends = [phase.ended_at for phase in phases if phase.ended_at]
    if not phases or len(ends) < len(phases) or run.started_at is None or run.ended_at is None:
        return None
    began, ended = min(phase.began_at for phase in phases), max(ends)
    return (began, ended) if run.started_at <= began <= ended <= run.ended_at else None


def with_data_loading(result: CollectedResult, run: Run, phases: Sequence[PhaseSpan]) -> CollectedResult:
    """The result with the first loading of data, if its lowest rank that reported one did so within the job's time."""
    loaded = next((phase for phase in phases if phase.name is PhaseName.DATA and phase.ended_at), None)
    if loaded is None or run.started_at is None or run.ended_at is None:
        return result
    # The clocks of nodes may be wrong, and the times of a block are compared with each other.
    if loaded.ended_at is None or loaded.began_at < run.started_at or loaded.ended_at > run.ended_at:
        return result
    info = replace(result.info, dataload_start_time=loaded.began_at, dataload_end_time=loaded.ended_at)
    return replace(result, info=info, raw=render_block(info))


def _integrate_line(line: Sequence[_Reading], largest_gap: float) -> tuple[float, float]:
    """Energy in J and the time that it covers in s."""
    parts = list(_iter_parts(line, largest_gap))
    return math.fsum(joules for joules, _ in parts), math.fsum(seconds for _, seconds in parts)


def _iter_parts(line: Sequence[_Reading], largest_gap: float) -> Iterator[tuple[float, float]]:
    for (began, before), (ended, after) in pairwise(line):
        if ended - began <= largest_gap:
            yield (before + after) / 2 * (ended - began), ended - began


def _find_highest(readings: Sequence[Sequence[_Reading]], period: float) -> float | None:
    """Nodes are not read at the same moments, so that their readings of one period are added."""
    sums: dict[int, list[float]] = defaultdict(list)
    for line in readings:
        highest: dict[int, float] = {}
        for at, watts in line:
            number = int(at // period)
            highest[number] = max(watts, highest.get(number, 0.0))
        for number, watts in highest.items():
            sums[number].append(watts)
    return max((math.fsum(values) for values in sums.values() if len(values) == len(readings)), default=None)
