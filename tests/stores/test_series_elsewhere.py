"""A series outlives its ledger, and colleagues who share the warehouse see what was planned and what came of it."""

import shutil
from pathlib import Path

import pytest

from aisbench_core.base.errors import SeriesNotFound
from aisbench_core.model import CellState, RunState, Series, SeriesState
from aisbench_core.running.series.matrix import Matrix
from aisbench_core.warehouse.facade import Warehouse
from tests.actors import TESTER, named
from tests.flow.following import PERSON
from tests.series_bench import SeriesBench


@pytest.fixture
def bench(tmp_path: Path) -> SeriesBench:
    return SeriesBench.on(tmp_path / "data")


def recorded(bench: SeriesBench) -> Series:
    """Two rows, two repeats: one attempt failed and is asked for again, one cell is still to come."""
    series = bench.launch(node_counts="1,2", repeats=2, name="tonight", budget=9)
    for state in (RunState.FAILED, RunState.COMPLETED, RunState.COMPLETED):
        (run,) = bench.admit()
        bench.end(run, 100.0 * run.spec.node_count, state=state)
    return series


def facts(matrix: Matrix) -> list[object]:
    return [(cell.index, cell.repeat, cell.shown.state, cell.shown.throughput) for cell in matrix.cells]


def without_ledger(bench: SeriesBench, folder: Path, ledger: str = "") -> SeriesBench:
    """Another console on the same warehouse, or this one after a loss."""
    shutil.copytree(bench.core.settings.data_dir, folder, ignore=shutil.ignore_patterns("ledger*"))
    return SeriesBench.on(folder, ledger=ledger)


def test_a_colleague_sees_plan_cells_and_statistics_and_can_do_nothing(
    bench: SeriesBench, tmp_path: Path, ledger_url: str
) -> None:
    series = recorded(bench)
    mine = bench.look(series)

    other = without_ledger(bench, tmp_path / "other", ledger_url)
    theirs = other.core.series.matrix(series.series_id[:-1])

    assert theirs.series.plan == mine.series.plan
    assert theirs.series.rows == mine.series.rows
    assert facts(theirs) == facts(mine)
    assert theirs.cells[-1].shown.state is CellState.PLANNED
    assert [row.summary for row in theirs.rows] == [row.summary for row in mine.rows]
    assert theirs.rows[1].evaluation == mine.rows[1].evaluation
    assert (theirs.here, theirs.can_stop, theirs.can_rerun, theirs.is_settled) == (False, False, False, True)
    with pytest.raises(SeriesNotFound):
        other.core.series.stop(series.series_id, named(PERSON))
    with pytest.raises(SeriesNotFound):
        other.core.series.rerun(series.series_id, named(PERSON))
    assert other.core.series.ledger.attempts([series.series_id]) == []
    assert other.core.ledger.events(series.series_id) == []
    for unknown in ("", "s-nothing"):
        with pytest.raises(SeriesNotFound):
            other.core.series.matrix(unknown)


def test_the_list_holds_series_of_here_and_of_elsewhere_once_each_newest_first(
    bench: SeriesBench, tmp_path: Path
) -> None:
    first = recorded(bench)
    other = without_ledger(bench, tmp_path / "other")
    other.clock.move(3600)
    second = other.launch(repeats=1)

    listed = other.core.series.page()

    assert [(each.series.series_id, each.here) for each in listed] == [
        (second.series_id, True),
        (first.series_id, False),
    ]
    assert other.core.series.count() == 2
    assert [each.series.series_id for each in other.core.series.page(1, 1)] == [first.series_id]
    assert [each.here for each in bench.core.series.page()] == [True]


def test_plans_come_back_from_their_files_when_ledger_and_warehouse_are_lost(
    bench: SeriesBench, tmp_path: Path
) -> None:
    series = recorded(bench)

    other = without_ledger(bench, tmp_path / "other")
    for file in other.core.settings.data_dir.glob("warehouse*"):
        file.unlink()
    other.core.storage.rebuild(TESTER)

    found = other.core.series.matrix(series.series_id)
    assert found.series.plan == series.plan
    assert found.state is SeriesState.PLANNED, "this bench keeps no folders of runs"


def test_a_plan_is_moved_with_the_runs(bench: SeriesBench, tmp_path: Path) -> None:
    series = recorded(bench)
    target = Warehouse(tmp_path / "moved.duckdb")

    for _ in range(2):
        bench.core.warehouse.move_to(target, lambda *_: None)

    assert [each.series_id for each in target.series.of([series.series_id])] == [series.series_id]
    assert sorted(cell for _, cell in target.series.run_cells([series.series_id])[series.series_id]) == [1, 2, 3]


def test_a_colleague_sees_what_a_rule_found_without_the_cells_that_it_did_not_need(
    bench: SeriesBench, tmp_path: Path
) -> None:
    series = bench.launch(images="r1,r2", until="decided")
    bench.core.warehouse.series.keep([series])
    begun = without_ledger(bench, tmp_path / "begun").look(series)
    for _ in range(12):
        for run in bench.admit():
            bench.end(run, (200.0 if run.spec.engine_version == "r1" else 190.0) + (run.series_index or 0) % 3)
    mine = bench.look(series)

    theirs = without_ledger(bench, tmp_path / "other").look(series)

    assert mine.judgement
    assert mine.judgement.is_met
    assert begun.valid == 0
    assert begun.cells, "before its first run, only the plan is known"
    assert facts(theirs) == facts(mine)
    assert theirs.judgement == mine.judgement
    assert theirs.state is SeriesState.COMPLETED
