"""What analysts read: the views tell what leaderboard, run list and scaling tell, from a file and from a team's."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from aisbench_core.domain.statistics.summary import summarize_values
from aisbench_core.warehouse.answers.views import VIEWS
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.open.queries import Query, execute_query
from aisbench_core.warehouse.open.reading import Reader, make_reader
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.team_warehouse import TeamWarehouse

OTHER_NAMES = {"best_at": "best_at_utc", "latest_at": "latest_at_utc"}
# The view tells of throughputs; other metrics are in v_run_metrics.
OF_A_METRIC = {"primary_metric": "", "is_lower_better": False}


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    """A file with runs of every sort."""
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record_many(a.every_sort())
    return warehouse


@pytest.fixture
def reading(warehouse: Warehouse) -> Iterator[Reader]:
    found = make_reader(warehouse.location, 60.0)
    yield found
    found.close()


def rows(reading: Reader, sql: str, **values: object) -> list[dict[str, Any]]:
    with execute_query(reading, Query(sql, values)) as cur:
        names = [column[0] for column in cur.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cur.fetchall()]


def close(value: object) -> object:
    return pytest.approx(value) if isinstance(value, float) else value


def plain(value: object) -> object:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def test_the_groups_are_those_of_the_leaderboard_in_every_region_and_kind(
    warehouse: Warehouse, reading: Reader
) -> None:
    for facts in warehouse.facets.list_regions():
        query = BoardQuery(facts.region, rehearsal=facts.rehearsal, include_invalid=True)
        board = {row.latest_run_id: row for row in warehouse.board.list_rows(query).rows}

        found = rows(
            reading,
            "from v_groups where region = $region and rehearsal = $rehearsal",
            region=facts.region,
            rehearsal=facts.rehearsal,
        )

        assert {row["latest_run_id"] for row in found} == set(board)
        for row in found:
            same = asdict(board[row["latest_run_id"]])
            assert {name: same.pop(name) for name in OF_A_METRIC} == OF_A_METRIC
            told = {OTHER_NAMES.get(name, name): plain(value) for name, value in same.items()}
            told["currency"] = told["currency"] or None  # views say what is not known in one way
            assert {name: row[name] for name in told} == {name: close(value) for name, value in told.items()}


def test_runs_are_told_with_result_verdict_and_what_is_not_known(warehouse: Warehouse, reading: Reader) -> None:
    found = {row["run_id"]: row for row in rows(reading, "from v_runs")}

    assert len(found) == 15
    for run_id, row in found.items():
        run = warehouse.runs.find_row(run_id)
        assert run is not None
        assert row["validity"] == run.validity
        assert row["throughput"] == run.throughput
        assert row["rank_cv"] == run.rank_cv
        assert row["began_at_utc"] == plain(run.began_at)
    assert found["broken"]["throughput"] is None
    assert found["slow"]["straggler_ranks"] == "7"
    assert found["slow"]["warned_checks"] == "V05"
    assert found["one-0"]["mode"] == "cluster"
    assert found["imported-1"]["source"] == "logs/run1.log (1)"


def test_cards_servers_checks_metrics_and_events_are_told_one_by_one(reading: Reader) -> None:
    (slow,) = rows(reading, "from v_ranks where run_id = 'slow' and is_straggler")
    servers = rows(reading, "from v_servers order by server")
    (failed,) = rows(reading, "from v_checks where run_id = 'broken' and level = 'fail'")
    (sample,) = rows(reading, "from v_metrics")
    (event,) = rows(reading, "from v_events")

    assert (slow["rank"], slow["throughput"], slow["share_of_median"]) == (7, 500.0, 0.5)
    assert [(row["server"], row["throughput"]) for row in servers] == [(0, 8000.0), (1, 8000.0)]
    assert (failed["check_id"], failed["validity"]) == ("V01", "incomplete")
    assert (sample["name"], sample["value"], sample["at_utc"]) == ("npuUtil", 93.5, plain(a.T0))
    assert (event["message"], event["actor"], event["rehearsal"]) == ("launched", "ann", False)


def test_scaling_is_that_of_the_page(warehouse: Warehouse, reading: Reader) -> None:
    points = warehouse.scaling.find_curve("two-0").points

    found = rows(
        reading,
        "from v_scaling where region = $region and framework_version = 'r1.10' and not rehearsal order by node_count",
        region="cn-north-9",
    )

    assert [row["node_count"] for row in found] == [point.node_count for point in points] == [1, 2]
    assert [row["speed_up"] for row in found] == pytest.approx([point.speed_up for point in points])
    assert [row["efficiency"] for row in found] == pytest.approx([point.efficiency for point in points])


def test_images_of_a_series_have_statistics_of_their_own(warehouse: Warehouse, reading: Reader) -> None:
    totals = [8000.0, 8400.0, 8100.0, 7000.0, 8200.0]
    for image in ("cann_6", "cann_7"):
        for number, total in enumerate(totals if image == "cann_6" else totals[:1]):
            made = a.record(f"{image}-{number}", throughputs=[total / 8] * 8, engine_version=image)
            warehouse.record(replace(made, run=replace(made.run, series_id="s-1", series_index=number)))
    expected = summarize_values(totals)

    six, seven = rows(reading, "from v_series order by image")

    assert expected
    assert (six["image"], six["valid"], seven["image"], seven["valid"]) == ("cann_6", 5, "cann_7", 1)
    told = (six["mean"], six["sd"], six["cv"], six["ci_low"], six["ci_high"], six["olympic_mean"])
    known = (expected.mean, expected.sd, expected.cv, expected.ci_low, expected.ci_high, expected.olympic_mean)
    assert told == pytest.approx(known, rel=1e-4)
    assert [seven[name] for name in ("sd", "cv", "ci_low", "ci_high", "olympic_mean")] == [None] * 5


def test_imported_runs_of_a_series_have_rows_of_their_own_and_no_count_of_valid_ones(
    warehouse: Warehouse, reading: Reader
) -> None:
    """0 would be a measurement: that none of them is valid. Nobody knows."""
    for made in (a.record("launched"), a.imported("imported", reported=9000.0)):
        warehouse.record(replace(made, run=replace(made.run, series_id="s-1", series_index=1)))

    imported, launched = rows(reading, "from v_series order by origin")

    assert (launched["origin"], launched["valid"], launched["throughput"]) == ("launched", 1, 8 * a.CARD_THROUGHPUT)
    assert (imported["origin"], imported["throughput"]) == ("imported", 9000.0)
    assert pd.isna(imported["valid"])


def test_series_are_told_by_node_count(warehouse: Warehouse, reading: Reader) -> None:
    for number, total in enumerate((8000, 8200, 100), start=1):
        made = a.record(f"of-series-{number}", throughputs=[total / 8] * 8, with_result=number < 3)
        warehouse.record(replace(made, run=replace(made.run, series_id="s-1", series_index=number)))

    (found,) = rows(reading, "from v_series")

    assert (found["series_id"], found["node_count"], found["runs"], found["valid"]) == ("s-1", 1, 3, 2)
    assert (found["throughput"], found["mean"], found["best"]) == (8100, 8100, 8200)
    assert rows(reading, "select series_index from v_runs where series_id = 's-1' order by 1")[2]["series_index"] == 3


def test_every_view_has_the_columns_that_its_document_names(reading: Reader) -> None:
    for view in VIEWS:
        with execute_query(reading, Query(f"from {view.name} limit 0")) as cur:
            assert [column[0] for column in cur.description or ()] == [column.name for column in view.columns]


@pytest.mark.postgres
def test_a_teams_warehouse_tells_the_same(team: TeamWarehouse, reading: Reader) -> None:
    team.open().record_many(a.every_sort())
    theirs = make_reader(team.location, 60.0)

    for view in VIEWS:
        own = rows(reading, f"from {view.name} order by all")
        assert rows(theirs, f"from {view.name} order by all") == [
            {name: close(value) for name, value in row.items()} for row in own
        ]
        assert own or view.name == "v_series"
    theirs.close()
