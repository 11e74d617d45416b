"""Results with units of their own never share an axis or a column, and no number stands without its unit."""

from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.console.conftest import OpenPage, drawn, texts
from tests.console.grids import Grid

BERT = replace(a.FACTS, model="bert_large", dataset="enwiki", throughput_unit="sentences/s")


@pytest.fixture
def two_units(data_dir: Path) -> None:
    """Two runs in samples/s and two in sentences/s."""
    made = [
        *a.records([8_000, 8_100], "image"),
        *a.records([310, 330], "text", facts=BERT, workload="mindspore_bert"),
    ]
    Warehouse(data_dir / "warehouse.duckdb").rebuild(made)


@pytest.mark.usefixtures("two_units")
def test_the_leaderboard_draws_each_unit_on_an_axis_of_its_own(open_page: OpenPage) -> None:
    app = open_page("leaderboard", show="groups", chart="1")

    values = [{row["value"] for row in drawn(app, chart) if row.get("value")} for chart in (0, 1)]
    assert values == [{8_000, 8_050, 8_100}, {310, 320, 330}]


def test_two_benchmarks_of_one_unit_are_not_drawn_on_one_axis(open_page: OpenPage, data_dir: Path) -> None:
    other = {"facts": replace(BERT, throughput_unit="samples/s"), "workload": "mindspore_bert"}
    made = [*a.records([8_000, 8_100], "image"), *a.records([310, 330], "text", **other)]
    Warehouse(data_dir / "warehouse.duckdb").rebuild(made)

    app = open_page("leaderboard", show="groups", chart="1")

    values = [{row["value"] for row in drawn(app, chart) if row.get("value")} for chart in (0, 1)]
    assert values == [{8_000, 8_050, 8_100}, {310, 320, 330}]


@pytest.mark.usefixtures("two_units")
def test_tables_of_the_leaderboard_hold_every_number_in_one_column_with_its_unit_beside(open_page: OpenPage) -> None:
    groups = Grid(open_page("leaderboard", show="groups"))
    single = Grid(open_page("leaderboard", show="runs", sort="throughput"))

    assert groups.labels["throughput"] == "Median (see unit)"
    assert [(row["throughput"], row["unit"]) for row in groups.rows] == [("8,050", "samples/s"), ("320", "sentences/s")]
    assert single.labels["throughput"] == "Throughput"
    numbers = ["8,100 samples/s", "8,000 samples/s", "330 sentences/s", "310 sentences/s"]
    assert single.column("throughput") == numbers


@pytest.mark.usefixtures("two_units")
def test_compare_tells_each_number_with_its_own_unit(open_page: OpenPage) -> None:
    app = open_page("compare", ids=["image-0", "text-0"])

    metrics, ids = Grid(app, "Metrics"), ("image-0", "text-0")
    told = [[metrics.row(name)[f"value-{run_id}"] for run_id in ids] for name in ("throughput", "mean")]
    assert told == [["8,000 samples/s", "310 sentences/s"], ["8,050 samples/s", "320 sentences/s"]]
    cards = next(each.value for each in app.dataframe if "Median card" in each.value).set_index("Run")
    assert list(cards["Unit"]) == ["samples/s", "sentences/s"]
    charts = [{row["id"] for row in drawn(app, chart) if "id" in row} for chart in range(2)]
    assert charts == [{"image-0", "image-1"}, {"text-0", "text-1"}]
    assert [{row["run"] for row in drawn(app, chart)} for chart in (2, 3)] == [{"image-0"}, {"text-0"}]


def test_compare_says_of_a_group_without_an_interval_what_is_not_known(open_page: OpenPage, data_dir: Path) -> None:
    tagged = a.records([8_400, 8_440], "tagged", framework_version="r2.0", image_url="org/image:latest")
    Warehouse(data_dir / "warehouse.duckdb").rebuild([*a.records([8_000, 8_100], "old"), *tagged])

    app = open_page("compare", ids=["old-0", "tagged-0"])

    metrics = Grid(app, "Metrics")
    assert metrics.row("note")["value-tagged-0"] == "mixed or unknown: image"
    assert metrics.row("interval")["value-tagged-0"] == "–"
    assert metrics.row("interval")["value-old-0"] != "–"
    assert "r2.0 may not be comparable with r1.10" in texts(app)
    assert "mixed or unknown: image" in texts(app).replace("\\", "")


def test_compare_gives_each_change_against_the_baseline(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("compare", ids=["run-n1-0", "run-n1-1"])

    metrics = Grid(app, "Metrics")
    told = [
        [metrics.row(name)[column] for column in ("value-run-n1-0", "value-run-n1-1", "change-run-n1-1")]
        for name in ("throughput", "accuracy")
    ]
    assert told == [["7,900", "8,000", "+1.27 %"], ["76.00 %", "76.00 %", "+0.00 points"]]


def test_rows_that_differ_in_a_parameter_alone_say_so(open_page: OpenPage, data_dir: Path) -> None:
    speed = {"epoch_size": 90, "batch_size": 512}
    made = [*a.records([8_000, 8_100], "small"), *a.records([9_000, 9_100], "large", speed_parameters=speed)]
    warehouse = Warehouse(data_dir / "warehouse.duckdb")
    warehouse.rebuild(made)

    app = open_page("leaderboard", show="groups", chart="1")

    assert Grid(app).column("parameters") == ["batch_size=512", "batch_size=256"]
    assert Grid(app).column("rank") == ["1", "1"]
    assert "Ranks are within one benchmark" in texts(app)
    assert any("batch_size=512" in str(row.get("name")) for row in drawn(app))
    group = warehouse.trends.list_rows(BoardQuery("cn-north-9")).rows[0].group.id
    for page, label in (("scaling", "Benchmark"), ("history", "Configuration")):
        options = next(each.options for each in open_page(page, group=group).selectbox if each.label == label)
        assert sum("batch_size=512" in option for option in options) == 1


def test_a_parameter_that_never_ends_is_cut_where_questions_are_chosen(open_page: OpenPage, data_dir: Path) -> None:
    speed: dict[str, int | str] = {"epoch_size": 90, "batch_size": 256, "note": "x" * 10_000}
    warehouse = Warehouse(data_dir / "warehouse.duckdb")
    warehouse.rebuild([a.record("usual"), a.record("long", speed_parameters=speed)])

    group = warehouse.trends.list_rows(BoardQuery("cn-north-9")).rows[0].group.id
    for page, label in (("scaling", "Benchmark"), ("history", "Configuration")):
        options = next(each.options for each in open_page(page, group=group).selectbox if each.label == label)
        assert sum("note=xxx" in option for option in options) == 1
        assert max(map(len, options)) < 300


def test_bars_carry_the_rank_of_their_row_on_any_page(open_page: OpenPage, data_dir: Path) -> None:
    fast = [each for n in range(60) for each in a.records([9_000 - n], f"image-{n}", flavor=f"flavor{n:02}")]
    slow = a.records([310, 330], "text", facts=BERT, workload="mindspore_bert")
    Warehouse(data_dir / "warehouse.duckdb").rebuild([*fast, *slow])

    app = open_page("leaderboard", chart="1", size="25", page="3")

    labels = [row["name"].split(" · ")[0] for chart in (0, 1) for row in drawn(app, chart) if "rank" in row]
    assert Grid(app).column("rank") == [*(f"{rank} {rank} (unconfirmed)" for rank in range(51, 61)), "1"]
    assert labels == [*(f"{rank}. resnet50_v1.5" for rank in range(51, 61)), "1. bert_large"]
    assert "within one benchmark" in texts(app)


@pytest.mark.parametrize(("language", "unit"), [("en", "samples per card"), ("zh", "每卡样本数")])
def test_a_parameter_whose_name_has_no_unit_has_one_in_its_label(open_page: OpenPage, language: str, unit: str) -> None:
    app = open_page("configure", workload="quickstart_digits", lang=language)

    labels = [field.label for field in app.text_input]
    assert f"batch_size ({unit}) †" in labels
    assert "epochs †" in labels
