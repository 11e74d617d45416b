"""Progress of a training: what its log said, by time."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class TrainingPoint:
    """What was known of a training at a moment; None is not known.

    `step` of `steps`: of the whole training. `epoch` of `epochs`: the one that is trained, from 1. `share`: what is
    done, 0 to 1. `throughput`: of the whole job in the workload's unit, by `cards` of its cards. `step_s`: seconds of
    a step. `stage`: what the training does, in its own words, such as `evaluate`.
    """

    at: datetime
    step: int | None = None
    steps: int | None = None
    epoch: int | None = None
    epochs: int | None = None
    share: float | None = None
    loss: float | None = None
    throughput: float | None = None
    cards: int | None = None
    step_s: float | None = None
    stage: str = ""
