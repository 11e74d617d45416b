"""The matrix of a series: which attempt counts, what the statistics say, and what is lost."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.base.errors import SpecError
from aisbench_core.model import Better, CellState, Combined, RunMetric, RunState, SeriesState
from aisbench_core.running.series.matrix import Matrix
from aisbench_core.warehouse.values.runs import CheckLevel
from tests import records as a
from tests.actors import named
from tests.flow.following import PERSON
from tests.series_bench import SeriesBench


@pytest.fixture
def bench(tmp_path: Path) -> SeriesBench:
    return SeriesBench.on(tmp_path / "data")


def states(matrix: Matrix) -> list[CellState]:
    return [cell.shown.state for cell in matrix.cells]


def test_only_valid_runs_are_in_the_statistics_and_n_says_so(bench: SeriesBench) -> None:
    series = bench.launch(repeats=6)
    for speed in (190.0, 200.0, 205.0, 210.0, 230.0):
        (run,) = bench.admit()
        bench.end(run, speed)
    (run,) = bench.admit()
    bench.end(run, 900.0, state=RunState.FAILED)

    matrix = bench.look(series)

    (row,) = matrix.rows
    assert row.summary is not None
    assert (row.summary.count, len(row.cells)) == (5, 6)
    assert (row.summary.mean, row.median, row.summary.olympic_mean) == pytest.approx((207, 205, 205))
    assert row.summary.sd == pytest.approx(14.832397)
    assert row.summary.ci_low == pytest.approx(207 * math.exp(-2.776445 * 14.832397 / 207 / 5**0.5))
    assert row.unit == "samples/s"
    assert matrix.state is SeriesState.COMPLETED_WITH_FAILURES


def test_a_row_carries_the_verdict_on_its_runs_and_counts_only_then(bench: SeriesBench) -> None:
    series = bench.launch(node_counts="1,2", repeats=2)
    before = bench.look(series)
    bench.end_all(series)

    rows = bench.look(series).rows

    assert [row.evaluation for row in before.rows] == [None, None]
    assert [row.evaluation and (row.evaluation.node_count, row.evaluation.valid) for row in rows] == [(1, 2), (2, 2)]
    assert (
        [check.id for check in rows[0].evaluation.of_level(CheckLevel.FAIL)] == ["V30"] if rows[0].evaluation else False
    )
    assert bench.look(series).counting == 0, "the bench's runs are copies of each other"


def test_a_lost_cell_runs_again_and_the_valid_attempt_counts(bench: SeriesBench) -> None:
    series = bench.launch(node_counts="1,2", repeats=1)
    for state in (RunState.FAILED, RunState.COMPLETED):
        (run,) = bench.admit()
        bench.end(run, 100.0, state=state)
    lossy = bench.look(series)

    with ThreadPoolExecutor(2) as people:
        list(people.map(lambda who: _rerun(bench, series.series_id, who), ("ann", "bob")))
    (again,) = bench.admit()
    bench.end(again, 210.0)

    matrix = bench.look(series)
    first = matrix.cells[0]
    assert states(lossy) == [CellState.FAILED, CellState.VALID]
    assert [tried.state for tried in first.tries] == [CellState.FAILED, CellState.VALID], "two people, one attempt"
    assert (first.shown.number, first.shown.throughput) == (2, 210.0)
    assert matrix.state is SeriesState.COMPLETED
    with pytest.raises(SpecError, match="none has ended without a valid result"):
        bench.core.series.rerun(series.series_id, named(PERSON))


def _rerun(bench: SeriesBench, series_id: str, who: str) -> None:
    try:
        bench.core.series.rerun(series_id, named(who))
    except SpecError:  # the other one was quicker
        return


def test_an_attempt_that_is_rescued_later_counts_again(bench: SeriesBench) -> None:
    series = bench.launch(repeats=1)
    (run,) = bench.admit()
    bench.end(run, state=RunState.FAILED)
    bench.core.series.rerun(series.series_id, named(PERSON))
    (second,) = bench.admit()
    bench.end(second, state=RunState.STOPPED)

    bench.end(run, 222.0)

    assert bench.look(series).cells[0].shown.number == 1
    assert bench.look(series).state is SeriesState.COMPLETED


def test_a_result_that_is_not_valid_counts_as_lost(bench: SeriesBench) -> None:
    series = bench.launch(repeats=1)
    (run,) = bench.admit()
    ended = bench.end(run)
    record = a.record(run.run_id, accuracy=7.0, region="sandbox", rehearsal=True)

    bench.core.warehouse.record(replace(record, run=ended))

    assert states(bench.look(series)) == [CellState.INVALID]
    assert bench.look(series).lost == 1


def test_stopping_cancels_what_is_to_come_and_stops_what_is_active(bench: SeriesBench) -> None:
    series = bench.launch(repeats=3)
    (run,) = bench.admit()

    bench.core.series.stop(series.series_id, named(PERSON))
    stopping = bench.core.ledger.get(run.run_id).state
    bench.end(run, state=RunState.STOPPED)
    again = bench.core.series.stop(series.series_id, named(PERSON))
    bench.core.series.rerun(series.series_id, named(PERSON))

    assert stopping is RunState.STOPPING
    assert again.state is SeriesState.STOPPED
    assert states(again) == [CellState.STOPPED, CellState.CANCELLED, CellState.CANCELLED]
    assert bench.end_all(series).state is SeriesState.COMPLETED


def test_code_that_changed_meanwhile_is_told(bench: SeriesBench) -> None:
    series = bench.launch(repeats=2)
    (run,) = bench.admit()
    ended = bench.end(run)
    bench.core.ledger.advance(ended, replace(ended, code_sha256="5eed" * 16))
    bench.end_all(series)

    assert bench.look(series).codes == 2


@pytest.mark.parametrize(("better", "best"), [(Better.LOWER, 8), (Better.HIGHER, 16), (Better.NEITHER, None)])
def test_a_metric_stands_in_place_of_throughputs_with_its_own_best_row(
    better: Better, best: int | None, bench: SeriesBench
) -> None:
    series = bench.launch(values="batch_size=8,16", repeats=2, budget=40)
    for energy in (4.0, 8.0, None, 8.2):
        (run,) = bench.admit()
        metrics = () if energy is None else (RunMetric("energy", energy, "J/token", better, Combined.MEAN),)
        bench.end(run, 200.0, metrics=metrics)

    matrix = bench.core.series.matrix(series.series_id, "energy")

    assert bench.core.series.list_metrics(bench.look(series)) == ["energy"]
    assert [(row.values, row.unit) for row in matrix.rows] == [([4.0], "J/token"), ([8.0, 8.2], "J/token")]
    assert (matrix.best.row.planned.parameters["batch_size"] if matrix.best else None) == best
    assert [row.unit for row in bench.core.series.matrix(series.series_id, "gone").rows] == ["samples/s"] * 2
