"""The Python API: DataFrames that tell what board, run list, scaling and history tell, with units and without zeros."""

from dataclasses import replace
from datetime import timedelta
from math import exp
from pathlib import Path

import pandas as pd
import pytest

import aisbench_core
from aisbench_core.base.errors import ConfigError, QueryError, RunNotFound, SpecError
from aisbench_core.model import AnnotationChange, AnnotationKind
from aisbench_core.warehouse.answers.views import VIEWS
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.measures.sorts import RUN_SORTS
from aisbench_core.warehouse.open.frames import OpenWarehouse
from aisbench_core.warehouse.open.reading import make_reader
from aisbench_core.warehouse.open.tables import LocalTables
from aisbench_core.warehouse.store.team import TeamLocation
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a


def columns(view: str) -> list[str]:
    return [column.name for each in VIEWS if each.name == view for column in each.columns]


def opened_at(location: Path | TeamLocation) -> OpenWarehouse:
    return OpenWarehouse(LocalTables(make_reader(location)))


@pytest.fixture
def filled(tmp_path: Path) -> Warehouse:
    return with_runs(Warehouse(tmp_path / "warehouse.duckdb"))


def with_runs(warehouse: Warehouse) -> Warehouse:
    warehouse.record_many(
        [
            *a.records([8000, 8100, 8200], "one"),
            *a.records([15000, 15100], "two", node_count=2, framework_version="r1.10"),
            *a.records([7000], "old", framework_version="r1.9"),
            *a.records([300], "rehearsed", rehearsal=True),
            a.record("broken", with_result=False),
        ]
    )
    return warehouse


def test_the_board_and_the_runs_are_those_of_the_pages(filled: Warehouse) -> None:
    with opened_at(filled.location) as opened:
        board = opened.leaderboard()
        runs = opened.runs(node_counts=1, framework_versions=["r1.10"])
        everything = opened.runs(include_invalid=True, limit=3)
        rehearsed = opened.leaderboard(rehearsal=True)

    page = filled.board.list_rows(BoardQuery("cn-north-9"))
    assert list(board.columns) == columns("v_groups")
    assert list(board["throughput"]) == [row.throughput for row in page.rows] == [15050, 8100, 7000]
    assert list(board["latest_at_utc"]) == [row.latest_at for row in page.rows]
    assert list(board["rank_from"]) == [row.rank_from for row in page.rows]
    assert str(board["node_count"].dtype) == "Int32"
    assert board.attrs["units"]["cv"] == "fraction"
    assert (board.attrs["region"], board.attrs["rehearsal"]) == ("cn-north-9", False)
    assert list(runs.columns) == columns("v_runs")
    assert list(runs["run_id"]) == ["one-2", "one-1", "one-0"]
    assert runs["max_power_w"].isna().all()
    assert runs["created_at_utc"].iloc[2] == pd.Timestamp(a.T0)
    assert len(everything) == 3
    assert rehearsed.attrs["rehearsal"] is True
    assert list(rehearsed["throughput"]) == [300]


def test_runs_are_sorted_by_what_lists_of_runs_are_sorted_by(filled: Warehouse) -> None:
    query = BoardQuery("cn-north-9", include_invalid=True)
    with opened_at(filled.location) as opened:
        fastest = opened.runs(sort="throughput", limit=2)
        after = opened.runs(sort="throughput", descending=False, limit=2, offset=1)
        invalid = opened.runs(validity="incomplete")
        sorted_by = {sort: list(opened.runs(sort=sort, include_invalid=True)["run_id"]) for sort in RUN_SORTS}
        with pytest.raises(SpecError, match="sort: must be one of created_at, "):
            opened.runs(sort="created_at; drop table runs")

    assert list(fastest["run_id"]) == ["two-1", "two-0"]
    assert list(after["run_id"]) == ["one-0", "one-1"]
    assert list(invalid["run_id"]) == ["broken"]
    assert sorted_by == {
        sort: [row.run_id for row in filled.runs.list_rows(replace(query, sort=sort, descending=True)).rows]
        for sort in RUN_SORTS
    }


@pytest.mark.every_store
def test_cards_scaling_history_and_sql(warehouse: Warehouse) -> None:
    filled = with_runs(warehouse)
    later = a.record("later", throughputs=[1010.0] * 8, created_at=a.T0 + timedelta(days=1))
    with opened_at(filled.location) as opened:
        ranks = opened.ranks("two-0")
        scaling = opened.scaling("one-0")
        history = opened.history("one-0")
        filled.record(later)
        counted = opened.sql("select count(*) as n from v_runs where model = ?", [a.FACTS.model])

        assert len(opened.history("later")) == 5
        with pytest.raises(RunNotFound):
            opened.scaling("nowhere")
        with pytest.raises(QueryError):
            opened.sql("drop table runs")

    assert list(ranks["rank"]) == list(range(16))
    assert list(scaling["speed_up"].round(3)) == [1, 1.858]
    assert scaling.attrs["base_nodes"] == 1
    assert list(history["run_id"]) == ["old-0", "one-0", "one-1", "one-2"]
    assert list(history["throughput"]) == [7000, 8000, 8100, 8200]
    assert history.attrs["verdict"] == "not enough data"
    assert counted["n"].tolist() == [9]


def test_a_filter_that_does_not_exist_and_a_region_that_is_not_said_are_named(filled: Warehouse) -> None:
    filled.record(a.record("elsewhere", region="cn-east-3"))
    filled.annotations.add("old-0", [AnnotationChange(a.T0, "ann", AnnotationKind.TAG, "tuned")], None)

    with opened_at(filled.location) as opened:
        with pytest.raises(SpecError, match="model: must be one of region, models"):
            opened.runs(model="x")
        with pytest.raises(SpecError, match=r"ruleset_id: must be one of region, models"):
            opened.leaderboard(region="cn-north-9", ruleset_id="strict")
        with pytest.raises(SpecError, match=r"validity: is of single runs.* ask runs\(validity=…\)"):
            opened.leaderboard(region="cn-north-9", validity="invalid")
        with pytest.raises(SpecError, match=r"(?s)origin: must be one of launched, imported.*validity: must be one of"):
            opened.runs(region="cn-north-9", origin="bought", validity="good")
        assert opened.runs(region="cn-north-9", tags="tuned")["run_id"].tolist() == ["old-0"]
        with pytest.raises(SpecError, match="region: must be one of cn-east-3, cn-north-9"):
            opened.leaderboard()
        assert list(opened.runs(region="cn-east-3")["run_id"]) == ["elsewhere"]


def test_a_warehouse_without_runs_answers_with_empty_frames(tmp_path: Path) -> None:
    with opened_at(tmp_path / "none.duckdb") as opened:
        assert opened.leaderboard().empty
        assert list(opened.runs().columns) == columns("v_runs")
        assert opened.regions().empty


def test_the_front_door_opens_a_snapshot_or_what_the_settings_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AISBENCH_DATA_DIR", str(tmp_path))
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record(a.record())
    file = warehouse.snapshot(tmp_path / "taken.duckdb", a.T0).path
    warehouse.record(a.record("run-2"))

    with aisbench_core.open_warehouse() as mine, aisbench_core.open_warehouse(file) as theirs:
        assert (len(mine.runs()), len(theirs.runs())) == (2, 1)
        assert set(theirs.views()["view"]) == {view.name for view in VIEWS}
    with pytest.raises(ConfigError, match="is not a file"):
        aisbench_core.open_warehouse(tmp_path / "nothing.duckdb")


def test_a_series_is_told_row_by_row_with_all_its_statistics(filled: Warehouse) -> None:
    for number, total in enumerate([8000, 8100, 8200, 8300, 8400]):
        made = a.record(f"of-series-{number}", throughputs=[total / 8] * 8)
        filled.record(replace(made, run=replace(made.run, series_id="s-1", series_index=number + 1)))

    with opened_at(filled.location) as opened:
        told = opened.series("s-1")
        nothing = opened.series("s-2")

    assert list(told.columns) == list(nothing.columns) == columns("v_series")
    assert told[["valid", "mean", "throughput", "olympic_mean"]].to_numpy().tolist() == [[5, 8200, 8200, 8200]]
    assert told["ci_low"].iloc[0] == pytest.approx(8200 * exp(-2.776 * 158.11 / 5**0.5 / 8200), abs=0.1)
    assert told.attrs["units"]["cv"] == "fraction"
    assert nothing.empty
