"""Metrics that the console computes when it collects a run."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.domain.results.derived_metrics import Measured, derive_metrics
from aisbench_core.domain.results.measured_block import measure_power, with_power
from aisbench_core.domain.results.progress import ProgressPoint, read_progress
from aisbench_core.model import Better, CardSample, RunAttempt, RunMetric, StepTime
from tests import records as a


def measured(unit: str, *, watts: float = 500) -> Measured:
    """A run of one card at 200 of a unit per second, whose power was read in half of its ten minutes."""
    spec = a.spec(node_count=1, cards_per_node=1)
    record = a.record(node_count=1, cards_per_node=1)
    run = record.run
    assert run.started_at is not None
    samples = [CardSample(run.started_at + timedelta(seconds=10 * n), 0, 0, "power", watts) for n in range(31)]
    result = with_power(a.result(spec, [200.0]), measure_power(samples, 1))
    return Measured(run, replace(record.workload, throughput_unit=unit), "", result, card_samples=samples)


@pytest.mark.parametrize(("unit", "name"), [("samples/s", "energy_per_sample"), ("tokens/s", "energy_per_token")])
def test_energy_is_counted_for_each_sample_or_token(unit: str, name: str) -> None:
    metrics = {metric.name: metric for metric in derive_metrics(measured(unit))[0]}

    assert metrics[name].value == pytest.approx(2.5)
    assert metrics[name].unit == f"J/{name.removeprefix('energy_per_')}"
    assert metrics["power_coverage"].value == pytest.approx(0.5)


@pytest.mark.parametrize("unit", ["1/s", "TFLOPS", "epochs/h", "图像/s", "s/s"])
def test_what_is_no_count_per_second_has_no_energy(unit: str) -> None:
    assert not [metric for metric in derive_metrics(measured(unit))[0] if metric.name.startswith("energy_per")]


def test_numbers_that_no_formula_can_work_with_cost_only_its_metrics() -> None:
    endless = StepTime(0, 0, 0, a.T0, 1, a.T0, 1e300, 16, None)

    metrics, failed = derive_metrics(replace(measured("samples/s"), steps=[endless]))

    assert {"energy_per_sample", "steps"} <= {metric.name for metric in metrics}
    assert ["measure_goodput failed with" in str(problem) for problem in failed] == [True]


def of_losses(points: Sequence[ProgressPoint], target: float | None = 2.5, **changes: Any) -> dict[str, RunMetric]:
    """The metrics about the loss, by name."""
    one = measured("tokens/s")
    facts = replace(one.workload, loss_target=target)
    metrics, failed = derive_metrics(replace(one, workload=facts, progress=points, **changes))
    assert not failed
    return {metric.name: metric for metric in metrics if "loss" in metric.name}


FALLING = [ProgressPoint(step, 10.0 * step, loss=4.0 - step / 2) for step in range(1, 5)]


def test_a_loss_that_came_down_to_its_target_has_the_time_of_the_first_such_step() -> None:
    metrics = of_losses([*FALLING, ProgressPoint(5, 50.0, loss=3.9)])

    assert {name: metric.value for name, metric in metrics.items()} == {
        "loss_target": 2.5,
        "lowest_loss": 2.0,
        "time_to_loss_target_s": 30.0,
    }
    assert {metric.better for metric in metrics.values()} == {Better.LOWER}
    assert metrics["time_to_loss_target_s"].definition == "target/loss/training/2.5"


def test_a_loss_that_missed_its_target_has_no_time_to_it_and_no_number_for_it() -> None:
    assert {*of_losses(FALLING, target=1.9)} == {"loss_target", "lowest_loss"}
    assert {*of_losses([ProgressPoint(1, 10.0)])} == {"loss_target"}, "nothing was measured, so nothing was missed"
    assert of_losses(FALLING, target=None) == {}


def test_losses_of_tests_count_where_there_are_any() -> None:
    tested = [ProgressPoint(4, 45.0, epoch=1, loss=2.4, is_evaluation=True)]

    metrics = of_losses([*FALLING, *tested])

    assert (metrics["lowest_loss"].value, metrics["lowest_loss"].definition) == (2.4, "loss/evaluation")
    assert metrics["time_to_loss_target_s"].value == 45.0
    assert metrics["epochs_to_loss_target"].value == 1


def test_a_run_that_began_again_has_no_time_to_its_loss() -> None:
    again = [RunAttempt(number, a.T0) for number in (1, 2)]

    assert {*of_losses(FALLING, attempts=again)} == {"loss_target", "lowest_loss"}


def test_losses_are_read_from_what_the_reporter_prints_and_none_is_invented(tmp_path: Path) -> None:
    lines = [
        '{"step": 1, "seconds": 1, "loss": 3.5}',
        '{"step": 2, "seconds": 2, "loss": NaN}',
        '{"step": 3, "seconds": 3}',
        '{"step": 1, "seconds": 4, "loss": 3.1, "stage": "evaluate"}',
        '{"step": 5, "seconds": 5, "loss": "low"}',
    ]
    (tmp_path / "log").write_text("".join(f"aisbench: progress {line}\n" for line in lines))

    points = read_progress(tmp_path / "log")

    assert [(point.step, point.loss, point.is_evaluation) for point in points] == [
        (1, 3.5, False), (2, None, False), (3, None, False), (1, 3.1, True), (5, None, False),
    ]  # fmt: skip
