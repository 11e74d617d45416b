"""The leaderboard by benchmark: sizes as tabs, best first, ties, distances, accuracy, newest runs, and what changed."""

from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.facade import Warehouse
from pages._ui.leaderboard.block_columns import DEFAULT_COLUMNS, format_range
from pages._ui.leaderboard.tv import format_sparkline
from tests import records as a
from tests.console.conftest import OpenPage, drawn, texts
from tests.console.grids import Grid, list_grids
from tests.console.test_units import BERT


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


@pytest.mark.usefixtures("two_benchmarks")
def test_each_benchmark_has_a_table_with_its_best_first_and_ties_as_ranges(open_page: OpenPage) -> None:
    app = open_page("leaderboard")

    bert, resnet = list_grids(app)
    assert bert.column("rank") == ["1"]
    assert resnet.column("rank") == ["1", "2–3", "2–3"]
    assert resnet.column("flavor") == ["f1", "f3", "f2"]
    assert [*resnet.labels][:3] == ["rank", "version", "flavor"]
    assert resnet.column("relation") == ["best", "−9.5 %", "−10.1 %"]
    assert resnet.rows[0].cells["trend"]["spark"]["values"] == [9000, 9010, 9020]
    assert "sentences/s" in texts(app)
    assert "Benchmarks: 2" in texts(app)


@pytest.mark.usefixtures("two_benchmarks")
def test_the_curves_of_a_table_share_one_axis_and_two_runs_have_none(open_page: OpenPage) -> None:
    bert, resnet = list_grids(open_page("leaderboard"))

    sparks = [row.cells["trend"]["spark"] for row in resnet.rows]
    assert [spark["axis"] for spark in sparks] == [sparks[0]["axis"]] * 3
    assert sparks[0]["axis"][0] < 8000 < 9020 < sparks[0]["axis"][1]
    assert sparks[0]["band"][0] < 9010 < sparks[0]["band"][1]
    assert resnet.labels["trend"] == "Newest (7,855–9,035)"
    assert bert.rows[0].cells["trend"] == {}, "two runs show no course"
    assert bert.labels["trend"] == "Newest"


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ((119_600, 131_200), "120–131 k"), ((16_100, 17_000), "16–17 k"), ((16_100, 16_400), "16.1–16.4 k"),
        ((3_070, 3_240), "3,070–3,240"), ((2e7, 3e7), "20–30 M"), ((5.0, 5.0), "5.000"),
    ],
)  # fmt: skip
def test_an_axis_is_said_in_few_letters(ends: tuple[float, float], text: str) -> None:
    assert format_range(*ends) == text


@pytest.mark.usefixtures("two_benchmarks")
def test_rows_of_several_tables_are_compared_as_groups(open_page: OpenPage) -> None:
    app = open_page("leaderboard")

    for index in (0, 1):
        grid = list_grids(app)[index]
        app = grid.tick(grid.ids[0])

    [link] = [link for link in app.page_link if "ids=" in link.proto.query_string]
    assert link.label == "Compare"
    assert parse_qsl(link.proto.query_string)[2] == ("by", "rows")
    app.button(key="clear-ticks").click().run()
    assert not [link for link in app.page_link if "ids=" in link.proto.query_string]


@pytest.mark.usefixtures("two_benchmarks")
def test_one_ticked_row_cannot_be_compared_but_cloned(open_page: OpenPage) -> None:
    grid = list_grids(open_page("leaderboard"))[1]

    app = grid.tick(grid.ids[0])

    assert app.button(key="compare-ticked").disabled
    assert app.button(key="clone-ticked").label == "Clone into a draft"


@pytest.mark.usefixtures("two_benchmarks")
def test_a_row_opens_its_configuration(open_page: OpenPage) -> None:
    grid = list_grids(open_page("leaderboard"))[1]

    assert grid.rows[0].href.startswith("configuration?run=fast-1")


@pytest.fixture
def three_sizes(data_dir: Path) -> None:
    """One version on one, two and four nodes, of which the newest result is on two; another version on one node."""
    newest = [
        a.record(
            f"two-{n}",
            node_count=2,
            throughputs=[(15_000 + n) / 16] * 16,
            created_at=a.T0 + timedelta(days=2, minutes=n),
        )
        for n in range(3)
    ]
    made = [
        *a.records([8000, 8010, 8020], "one"),
        *a.records([7000, 7010, 7020], "slow", framework_version="r1.9"),
        *newest,
        *a.records([28_000, 28_010, 28_020], "four", node_count=4),
    ]  # fmt: skip
    Warehouse(data_dir / "warehouse.duckdb").rebuild(made)


@pytest.mark.usefixtures("three_sizes")
def test_sizes_are_tabs_and_that_of_the_newest_result_is_shown_first(open_page: OpenPage) -> None:
    app = open_page("leaderboard")
    tabs, first = app.radio(key="tab").options, Grid(app)
    app.radio(key="tab").set_value("1").run()
    one = Grid(app)

    assert tabs == ["Per card", "1 node", "2 nodes", "4 nodes", "All sizes"]
    assert first.ids == ["two-2"]
    assert "2 × 8" in texts(open_page("leaderboard"))
    assert "size" not in first.labels
    assert [(row["version"], row["rank"]) for row in one.rows] == [("r1.10", "1"), ("r1.9", "2")]
    assert one.column("relation") == ["best", "−12.5 %"]
    assert app.query_params["tab"] in ("1", ["1"])


@pytest.mark.usefixtures("three_sizes")
def test_a_rank_and_a_distance_among_sizes_are_those_of_a_card(open_page: OpenPage) -> None:
    per_card, every = Grid(open_page("leaderboard", tab="card")), Grid(open_page("leaderboard", tab="all"))

    assert per_card.column("size") == ["1 × 8", "2 × 8", "1 × 8", "4 × 8"]
    assert per_card.column("rank") == ["1", "2", "3–4", "3–4"]
    assert per_card.column("relation")[:3] == ["best", "−6.4 %", "−12.5 %"]
    assert every.column("size") == ["4 × 8", "2 × 8", "1 × 8", "1 × 8"]
    assert "relation" not in every.labels


@pytest.mark.usefixtures("three_sizes")
def test_a_link_with_filters_but_without_a_tab_shows_all_that_they_match(open_page: OpenPage) -> None:
    app = open_page("leaderboard", nodes=["1", "4"], version="r1.10")

    assert Grid(app).column("size") == ["4 × 8", "1 × 8"]
    assert app.radio(key="tab").value == "all"
    assert app.radio(key="tab").options == ["Per card", "1 node", "4 nodes", "All sizes"]


@pytest.mark.usefixtures("three_sizes")
def test_a_tab_without_rows_stays_a_tab_and_an_unknown_one_is_named(open_page: OpenPage) -> None:
    empty = open_page("leaderboard", tab="4", version="r1.9")
    unknown = open_page("leaderboard", tab="512")

    assert empty.radio(key="tab").value == "4"
    assert "No run matches the filters" in texts(empty)
    assert any("Size: 512" in each.value for each in unknown.warning)


@pytest.mark.usefixtures("three_sizes")
def test_a_wall_screen_has_all_sizes_unless_its_address_names_one(open_page: OpenPage) -> None:
    every, two = open_page("leaderboard", tv="1"), open_page("leaderboard", tv="1", tab="2")

    assert len(every.table[0].value) == 4
    assert list(two.table[0].value["Size"]) == ["2 × 8"]


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

    assert len(Grid(app).rows) == 10
    assert len(Grid(whole).rows) == 12
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


def badges(app: AppTest) -> dict[str, str]:
    """What the first table's rows say of their change, by version."""
    return {row["version"]: row["change"] for row in list_grids(app)[0].rows if row["change"]}


def test_what_regressed_says_so_in_the_row_of_its_newest_version(open_page: OpenPage, data_dir: Path) -> None:
    regressed(data_dir)

    app = open_page("leaderboard")

    assert badges(app) == {"r2": "▼ −11.1 %"}
    assert [row.tone("change") for row in Grid(app).rows if row["change"]] == ["bad"]


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

    assert {row["version"]: row["change"] for row in Grid(app).rows} == {
        "mindspore r1": "",
        "mindspore r2": "▼ −11.1 %",
    }
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
    assert shown == [[":gray-badge[1]", ":gray-badge[2–3]", ":gray-badge[2–3]"]]
    assert not app.dataframe
    assert not [each for each in app.selectbox if each.key == "show"]
    assert "bert_large" not in texts(app)


@pytest.mark.usefixtures("two_benchmarks")
def test_the_reader_chooses_the_columns_and_the_address_keeps_them(open_page: OpenPage) -> None:
    app = open_page("leaderboard")
    before = [*list_grids(app)[1].labels]

    app.multiselect(key="columns").set_value(["latest", "rank"]).run()
    chosen, named = [*list_grids(app)[1].labels.values()], app.query_params["columns"]
    app.multiselect(key="columns").set_value([]).run()

    assert "cv" not in before
    assert chosen == ["Rank", "Latest"]
    assert named == ["latest", "rank"]
    assert [*list_grids(app)[1].labels] == before
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

    grid = Grid(open_page("leaderboard"))

    assert grid.column("flavor") == ["kat1.8xlarge", "kat1.8xlarge.public"]
    assert [row.cells["flavor"]["title"] for row in grid.rows] == [
        "modelarts.kat1.8xlarge",
        "modelarts.kat1.8xlarge.public",
    ]


@pytest.mark.usefixtures("two_benchmarks")
def test_unknown_columns_in_an_address_are_ignored_with_a_sentence(open_page: OpenPage) -> None:
    app = open_page("leaderboard", columns=["rank", "nonsense"])

    assert [*list_grids(app)[1].labels] == ["rank"]
    assert any("Columns: nonsense" in each.value for each in app.warning)


def test_why_runs_are_not_valid_is_a_column_once_they_are_included(open_page: OpenPage, data_dir: Path) -> None:
    bad = a.record("bad", accuracy=7, flavor="f2")
    Warehouse(data_dir / "warehouse.duckdb").rebuild([*a.records([8000, 8010], "good"), bad])

    assert "reason" not in Grid(open_page("leaderboard")).labels
    assert "V06" in Grid(open_page("leaderboard", invalid="1")).row("bad")["reason"]


def test_what_an_address_names_in_vain_is_still_said_beside_the_badges(open_page: OpenPage, data_dir: Path) -> None:
    regressed(data_dir)

    app = open_page("leaderboard", flavor="gone")

    assert badges(app)["r2"] == "▼ −11.1 %"
    assert "gone" in texts(app)


def test_no_interval_of_a_throughput_is_negative_and_a_wide_one_ties_with_all(
    open_page: OpenPage, data_dir: Path
) -> None:
    apart = [a.records([9000.0 - 100 * n], f"v{n}", framework_version=f"r1.{n}") for n in range(5)]
    recorded = [
        *a.records([1000.0, 15000.0], "wide", framework_version="r2.0"),
        *(run for runs in apart for run in runs),
    ]
    Warehouse(data_dir / "warehouse.duckdb").record_many(recorded)

    [wide] = [row for row in Grid(open_page("leaderboard")).rows if row["version"] == "r2.0"]

    assert not wide["interval"].startswith(("0 –", "−"))
    assert wide["interval"].endswith(" CV 124 %")
    assert wide.cells["interval"]["title"] == "CV 123.7 %: runs vary a lot"
    assert wide["rank"] == "1–6"
