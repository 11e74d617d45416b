"""A row of the leaderboard with everything behind it: found by any of its runs, also by one that does not count."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from aisbench_core.model import Better, Combined, RunMetric, RunRecord, RunState
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


def with_energy(record: RunRecord, value: float, definition: str = "") -> RunRecord:
    return replace(record, metrics=(RunMetric("energy", value, "J/token", Better.LOWER, Combined.MEAN, definition),))


def test_a_row_by_a_metric_has_its_numbers_its_rank_and_its_best(tmp_path: Path) -> None:
    store = Warehouse(tmp_path / "warehouse.duckdb")
    fast, frugal = a.records([9000.0, 9100.0, 9200.0], "fast"), a.records([500.0] * 3, "frugal", framework_version="r1")
    store.record_many(
        [
            *(with_energy(run, 8.0 + n / 10) for n, run in enumerate(fast)),
            *(with_energy(run, 4.0 + n / 10) for n, run in enumerate(frugal)),
            a.record("without"),
            with_energy(a.record("otherwise", framework_version="r9"), 0.1, "another definition"),
        ]
    )

    by_energy, by_throughput = (store.board.find_row("without", metric) for metric in ("energy", "throughput"))

    assert by_energy is not None
    assert by_throughput is not None
    assert (by_energy.row.throughput, by_energy.row.throughput_unit, by_energy.row.rank) == (8.1, "J/token", "2")
    assert (by_energy.best.throughput, by_energy.best.framework_version, by_energy.ranked) == (4.1, "r1", 2)
    assert {run.run_id for run in by_energy.runs} == {"fast-0", "fast-1", "fast-2"}
    assert (by_throughput.row.throughput_unit, by_throughput.total) == ("samples/s", 4)
    assert store.board.find_row("without", "gone") is None
