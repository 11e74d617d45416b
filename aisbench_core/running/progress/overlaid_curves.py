"""Curves of several runs over one axis: what their logs, and the event files of their code, said of the training."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from aisbench_core.domain.progress.points import thin_points
from aisbench_core.domain.summaries.curves import RunCurves, TrainingCurve
from aisbench_core.model import TrainingPoint

MOST_DRAWN = 400
"""Points of a curve: more are no longer apart in the width of a page."""
MOST_SMOOTH = 0.99


class LoggedQuantity(StrEnum):
    """What logs say of a training, whatever its code writes into event files."""

    LOSS = "loss"
    THROUGHPUT = "throughput"
    STEP_TIME = "step_s"


class CurveAxis(StrEnum):
    """What curves are drawn over: the step, or the seconds since each run's first point."""

    STEP = "step"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class RunTraining:
    """What is known of one run's training: the points of its log, oldest first, and its event files."""

    points: Sequence[TrainingPoint] = ()
    curves: RunCurves = field(default_factory=RunCurves)


@dataclass(frozen=True, slots=True)
class OverlaidCurve:
    """One run's curve: `places` on the axis (a step, or seconds), in order, and the `values` there."""

    run_id: str
    places: tuple[float, ...]
    values: tuple[float, ...]


_VALUES: Mapping[str, Callable[[TrainingPoint], float | None]] = {
    LoggedQuantity.LOSS: lambda point: point.loss,
    LoggedQuantity.THROUGHPUT: lambda point: point.throughput,
    LoggedQuantity.STEP_TIME: lambda point: point.step_s,
}


def list_quantities(trainings: Mapping[str, RunTraining]) -> tuple[str, ...]:
    """What any of the runs has a curve of: quantities of logs, then tags of event files, each with two values."""
    logged = [name for name in LoggedQuantity if any(_has_line(each, name) for each in trainings.values())]
    tags = (curve.tag for each in trainings.values() for curve in each.curves.curves if curve.count > 1)
    return (*logged, *sorted({*tags} - {*logged}))


def overlay_curves(
    trainings: Mapping[str, RunTraining], quantity: str, axis: CurveAxis, smoothing: float = 0.0
) -> tuple[OverlaidCurve, ...]:
    """The curve of each run that has one. `smoothing`: 0 (none) to MOST_SMOOTH."""
    pairs = {run_id: _list_pairs(each, quantity, axis) for run_id, each in trainings.items()}
    return tuple(
        OverlaidCurve(run_id, tuple(place for place, _ in own), smooth_values([value for _, value in own], smoothing))
        for run_id, own in pairs.items()
        if len(own) > 1
    )


def smooth_values(values: Sequence[float], weight: float) -> tuple[float, ...]:
    """The exponential moving average without its bias to 0, as TensorBoard computes it."""
    mean, smooth = 0.0, []
    for count, value in enumerate(values, 1):
        mean = weight * mean + (1 - weight) * value
        smooth.append(mean / (1 - weight**count))
    return tuple(smooth)


def _has_line(training: RunTraining, quantity: str) -> bool:
    return sum(_VALUES[quantity](point) is not None for point in training.points) > 1


def _list_pairs(training: RunTraining, quantity: str, axis: CurveAxis) -> Sequence[tuple[float, float]]:
    if quantity not in _VALUES:
        curve = next((each for each in training.curves.curves if each.tag == quantity), None)
        return sorted(_list_scalars(curve, axis)) if curve else ()
    read = _VALUES[quantity]
    points = [point for point in training.points if read(point) is not None]
    thinned = thin_points(points, MOST_DRAWN) if points else ()
    pairs: list[tuple[float, float]] = []
    for point in thinned:
        place, value = _place_point(point, points[0], axis), read(point)
        if place is not None and value is not None:
            while pairs and pairs[-1][0] >= place:  # begun anew from a checkpoint: what was done twice counts once
                pairs.pop()
            pairs.append((place, value))
    return pairs


def _place_point(point: TrainingPoint, first: TrainingPoint, axis: CurveAxis) -> float | None:
    return point.step if axis is CurveAxis.STEP else (point.at - first.at).total_seconds()


def _list_scalars(curve: TrainingCurve, axis: CurveAxis) -> Sequence[tuple[float, float]]:
    start = min((point.time for point in curve.points), default=0.0)
    return [(point.step if axis is CurveAxis.STEP else point.time - start, point.value) for point in curve.points]
