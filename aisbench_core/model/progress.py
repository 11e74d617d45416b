"""Progress of a training: what its log said, by time."""

import math
from dataclasses import dataclass, replace
from datetime import datetime

MOST_STEPS = 10**12
MOST_STEP_S = 1e7
"""Seconds, four months."""
MOST_LEFT_S = 10 * 365 * 86_400.0
MOST_MEASURED = 1e38
"""Of a loss or a throughput: what float32 holds. Sums of such numbers are finite."""


@dataclass(frozen=True, slots=True)
class TrainingPoint:
    """What was known of a training at a moment; None is not known.

    `step` of `steps`: of the whole training. `epoch` of `epochs`: the one that is trained, from 1. `share`: what is
    done, 0 to 1. `throughput`: of the whole job in the workload's unit, by `cards` of its cards. `step_s`: seconds of
    a step. `stage`: what the training does, in its own words, such as `evaluate`. `left_s`: as the log says it.
    `tokens_per_s`: of the whole job, whatever the workload's unit.
    """

    at: datetime
    step: int | None = None
    """Steps that are done."""
    steps: int | None = None
    """Steps of the whole training."""
    epoch: int | None = None
    """The epoch that is trained, from 1."""
    epochs: int | None = None
    """Epochs of the whole training."""
    share: float | None = None
    """What is done, as a fraction."""
    loss: float | None = None
    """As the log says it."""
    throughput: float | None = None
    """Of the whole job, in the workload's unit."""
    cards: int | None = None
    """Cards whose throughput it is."""
    step_s: float | None = None
    """Seconds of a step."""
    stage: str = ""
    left_s: float | None = None
    """Seconds until it ends, as the log says it."""
    tokens_per_s: float | None = None
    """Of the whole job."""

    @property
    def plausible(self) -> "TrainingPoint":
        """Without what no training can have: logs print negative, endless and unbelievable numbers.

        A step or an epoch beyond the last one is no position."""
        steps, epochs = _check_count(self.steps, 1), _check_count(self.epochs, 1)
        is_beyond = self.step is not None and steps is not None and self.step > steps
        return replace(
            self,
            step=_check_count(self.step, 0, steps),
            steps=steps,
            epoch=_check_count(self.epoch, 1, epochs),
            epochs=epochs,
            share=None if is_beyond else _check_range(self.share, 0.0, 1.0),
            loss=_check_range(self.loss, -MOST_MEASURED, MOST_MEASURED),
            throughput=_check_range(self.throughput, 1 / MOST_MEASURED, MOST_MEASURED),
            cards=_check_count(self.cards, 1),
            step_s=_check_range(self.step_s, 1 / MOST_MEASURED, MOST_STEP_S),
            left_s=_check_range(self.left_s, 0.0, MOST_LEFT_S),
            tokens_per_s=_check_range(self.tokens_per_s, 1 / MOST_MEASURED, MOST_MEASURED),
        )


def _check_count(number: int | None, least: int, most: int | None = None) -> int | None:
    within = number is not None and least <= number <= (MOST_STEPS if most is None else most)
    return number if within else None


def _check_range(number: float | None, least: float, most: float) -> float | None:
    return number if number is not None and math.isfinite(number) and least <= number <= most else None
