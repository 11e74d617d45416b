"""How often the band "is this normal?" holds a result that it has not seen: left out one by one.

`.venv/bin/python -m pytest -s -p no:xdist tests/bench/test_prediction.py` prints the shares of 1,000 synthetic results
for each kind of evidence: many runs of the configuration, a few, and none but those of other versions.
"""

import math
from datetime import timedelta
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest

from aisbench_core.domain.statistics.prediction import Sample, predict_band
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery, Validity
from tests.bench import many_runs
from tests.bench.warehouses import copy_runs, median_ms

RESULTS = 1000


@pytest.mark.parametrize(
    ("configurations", "runs", "is_new"),
    [(1, 20, False), (1, 6, False), (5, 3, False), (8, 2, False), (5, 4, True), (10, 2, True), (20, 1, True)],
)
def test_the_band_holds_what_it_promises(
    configurations: int, runs: int, is_new: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    made = np.random.default_rng(7)
    held = tried = 0
    while tried < RESULTS:
        values = _make_results(made, configurations, runs)
        for index, own in enumerate(values):
            others = [_describe(each) for at, each in enumerate(values) if at != index]
            for value in own:
                left = None if is_new else _describe(own).leave_out(value)
                band = predict_band(left, others)
                assert band
                held += band.low <= value <= band.high
                tried += 1

    with capsys.disabled():
        kind = "of other configurations only" if is_new else "beside it"
        print(f"\n{configurations:3} configurations × {runs:2} runs, {kind}: {held / tried:.3f} of {tried}")
    assert 0.93 <= held / tried <= 0.97


def _make_results(made: np.random.Generator, configurations: int, runs: int) -> list[list[float]]:
    """Versions scatter by 3 %, runs by 0.3 to 4 %."""
    spread = float(made.uniform(0.003, 0.04))
    levels = [float(made.normal(math.log(200), 0.03)) for _ in range(configurations)]
    return [[math.exp(made.normal(level, spread)) for _ in range(runs)] for level in levels]


def _describe(values: list[float]) -> Sample:
    return Sample(len(values), fmean(values), stdev(values) if len(values) > 1 else 0.0)


def test_the_answer_does_not_take_longer_with_a_longer_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record_many(many_runs.many_runs(6000))
    times = [_time_answer(warehouse)]
    copy_runs(warehouse, 24, timedelta(minutes=6000))
    times.append(_time_answer(warehouse))

    with capsys.disabled():
        print("\nis this normal? {:.1f} ms of 6,000 runs, {:.1f} ms of 150,000".format(*times))
    assert times[1] < 4 * times[0]


def _time_answer(warehouse: Warehouse) -> float:
    page = warehouse.runs.list_rows(BoardQuery(many_runs.REGION, validity=Validity.VALID, limit=1))
    return median_ms(lambda: warehouse.runs.expect_run(page.rows[0]))
