"""Metrics that the console computes when it collects a run."""

from dataclasses import replace
from datetime import timedelta

import pytest

from aisbench_core.domain.results.derived_metrics import Measured, derive_metrics
from aisbench_core.domain.results.measured_block import measure_power, with_power
from aisbench_core.model import CardSample, StepTime
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
