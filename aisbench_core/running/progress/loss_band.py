"""What the loss of a configuration usually is at each step: the middle half of earlier runs of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from aisbench_core.model import TrainingPoint

FEWEST_RUNS = 3
MOST_STEPS = 240


@dataclass(frozen=True, slots=True)
class LossBand:
    """Quartiles of the loss of `runs` earlier runs, at increasing `steps`; epochs where their logs name no steps.

    Where fewer than FEWEST_RUNS say a loss, there is no band."""

    runs: int
    is_by_epoch: bool
    steps: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def at(self, point: TrainingPoint) -> tuple[float, float] | None:
        """The quartiles at a point's step, between those that are known; None outside of them."""
        step = _get_step(point, by_epoch=self.is_by_epoch)
        if step is None or not self.steps[0] <= step <= self.steps[-1]:
            return None
        import numpy as np

        return float(np.interp(step, self.steps, self.lower)), float(np.interp(step, self.steps, self.upper))


def loss_band(trainings: Sequence[Sequence[TrainingPoint]]) -> LossBand | None:
    """The band of earlier trainings, each with its points by time; None if too few of them say a loss."""
    by_epoch = not any(point.loss is not None and point.step is not None for points in trainings for point in points)
    curves = [curve for points in trainings if len(curve := _to_curve(points, by_epoch=by_epoch)) > 1]
    if len(curves) < FEWEST_RUNS:
        return None
    import numpy as np  # takes 0.1 s, which commands need not wait for

    steps = _thin_steps(sorted({step for curve in curves for step in curve}))
    values = np.array(
        [np.interp(steps, [*curve], [*curve.values()], left=np.nan, right=np.nan) for curve in curves]
    )  # a row for each run
    is_known = np.count_nonzero(~np.isnan(values), axis=0) >= FEWEST_RUNS
    if not is_known.any():
        return None
    lower, upper = np.nanquantile(values[:, is_known], [0.25, 0.75], axis=0).tolist()
    known = tuple(step for step, is_one in zip(steps, is_known, strict=True) if is_one)
    return LossBand(len(curves), by_epoch, known, tuple(lower), tuple(upper))


def _to_curve(points: Sequence[TrainingPoint], *, by_epoch: bool) -> dict[float, float]:
    """The loss by step, in their order; a restarted training says some of them again, and the last word counts."""
    losses = {
        step: point.loss
        for point in points
        if point.loss is not None and (step := _get_step(point, by_epoch=by_epoch)) is not None
    }
    return dict(sorted(losses.items()))


def _get_step(point: TrainingPoint, *, by_epoch: bool) -> float | None:
    return point.epoch if by_epoch else point.step


def _thin_steps(steps: Sequence[float]) -> Sequence[float]:
    every = -(-len(steps) // MOST_STEPS)
    return [*steps[:-1:every], steps[-1]]
