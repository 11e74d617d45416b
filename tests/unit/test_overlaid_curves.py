"""Curves of several runs over one axis: from logs and event files, by step or by time, smoothed as TensorBoard does."""

from datetime import UTC, datetime, timedelta

import pytest

from aisbench_core.domain.summaries.curves import CurvePoint, RunCurves, TrainingCurve
from aisbench_core.model import TrainingPoint
from aisbench_core.running.progress.overlaid_curves import (
    MOST_DRAWN,
    CurveAxis,
    OverlaidCurve,
    RunTraining,
    list_quantities,
    overlay_curves,
    smooth_values,
)

BEGAN = datetime(2026, 11, 28, tzinfo=UTC)


def logged(*losses: float | None, every_s: float = 10.0, first_step: int = 0) -> RunTraining:
    return RunTraining(
        [
            TrainingPoint(BEGAN + timedelta(seconds=every_s * index), step=first_step + index, loss=loss)
            for index, loss in enumerate(losses)
        ]
    )


def written(tag: str, *values: float) -> RunTraining:
    points = tuple(CurvePoint(10 * index, 100.0 + index, value) for index, value in enumerate(values))
    curve = TrainingCurve("", tag, points, len(values), 0, min(values), max(values), points[-1])
    return RunTraining(curves=RunCurves((curve,), 1))


def test_what_any_run_has_a_line_of_is_offered_logs_first() -> None:
    trainings = {"a": logged(2.0, 1.0), "b": written("acc", 0.1, 0.2), "c": written("loss", 3.0, 2.0), "d": logged(1.0)}

    assert list_quantities(trainings) == ("loss", "acc")
    assert list_quantities({"d": logged(1.0), "e": RunTraining()}) == ()


def test_curves_lie_over_steps_or_over_the_time_since_each_runs_first_point() -> None:
    trainings = {"a": logged(2.0, None, 1.0), "b": logged(3.0, 2.5, every_s=5.0, first_step=7), "c": RunTraining()}

    by_step = overlay_curves(trainings, "loss", CurveAxis.STEP)
    by_time = overlay_curves(trainings, "loss", CurveAxis.TIME)

    assert by_step == (OverlaidCurve("a", (0, 2), (2.0, 1.0)), OverlaidCurve("b", (7, 8), (3.0, 2.5)))
    assert [curve.places for curve in by_time] == [(0.0, 20.0), (0.0, 5.0)]


def test_a_tag_of_event_files_is_a_curve_too() -> None:
    (curve,) = overlay_curves({"a": written("acc", 0.1, 0.2, 0.4)}, "acc", CurveAxis.TIME)

    assert curve == OverlaidCurve("a", (0.0, 1.0, 2.0), (0.1, 0.2, 0.4))


def test_a_long_log_is_thinned_and_keeps_its_newest_point() -> None:
    (curve,) = overlay_curves({"a": logged(*map(float, range(5000)))}, "loss", CurveAxis.STEP)

    assert len(curve.places) <= MOST_DRAWN
    assert curve.places[-1] == 4999


def test_smoothing_has_no_bias_to_zero_and_keeps_a_constant() -> None:
    assert smooth_values([5.0, 5.0, 5.0], 0.9) == pytest.approx([5.0, 5.0, 5.0])
    assert smooth_values([1.0, 3.0], 0.5) == pytest.approx([1.0, (0.5 * 0.5 * 1 + 0.5 * 3) / 0.75])
    assert smooth_values([1.0, 3.0], 0.0) == (1.0, 3.0)


def test_steps_that_were_done_again_after_a_restart_count_once() -> None:
    points = [
        TrainingPoint(BEGAN + timedelta(seconds=at), step=step, loss=float(at))
        for at, step in enumerate([100, 200, 300, 150, 200, 250])
    ]

    (curve,) = overlay_curves({"a": RunTraining(points)}, "loss", CurveAxis.STEP)

    assert (curve.places, curve.values) == ((100, 150, 200, 250), (0.0, 3.0, 4.0, 5.0))
