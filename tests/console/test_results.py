"""Leaderboard and Compare: one region at a time, rehearsals marked, reasons given, links that hold everything."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import OpenPage, drawn, texts
from tests.console.grids import Grid

ENGINES = ("mindspore_1.10.0", "mindspore_2.0.0", "mindspore_2.2.10")


def table(app: AppTest, number: int = 0) -> pd.DataFrame:
    """One table of the page."""
    return app.dataframe[number].value


def test_the_leaderboard_shows_measurements_and_not_rehearsals(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("leaderboard", tab="all")

    assert Grid(app).column("size") == ["4 × 8", "2 × 8", "1 × 8", "1 × 8"]
    assert "not a measurement" not in texts(app)


@pytest.mark.parametrize("page", ["leaderboard", "history", "scaling"])
def test_pages_of_a_lost_warehouse_say_how_results_come_back(open_page: OpenPage, used: Path, page: str) -> None:
    (used / "warehouse.duckdb").unlink()

    shown = open_page(page)

    assert "Runs that ended here: 11" in texts(shown)
    assert shown.code[0].value == "aisbench warehouse rebuild"


@pytest.mark.usefixtures("used")
def test_rehearsals_are_marked_where_runs_are_listed_and_compared(open_page: OpenPage) -> None:
    listed = Grid(open_page("configuration", run="run-pretended")).row("run-pretended")["run"]
    both = texts(open_page("compare", ids=["run-pretended", "run-n1-0"]))
    many = texts(open_page("compare", ids=["run-n1-0", "run-n1-1", "run-n2-0", "run-pretended"]))
    measured = texts(open_page("compare", ids=["run-n1-0", "run-n2-0"]))

    assert "rehearsal" in listed
    assert "rehearsal – not a measurement" in both
    assert "rehearsal – not a measurement" in many
    assert "rehearsal – not a measurement" not in measured


def test_a_rehearsal_is_plainly_marked(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("leaderboard", region="sandbox~rehearsal")

    assert "Rehearsal – not a measurement" in texts(app)


def test_filters_come_from_the_url_and_go_there(open_page: OpenPage, used: Path) -> None:
    assert used.exists()
    app = open_page("leaderboard", nodes=["2", "4"])
    assert Grid(app).column("size") == ["4 × 8", "2 × 8"]

    app.multiselect(key="nodes").set_value([4]).run()

    assert len(Grid(app).rows) == 1
    assert "size" in Grid(app).labels
    assert app.query_params["nodes"] in ("4", ["4"])


def test_all_rows_are_sorted_and_searched_not_only_those_of_the_page(open_page: OpenPage, used: Path) -> None:
    assert used.exists()
    app = open_page("leaderboard", sort="node_count", order="up", size="50")
    assert Grid(app).column("size")[-1] == "4 × 8"

    app.selectbox(key="sort").set_value("framework_version").run()
    app.selectbox(key="order").set_value("down").run()

    assert Grid(app).column("version")[0] == "mindspore r1.11"
    assert app.query_params["sort"] in ("framework_version", ["framework_version"])
    app = open_page("leaderboard", show="runs", q="run-n2", sort="throughput", order="up")
    assert Grid(app).ids == ["run-n2-0", "run-n2-1"]
    assert Grid(app).column("throughput") == ["15,600", "15,700"]
    assert Grid(Grid(app).sort("throughput")).ids == ["run-n2-1", "run-n2-0"]


def test_the_head_of_a_column_sorts_all_rows_as_the_address_says(open_page: OpenPage, used: Path) -> None:
    assert used.exists()
    app = open_page("leaderboard", show="groups")
    before = Grid(app).ids

    Grid(app).sort("throughput")

    assert Grid(app).ids == before[::-1]
    assert app.query_params["order"] in ("up", ["up"])


def test_an_order_that_a_list_does_not_know_is_the_usual_one(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("leaderboard", sort="; drop table runs", order="sideways", size="9999999")

    assert not app.exception
    assert app.selectbox(key="sort").value == "throughput"
    assert len(Grid(app).rows) == 4


def test_bars_have_their_single_runs_as_dots(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    assert not open_page("leaderboard").get("vega_lite_chart")  # the chart repeats the table: who wants it turns it on

    app = open_page("leaderboard", tab="all", chart="1")

    runs = {row.get("run") for row in drawn(app)}
    assert {"run-n1-0", "run-n1-1", "run-n1-2", "run-n4-0"} <= runs
    assert "run-bad" not in runs
    assert "dots single valid runs" in texts(app)


def test_a_filter_that_fits_nothing_says_so(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("leaderboard", nodes="4", version="r1.11")

    assert "No run matches the filters" in texts(app)


def test_runs_that_are_not_valid_are_one_click_away_with_the_reason(open_page: OpenPage, used: Path) -> None:
    assert used.exists()
    app = open_page("leaderboard", show="runs")
    assert "run-bad" not in Grid(app).ids

    app.toggle(key="invalid").set_value(True).run()

    status = Grid(app).row("run-bad")["status"]
    assert status.startswith("invalid ")
    assert status.removeprefix("invalid ").startswith("V")


def test_chosen_rows_lead_to_a_comparison(open_page: OpenPage, used: Path) -> None:
    assert used.exists()
    app = open_page("leaderboard", show="runs")

    app = Grid(app).tick(*Grid(app).ids[:2])

    link = next(link for link in app.page_link if link.label == "Compare")
    assert link.proto.query_string.count("ids=") == 2


def test_chosen_rows_of_the_leaderboard_are_compared_as_rows(open_page: OpenPage, used: Path) -> None:
    assert used.exists()
    app = open_page("leaderboard", show="groups")
    rows = Grid(app).rows
    sizes = [row["size"] for row in rows]
    chosen = [sizes.index("1 × 8", sizes.index("1 × 8") + 1), sizes.index("2 × 8")]

    Grid(app).tick(*(rows[index].id for index in chosen))

    [link] = [link for link in app.page_link if "ids=" in link.proto.query_string]
    assert parse_qsl(link.proto.query_string)[:3] == [("ids", "run-n1-1"), ("ids", "run-n2-0"), ("by", "rows")]
    compared = open_page("compare", ids=["run-n1-0", "run-n2-1"], by="rows")
    metrics = Grid(compared, "Metrics")
    throughput = metrics.row("throughput")
    assert (throughput["value-run-n1-0"], throughput["value-run-n2-1"]) == ("8,000", "15,650")
    assert throughput["change-run-n2-1"] == "+95.62 %"
    assert metrics.row("runs")["value-run-n1-0"] == "3"
    heads = [metrics.labels[f"value-{run_id}"] for run_id in ("run-n1-0", "run-n2-1")]
    assert heads == ["1 × 8 (Baseline)", "2 × 8"], "configurations are named by what distinguishes them"
    assert "Nodes: 1 in 1 × 8; 2 in 2 × 8." in texts(compared).replace("\\", "")
    assert "medians of its valid runs" in texts(compared)


def test_a_comparison_begins_with_what_differs(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("compare", ids=["run-n1-0", "run-n2-0"])

    differences = Grid(app, "Differences")
    assert differences.column("field") == ["Nodes"]
    assert (differences.column("run-n1-0"), differences.column("run-n2-0")) == (["1"], ["2"])
    assert "Comparable per node" in badge(app)
    assert "Nodes: 1 in run-n1-0; 2 in run-n2-0. More hardware does more work" in texts(app).replace("\\", "")
    assert "Throughput definition: build_then_all_int_s" in texts(app).replace("\\", "")
    assert len(app.get("vega_lite_chart")) == 4


def test_equal_fields_are_shown_when_asked_for_behind_those_that_differ(open_page: OpenPage, used: Path) -> None:
    assert used.exists()
    app = open_page("compare", ids=["run-n1-0", "run-n2-0"])

    app.toggle(key="all").set_value(True).run()

    every = app.table[0].value
    assert list(every["≠"])[:2] == ["≠", "="]
    assert {"Nodes", "Data set", "Mode"} <= {unjoined(name) for name in every["Field"]}
    assert app.query_params["all"] in ("1", ["1"])


def test_a_change_has_an_interval_from_the_runs_of_each_configuration(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    metrics = Grid(open_page("compare", ids=["run-n1-0", "run-n2-0"]), "Metrics")

    runs, interval = metrics.row("runs"), metrics.row("interval")
    assert (runs["value-run-n1-0"], runs["value-run-n2-0"]) == ("3", "2")
    low, high = (float(end.strip(" %").replace("−", "-")) for end in interval["change-run-n2-0"].split("…"))
    assert low < float(metrics.row("mean")["change-run-n2-0"].strip(" %").replace("−", "-")) < high
    assert metrics.row("noise")["value-run-n1-0"].endswith(" %")


def test_runs_that_are_fewer_than_two_are_asked_for(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("compare", ids="run-n1-0")

    assert "Choose at least two runs" in texts(app)


def test_a_run_that_the_warehouse_does_not_have_is_a_sentence(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("compare", ids=["run-n1-0", "run-gone"])

    assert not app.exception
    assert "run-gone" in texts(app).replace("\\", "")


def test_a_run_that_an_address_names_twice_is_compared_once(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("compare", ids=["run-n1-0", "run-n1-0"])

    assert "Choose at least two runs" in texts(app)


def test_choosing_runs_changes_the_url(open_page: OpenPage, used: Path) -> None:
    assert used.exists()
    app = open_page("compare", ids="run-n1-0")

    app.multiselect(key="ids").set_value(["run-n1-0", "run-new-0"]).run()

    assert app.query_params["ids"] == ["run-n1-0", "run-new-0"]
    assert "Framework version" in Grid(app, "Differences").column("field")


def test_scaling_shows_speed_up_over_nodes(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("compare", ids=["run-n1-0", "run-n4-0"])

    scaling = next(each.value for each in app.dataframe if "Speed-up" in each.value).set_index("Nodes")
    assert list(scaling.index) == [1, 2, 4]
    assert scaling.loc[4, "Speed-up"] == "3.7625"


def test_a_comparison_leads_to_the_history_of_its_baseline(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("compare", ids=["run-n2-0", "run-n1-0"])
    way = next(link for link in app.page_link if link.label == "History of the first run's configuration")
    history = open_page("history", **dict(parse_qsl(way.proto.query_string)))

    assert "2×8" in history.selectbox(key="group").format_func(history.selectbox(key="group").value)


@pytest.mark.parametrize(("lang", "field", "engine"), [("en", "Field", "Engine version"), ("zh", "字段", "引擎版本")])
def test_what_differs_in_long_texts_is_wrapped_and_never_scrolled_sideways(
    open_page: OpenPage, used: Path, lang: str, field: str, engine: str
) -> None:
    named = [f"{each}-cann_6.0.1-py_3.7-euler_2.8.3-aarch64_{'x' * 90}" for each in ENGINES]
    made = [a.record(f"long-{at}", engine_version=each) for at, each in enumerate(named)]
    Warehouse(used / "warehouse.duckdb").record_many(made)

    app = open_page("compare", ids=["long-0", "long-1", "long-2"], lang=lang)

    (differing,) = [each.value for each in app.table]
    rows = {unjoined(name): list(cells) for name, *cells in differing.itertuples(index=False)}
    assert [unjoined(title) for title in differing] == [field, "long-0", "long-1", "long-2"]
    assert [unjoined(cell) for cell in rows[engine]] == named
    assert max(len(part) for cell in rows[engine] for part in re.split(r"[\s\u200b-]", cell)) <= 60
    assert not any(field in each.value for each in app.dataframe)


def unjoined(cell: str) -> str:
    """A cell without what tells a browser where to break it."""
    return re.sub("[\u200b\u2060\\\\]", "", cell).replace("\u00a0", " ")


VERDICTS = [
    ("slow", ":red[▼ r2.0 is 6.2 % slower than r1.10 (5.1–7.3 %)]"),
    ("fast", ":green[▲ r2.0 is 6.2 % faster than r1.10 (5.1–7.4 %)]"),
    ("same", ":gray[No difference beyond noise between r2.0 and r1.10]"),
    ("few", ":gray[Too few runs to tell r2.0 from r1.10]"),
    ("wide", ":gray[Runs vary too much to tell r2.0 from r1.10]"),
    ("other", ":gray[r2.0 cannot be compared with r1.10]"),
]


@pytest.mark.parametrize(("side", "headline"), VERDICTS)
def test_a_comparison_leads_with_its_verdict(open_page: OpenPage, data_dir: Path, side: str, headline: str) -> None:
    sides = {
        "slow": a.records([7_500, 7_540, 7_460], "slow", framework_version="r2.0"),
        "fast": a.records([8_500, 8_540, 8_460], "fast", framework_version="r2.0"),
        "same": a.records([8_001, 8_002, 7_999, 8_000, 8_001], "same", framework_version="r2.0"),
        "few": a.records([8_000], "few", framework_version="r2.0"),
        "wide": a.records([7_000, 8_900], "wide", framework_version="r2.0"),
        "other": a.records([100, 101], "other", framework_version="r2.0", synthetic_data=True),
    }
    base = [8_000, 8_040, 7_960] if side in ("slow", "fast") else [8_000, 8_001, 7_999, 8_002, 8_000]
    Warehouse(data_dir / "warehouse.duckdb").rebuild([*a.records(base, "old"), *sides[side]])

    app = open_page("compare", ids=["old-0", f"{side}-0"])

    assert app.header[0].value.replace("\\", "") == headline


def test_each_side_of_a_comparison_has_its_own_verdict_against_the_first(open_page: OpenPage, data_dir: Path) -> None:
    slow = a.records([7_500, 7_540, 7_460], "slow", framework_version="r2.0")
    fast = a.records([8_500, 8_540, 8_460], "fast", framework_version="r2.1")
    few = a.records([8_000], "few", framework_version="r2.2")
    Warehouse(data_dir / "warehouse.duckdb").rebuild([*a.records([8_000, 8_040, 7_960], "old"), *slow, *fast, *few])

    app = open_page("compare", ids=["old-0", "slow-0", "fast-0"])
    said = [header.value for header in app.header[:2]]
    tones = [Grid(app, "Metrics").row("throughput").tone(f"change-{side}-0") for side in ("slow", "fast")]
    unsure = open_page("compare", ids=["old-0", "slow-0", "few-0"])

    assert said[0].startswith(":red[▼ r2.0 is 6.2 % slower than r1.10")
    assert said[1].startswith(":green[▲ r2.1 is 6.2 % faster than r1.10")
    assert tones == ["bad", "good"]
    assert unsure.header[1].value == ":gray[Too few runs to tell r2.2 from r1.10]"
    assert re.search(r"To detect a change of 2 %: \d more of r2\.2\.", texts(unsure).replace("\\", ""))
    assert Grid(unsure, "Metrics").row("throughput").tone("change-few-0") == "plain"


def badge(app: AppTest) -> str:
    """What the badge of a comparison says."""
    return next(label for label in map(block_label, app.get("popover")) if "omparable" in label)


def block_label(block: Any) -> str:
    label: str = block.proto.popover.label
    return label


def test_a_comparison_has_a_sentence_that_can_be_copied(open_page: OpenPage, data_dir: Path) -> None:
    slow = a.records([7_500, 7_540, 7_460], "slow", framework_version="r1.11")
    wide = a.records([15_600, 15_700, 15_650], "wide", node_count=2)
    Warehouse(data_dir / "warehouse.duckdb").rebuild([*a.records([8_000, 8_040, 7_960], "old"), *slow, *wide])

    app = open_page("compare", ids=["old-0", "slow-0"])
    apart = open_page("compare", ids=["old-0", "wide-0"], lang="zh")

    assert app.code[0].value == (
        "resnet50_v1.5 mindspore r1.11 is 6.2 % slower than resnet50_v1.5 mindspore r1.10"
        " on 1 × 8 modelarts.kat1.8xlarge (95 % interval: 5.1–7.3 %; 3 and 3 runs)"
    )
    assert "按每节点比" in apart.code[0].value


def test_without_repeats_nothing_is_claimed(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    assert not open_page("compare", ids=["run-n4-0", "run-new-0"]).code


def test_active_filters_are_listed_and_those_that_are_ignored_are_not(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    said = texts(open_page("leaderboard", nodes="2", model="gone")).replace("\\", "")

    assert ":blue-badge[Nodes: 2]" in said
    assert "Model: gone" in said  # in the warning only
    assert ":blue-badge[Model" not in said


@pytest.mark.parametrize(("worth", "listed"), [("gone", "Validity: gone"), ("invalid", "")])
def test_a_validity_that_filters_nothing_is_no_active_filter(
    open_page: OpenPage, used: Path, worth: str, listed: str
) -> None:
    assert used.exists()

    said = texts(open_page("leaderboard", worth=worth))

    assert ":blue-badge[Validity" not in said
    assert ("are ignored: " in said) == bool(listed)
    assert listed in said
