"""The leaderboard by benchmark: best first, ties joined, distances, newest runs, and what changed."""

import json
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from pages._ui.leaderboard.block_columns import BANDS, DEFAULT_COLUMNS, NO_BAND, band_of
from pages._ui.leaderboard.tv import format_sparkline
from pages._ui.shell.tables import NARROW
from tests import records as a
from tests.console.conftest import OpenPage, drawn, texts
from tests.console.test_results import table
from tests.console.test_units import BERT

BOXES = 34
"""Pixels of the column of boxes to tick."""


@pytest.fixture
def two_benchmarks(data_dir: Path) -> None:
    """A benchmark with three configurations, two of them equally fast, and one in another unit."""
    made = [
        *a.records([9000, 9010, 9020], "fast", flavor="f1"),
        *a.records([8000, 8200, 8100], "mid", flavor="f2"),
        *a.records([8050, 8150, 8250], "mid2", flavor="f3"),
        *a.records([310, 330], "text", facts=BERT, workload="mindspore_bert"),
    ]
    Warehouse(data_dir / "warehouse.duckdb").rebuild(made)


def ranks(app: AppTest, index: int = 0) -> list[str]:
    """The ranks of a table; where some tie, each is a chip."""
    return [rank if isinstance(rank, str) else rank[0] for rank in table(app, index)["Rank"]]


@pytest.mark.usefixtures("two_benchmarks")
def test_each_benchmark_has_a_table_with_its_best_first_and_ties_joined(open_page: OpenPage) -> None:
    app = open_page("leaderboard")

    resnet = table(app, 1)
    assert ranks(app, 0) == ["1"]
    assert ranks(app, 1) == ["1", "2–3 a", "2–3 a"]
    assert list(resnet["Flavor"]) == ["f1", "f3", "f2"]
    assert list(resnet.columns[:2]) == ["Rank", "Flavor"]
    assert list(resnet["Vs. best"]) == ["best", "−9.5 %", "−10.1 %"]
    assert list(resnet["Newest runs"].iloc[0]) == [9000, 9010, 9020]
    assert "sentences/s" in texts(app)
    assert "Benchmarks: 2" in texts(app)


@pytest.mark.usefixtures("two_benchmarks")
def test_ranks_that_tie_are_a_band_of_one_colour(open_page: OpenPage) -> None:
    app = open_page("leaderboard")

    options = json.loads(app.dataframe[1].proto.columns)["Rank"]["type_config"]["options"]
    colours = {option["value"]: option["color"] for option in options}
    assert colours["2–3 a"] != colours["1"]
    assert [band_of(rank) for rank in ("1", "–", "imported", "4–9 a", "4–9 ab", "7–9 b", "10 d")] == [
        *(NO_BAND, NO_BAND, NO_BAND),
        *(BANDS[0], BANDS[0], BANDS[1], BANDS[0]),
    ]


@pytest.mark.usefixtures("two_benchmarks")
def test_rows_of_several_tables_are_compared_as_groups(open_page: OpenPage, data_dir: Path) -> None:
    app = open_page("leaderboard")
    warehouse = Warehouse(data_dir / "warehouse.duckdb")
    fingerprints = [row.fingerprint for row in warehouse.board.list_rows(BoardQuery("cn-north-9")).rows]

    for fingerprint, unit in zip(fingerprints[-2:], ("samples/s", "sentences/s"), strict=True):
        ticked = {"selection": {"rows": [0], "columns": [], "cells": []}}
        app.session_state[f"block-{fingerprint}-{unit}-False-"] = ticked
    app.run()

    link = next(link for link in app.page_link if link.label == "Compare 2 rows")
    assert parse_qsl(link.proto.query_string)[2] == ("by", "rows")


@pytest.mark.usefixtures("two_benchmarks")
def test_each_benchmark_has_a_chart_with_its_own_ranks(open_page: OpenPage) -> None:
    app = open_page("leaderboard", chart="1")

    labels = [[row["name"].split(" · ")[0] for row in drawn(app, chart) if "rank" in row] for chart in (0, 1)]
    assert labels == [["1. bert_large"], ["1. resnet50_v1.5", "2–3. resnet50_v1.5", "2–3. resnet50_v1.5"]]


def test_a_long_benchmark_leads_to_all_its_configurations(open_page: OpenPage, data_dir: Path) -> None:
    made = [each for n in range(12) for each in a.records([9000 - n], f"image-{n}", flavor=f"flavor{n:02}")]
    Warehouse(data_dir / "warehouse.duckdb").rebuild(made)

    app = open_page("leaderboard")
    link = next(link for link in app.page_link if link.label == "All 12 configurations")
    target = dict(parse_qsl(link.proto.query_string))
    whole = open_page("leaderboard", **target)

    assert len(table(app)) == 10
    assert len(table(whole)) == 12
    assert any(link.label == "All benchmarks" for link in whole.page_link)


def regressed(data_dir: Path, *others: RunRecord) -> None:
    """A version that is slower than the one before it."""
    before = a.records([9000 + n for n in range(10)], "old", framework_version="r1")
    after = [
        a.record(
            f"new-{n}", throughputs=[(8000 + n) / 8] * 8, framework_version="r2", created_at=a.T0 + timedelta(1 + n)
        )
        for n in range(10)
    ]
    Warehouse(data_dir / "warehouse.duckdb").rebuild([*before, *after, *others])


def badges(app: AppTest) -> dict[str, list[str]]:
    """What the first table's rows say of their change, by version; None where they say nothing."""
    first = table(app)
    return dict(zip(first["Version"], first["Against baseline"], strict=True)) if "Against baseline" in first else {}


def test_what_regressed_says_so_in_the_row_of_its_newest_version(open_page: OpenPage, data_dir: Path) -> None:
    regressed(data_dir)

    app = open_page("leaderboard")

    assert list(badges(app)["r2"]) == ["▼ −11.1 %"]
    assert badges(app)["r1"] is None


def test_badges_follow_the_ruleset_and_the_filters_that_the_reader_chose(open_page: OpenPage, data_dir: Path) -> None:
    regressed(data_dir, *a.records([9000], "other", flavor="f2"))

    strict = open_page("leaderboard", ruleset="ieee-2937-2022", invalid="1")
    elsewhere, older = open_page("leaderboard", flavor="f2"), open_page("leaderboard", version="r1")

    assert not badges(strict), "no run is valid by this ruleset"
    assert not badges(elsewhere)
    assert not badges(older), "the older version has not changed"


def test_the_list_of_all_configurations_has_the_same_badges(open_page: OpenPage, data_dir: Path) -> None:
    regressed(data_dir)

    app = open_page("leaderboard", show="groups")

    shown = table(app)
    by_version = dict(zip(shown["Version"], map(list, shown["Against baseline"]), strict=True))
    assert by_version == {"mindspore r1": [], "mindspore r2": ["▼ −11.1 %"]}
    assert not [link for link in app.page_link if "regressions and" in link.label]


def test_a_change_without_a_row_is_linked(open_page: OpenPage, data_dir: Path) -> None:
    faster = [each for n in range(10) for each in a.records([90_000 - n], f"fast-{n}", flavor=f"flavor{n:02}")]
    regressed(data_dir, *faster)

    app = open_page("leaderboard")

    link = next(link for link in app.page_link if "regressions and" in link.label)
    target = parse_qsl(link.proto.query_string)
    assert link.label.endswith(": 1")
    assert {("outcome", "regression"), ("outcome", "improvement")} <= {*target}
    assert not badges(app)


def test_a_wall_screen_has_interval_newest_runs_and_what_changed(open_page: OpenPage, data_dir: Path) -> None:
    regressed(data_dir)

    newest = open_page("leaderboard", tv="1").table[0].value.iloc[1]

    assert newest["Change"] == ":red-badge[▼ −11.1 %]"
    assert newest["95 % interval"] == "8,002 – 8,007"
    assert newest["Newest"] == "▁▂▃▃▄▅▆▆▇█"


@pytest.mark.parametrize(
    ("values", "line"), [([], "–"), ([5.0], "–"), ([5.0, 5.0], "▁▁"), ([1.0, 2.0, 3.0], "▁▅█"), ([3.0, 1.0], "█▁")]
)
def test_a_line_of_letters_begins_at_the_least_value(values: list[float], line: str) -> None:
    assert format_sparkline(values) == line


def test_a_link_with_an_order_still_opens_the_list(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("leaderboard", sort="cv")

    assert app.selectbox(key="show").value == "groups"


@pytest.mark.usefixtures("two_benchmarks")
def test_a_wall_screen_has_the_best_of_each_benchmark_by_the_filters_of_its_address(open_page: OpenPage) -> None:
    app = open_page("leaderboard", tv="1", model="resnet50_v1.5")

    assert not app.exception
    shown = [list(each.value["Rank"]) for each in app.table]
    assert shown == [[":gray-badge[1]", ":blue-badge[2–3 a]", ":blue-badge[2–3 a]"]]
    assert not app.dataframe
    assert not [each for each in app.selectbox if each.key == "show"]
    assert "bert_large" not in texts(app)


@pytest.mark.usefixtures("two_benchmarks")
def test_the_reader_chooses_the_columns_and_the_address_keeps_them(open_page: OpenPage) -> None:
    app = open_page("leaderboard")
    before = list(table(app, 1).columns)

    app.multiselect(key="columns").set_value(["latest", "rank"]).run()
    chosen, named = list(table(app, 1).columns), app.query_params["columns"]
    app.multiselect(key="columns").set_value([]).run()

    assert "CV (%)" not in before
    assert chosen == ["Rank", "Latest"]
    assert named == ["latest", "rank"]
    assert list(table(app, 1).columns) == before
    assert "columns" not in app.query_params


@pytest.mark.usefixtures("two_benchmarks")
def test_the_default_columns_in_any_order_are_left_out_of_the_address(open_page: OpenPage) -> None:
    app = open_page("leaderboard", columns=["rank", "cv"])

    app.multiselect(key="columns").set_value([*reversed(DEFAULT_COLUMNS)]).run()

    assert "columns" not in app.query_params


def test_long_flavors_leave_out_what_all_of_them_begin_with(open_page: OpenPage, data_dir: Path) -> None:
    made = [
        *a.records([80_000, 82_000, 81_000], "mid", flavor="modelarts.kat1.8xlarge.public", node_count=8),
        *a.records([80_500, 81_500, 82_500], "mid2", flavor="modelarts.kat1.8xlarge", node_count=8),
    ]
    Warehouse(data_dir / "warehouse.duckdb").rebuild(made)

    narrow, few = open_page("leaderboard"), open_page("leaderboard", columns=["rank", "flavor"])

    assert list(table(narrow)["Flavor"]) == ["kat1.8xlarge", "kat1.8xlarge.public"]
    assert "begins with modelarts" in json.loads(narrow.dataframe[0].proto.columns)["Flavor"]["help"]
    assert list(table(few)["Flavor"]) == ["modelarts.kat1.8xlarge", "modelarts.kat1.8xlarge.public"]


@pytest.mark.usefixtures("two_benchmarks")
def test_unknown_columns_in_an_address_are_ignored_with_a_sentence(open_page: OpenPage) -> None:
    app = open_page("leaderboard", columns=["rank", "nonsense"])

    assert list(table(app, 1).columns) == ["Rank"]
    assert any("Columns: nonsense" in each.value for each in app.warning)


@pytest.mark.parametrize("invalid", [{}, {"invalid": "1"}])
def test_the_default_columns_fit_into_a_narrow_window(
    open_page: OpenPage, data_dir: Path, invalid: dict[str, str]
) -> None:
    made = [
        *a.records([310, 330], "text", facts=BERT, workload="mindspore_bert"),
        *a.records([80_000, 82_000, 81_000], "mid", flavor="modelarts.kat1.8xlarge.public", node_count=8),
        *a.records([80_500, 81_500, 82_500], "mid2", flavor="f3", node_count=8, framework_version="r1.10rc1"),
    ]
    Warehouse(data_dir / "warehouse.duckdb").rebuild(made)

    app = open_page("leaderboard", **invalid)

    config = json.loads(app.dataframe[1].proto.columns)
    widths = [config[title]["width"] for title in table(app, 1).columns if title not in ("Not valid", "Reason")]
    assert sum(widths) + BOXES <= NARROW
    assert config["Runs counted"]["label"] == "Runs"
    assert config["Runs counted"]["help"] == "Runs counted"
    assert ("Reason" in table(app, 1).columns) == bool(invalid)


def test_what_an_address_names_in_vain_is_still_said_beside_the_badges(open_page: OpenPage, data_dir: Path) -> None:
    regressed(data_dir)

    app = open_page("leaderboard", flavor="gone")

    assert list(badges(app)["r2"]) == ["▼ −11.1 %"]
    assert "gone" in texts(app)


def test_no_interval_of_a_throughput_is_negative_and_many_ties_are_a_span(open_page: OpenPage, data_dir: Path) -> None:
    apart = [a.records([9000.0 - 100 * n], f"v{n}", framework_version=f"r1.{n}") for n in range(5)]
    recorded = [
        *a.records([1000.0, 15000.0], "wide", framework_version="r2.0"),
        *(run for runs in apart for run in runs),
    ]
    Warehouse(data_dir / "warehouse.duckdb").record_many(recorded)

    rows = table(open_page("leaderboard"))

    wide = rows[rows["Version"] == "r2.0"].iloc[0]
    assert not wide["95 % interval"].startswith(("0 –", "-"))
    assert wide["Note"] == "CV 123.7 %: the mean says little"
    assert "–" in wide["Rank"][0].partition(" ")[2], "a–e, not abcde"
