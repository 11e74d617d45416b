"""A row of the leaderboard with everything behind it: found by any of its runs, also by one that does not count."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from aisbench_core.model import RunState
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a


def warehouse(tmp_path: Path) -> Warehouse:
    one: dict[str, Any] = {"node_count": 1, "cards_per_node": 1}
    records = [
        a.record("fast-1", throughputs=[1000.0], created_by="ann", **one),
        a.record("fast-2", throughputs=[1010.0], created_by="bob", **one),
        a.record("failed", with_result=False, state=RunState.FAILED, created_by="ann", **one),
        a.record("slow", throughputs=[500.0], framework_version="r1.9", **one),
        a.record("other", throughputs=[9000.0], facts=replace(a.FACTS, model="another"), **one),
    ]
    made = Warehouse(tmp_path / "warehouse.duckdb")
    made.record_many(records)
    return made


def test_any_run_of_a_row_leads_to_it(tmp_path: Path) -> None:
    store = warehouse(tmp_path)

    found = [store.board.find_row(run_id) for run_id in ("fast-1", "fast-2", "failed")]

    assert found[0] == found[1] == found[2]
    details = found[0]
    assert details is not None
    assert (details.row.runs, details.total, details.ranked) == (2, 3, 2)
    assert {run.run_id for run in details.runs} == {"fast-1", "fast-2", "failed"}
    assert details.best == details.row
    assert details.people == ("ann", "bob")
    assert details.last_at - details.first_at < timedelta(days=365)


def test_a_slower_row_is_told_against_the_best_of_its_benchmark(tmp_path: Path) -> None:
    details = warehouse(tmp_path).board.find_row("slow")

    assert details is not None
    assert (details.row.throughput, details.best.throughput) == (500.0, 1005.0)
    assert details.row.framework_version == "r1.9"
    assert details.node_hours > 0


def test_imported_rows_which_have_no_rank_are_told_against_the_fastest_of_them(tmp_path: Path) -> None:
    store = warehouse(tmp_path)
    store.record_many([a.imported("i-fast", reported=900.0), a.imported("i-slow", reported=500.0, node_count=2)])

    details = store.board.find_row("i-slow")

    assert details is not None
    assert (details.ranked, details.row.throughput, details.best.throughput) == (0, 500.0, 900.0)


def test_a_run_that_is_not_recorded_has_no_row(tmp_path: Path) -> None:
    assert warehouse(tmp_path).board.find_row("nobody") is None
