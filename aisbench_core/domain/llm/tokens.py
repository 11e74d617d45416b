"""Rates of tokens over a window of steps, per card and per die, and what the step times say."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MOST_APART = 0.01
"""How far real and nominal tokens may be apart, as a share, without a warning."""

LEAST_COUNTED = 0.9
"""Of the steps of a window, that all ranks must have counted: the few others are left out of the rate."""


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """One step of the whole job: how long its slowest rank took, and the tokens that all ranks counted, if they did.

    `is_partly_counted`: only some ranks did."""

    number: int
    seconds: float
    tokens: float | None = None
    is_partly_counted: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """The steps that are measured: from `first` to `last`, both included; None: to the end of the training."""

    first: int
    last: int | None

    def select(self, steps: Iterable[TrainingStep]) -> tuple[TrainingStep, ...]:
        """Those inside, in their order; of a step that was trained again, the last time."""
        inside = {step.number: step for step in steps if self.first <= step.number <= (self.last or step.number)}
        return tuple(inside[number] for number in sorted(inside))


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Of the steps of a window, in seconds. `jitter`: standard deviation / mean; None of a single step.

    `first`, `last`, `count`: which steps there were, whatever was declared."""

    first: int
    last: int
    count: int
    p50_s: float
    p95_s: float
    p99_s: float
    jitter: float | None


@dataclass(frozen=True, slots=True)
class TokenRate:
    """Tokens per second of the whole job. `nominal`: global batch × sequence per step, whatever was in it.

    `counted` None: no rank counted its tokens; or too few did, `is_partly_counted`."""

    counted: float | None
    nominal: float | None
    is_partly_counted: bool = False

    @property
    def value(self) -> float | None:
        """What other numbers are computed from: real tokens, and nominal ones only where nobody counted."""
        return self.nominal if self.counted is None and not self.is_partly_counted else self.counted

    @property
    def excess(self) -> float | None:
        """By which share of the real tokens the nominal ones exceed them; None within 1 %, and if either is unknown."""
        if not self.counted or self.nominal is None:
            return None
        excess = self.nominal / self.counted - 1
        return excess if abs(excess) > MOST_APART else None


@dataclass(frozen=True, slots=True)
class Devices:
    """What trained: a rank drives one die, and a card has `dies_per_card` of them."""

    dies: int
    dies_per_card: int = 1

    @property
    def cards(self) -> int:
        """Whole cards, also if dies of the last one were idle."""
        return -(-self.dies // self.dies_per_card)


def summarize_times(steps: Sequence[TrainingStep]) -> StepTimes | None:
    """Percentiles (linear between ranks) and jitter; None without a step."""
    if not steps:
        return None
    seconds = [step.seconds for step in steps]
    jitter = statistics.stdev(seconds) / statistics.fmean(seconds) if len(seconds) > 1 else None
    import numpy as np  # takes 0.1 s, which commands need not wait for

    p50, p95, p99 = map(float, np.percentile(seconds, [50, 95, 99]))
    numbers = [step.number for step in steps]
    return StepTimes(min(numbers), max(numbers), len(steps), p50, p95, p99, jitter)


def compute_rate(steps: Sequence[TrainingStep], nominal_tokens: float | None) -> TokenRate | None:
    """Σ tokens / Σ seconds of the steps; `nominal_tokens`: of one step. None without a step.

    Tokens are counted only if every step has a count: a sum over some would be too low."""
    seconds = sum(step.seconds for step in steps)
    if not seconds:
        return None
    counts = [step.tokens for step in steps if step.tokens is not None]
    nominal = None if nominal_tokens is None else nominal_tokens * len(steps) / seconds
    if len(counts) == len(steps):
        return TokenRate(sum(counts) / seconds, nominal)
    return TokenRate(None, nominal, bool(counts) or any(step.is_partly_counted for step in steps))


def choose_counted(steps: Sequence[TrainingStep]) -> Sequence[TrainingStep]:
    """The steps that all ranks counted if nearly all are, otherwise all."""
    counted = [step for step in steps if step.tokens is not None]
    return counted if len(counted) >= LEAST_COUNTED * len(steps) else steps


def add_rates(rates: Sequence[TokenRate | None]) -> TokenRate | None:
    """Of servers that train alone; None unless each has one."""
    known = [rate for rate in rates if rate]
    if len(known) < len(rates) or not known:
        return None
    counted = [rate.counted for rate in known if rate.counted is not None]
    nominal = [rate.nominal for rate in known if rate.nominal is not None]
    return TokenRate(
        sum(counted) if len(counted) == len(known) else None,
        sum(nominal) if len(nominal) == len(known) else None,
        any(rate.is_partly_counted for rate in known) or 0 < len(counted) < len(known),
    )
