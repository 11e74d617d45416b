"""Named metrics on pages: a list on the run's page, and rankings and comparisons by them."""

from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.model import Better, Combined, RunMetric
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.console.conftest import OpenPage, texts
from tests.console.grids import list_grids
from tests.series_bench import SeriesBench


@pytest.fixture
def measured(data_dir: Path) -> None:
    """Two versions, of which the slower one needs less energy."""
    fast = a.records([9000.0, 9100.0, 9200.0], "fast", framework_version="r1.9")
    frugal = a.records([5000.0, 5100.0, 5200.0], "frugal", framework_version="r1.10")
    energies = (8.0, 8.1, 8.2, 4.0, 4.05, 4.1)
    Warehouse(data_dir / "warehouse.duckdb").rebuild(
        replace(run, metrics=(RunMetric("energy", energy, "J/token", Better.LOWER, Combined.MEAN),))
        for run, energy in zip((*fast, *frugal), energies, strict=True)
    )


@pytest.mark.usefixtures("measured")
def test_the_leaderboard_ranks_by_the_metric_of_its_address(open_page: OpenPage) -> None:
    app = open_page("leaderboard", metric="energy")

    [block] = list_grids(app)
    assert block.column("version") == ["r1.10", "r1.9"]
    assert block.column("rank") == ["1", "2"]
    assert block.column("throughput") == ["4.05", "8.1"]
    assert block.column("relation") == ["best", "+100.0 %"]
    assert "energy, lower is better · J/token" in texts(app)


@pytest.mark.usefixtures("measured")
def test_a_list_of_all_configurations_and_of_single_runs_has_the_best_first(open_page: OpenPage) -> None:
    [groups] = list_grids(open_page("leaderboard", metric="energy", show="groups"))
    [runs] = list_grids(open_page("leaderboard", metric="energy", show="runs"))

    assert groups.column("version") == ["mindspore r1.10", "mindspore r1.9"]
    assert len(runs.rows) == 6


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize(("lang", "cells"), [("en", ["lower", "mean", "script"]), ("zh", ["越低越好", "平均", "脚本"])])
def test_the_page_of_a_run_lists_its_metrics(lang: str, cells: list[str], open_page: OpenPage) -> None:
    app = open_page("live", run="fast-0", lang=lang)

    [row] = next(frame.value for frame in app.dataframe if "energy" in frame.value.to_string()).to_numpy().tolist()
    assert row[:2] == ["energy", "8 J/token"]
    assert [cell for cell in row if cell in cells] == cells


@pytest.mark.usefixtures("measured")
def test_a_comparison_has_a_row_for_each_metric(open_page: OpenPage) -> None:
    app = open_page("compare", ids=["fast-0", "frugal-0"])

    metrics = next(grid for grid in list_grids(app) if "metric" in grid.labels)
    assert "energy (J/token)" in metrics.column("metric")


@pytest.mark.usefixtures("measured")
def test_an_address_with_an_unknown_metric_says_so(open_page: OpenPage) -> None:
    app = open_page("leaderboard", metric="gone")

    assert not app.exception


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    ("directions", "is_said"),
    [([Better.LOWER, Better.LOWER, Better.HIGHER], True), ([Better.LOWER, Better.LOWER, Better.NEITHER], False)],
)
def test_the_leaderboard_says_when_runs_disagree_which_way_a_metric_is_better(
    directions: list[Better], is_said: bool, lang: str, open_page: OpenPage, data_dir: Path
) -> None:
    Warehouse(data_dir / "warehouse.duckdb").rebuild(
        replace(run, metrics=(RunMetric("energy", 4.0, "J/token", better, Combined.MEAN),))
        for run, better in zip(a.records([9000.0, 9001.0, 9002.0]), directions, strict=True)
    )

    app = open_page("leaderboard", metric="energy", lang=lang)

    said = {
        "en": "Runs disagree on whether higher or lower energy is better",
        "zh": "各运行对 energy 越高越好还是越低越好",
    }
    assert (said[lang] in texts(app)) is is_said
    assert {"en": "energy, lower is better", "zh": "energy，越低越好"}[lang] in texts(app)


def open_history(open_page: OpenPage, data_dir: Path, metric: str, **address: str) -> AppTest:
    [row] = Warehouse(data_dir / "warehouse.duckdb").trends.list_rows(BoardQuery("cn-north-9")).rows
    return open_page("history", group=row.group.id, metric=metric, **address)


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("metric", ["energy", "energy:J/token"])
def test_a_history_shows_and_judges_the_metric_of_its_address(metric: str, open_page: OpenPage, data_dir: Path) -> None:
    app = open_history(open_page, data_dir, metric)

    assert not app.exception
    assert app.selectbox(key="metric").value == "energy:J/token"
    [runs] = list_grids(app)
    assert runs.labels["energy:J/token"] == "energy (J/token)"
    assert sorted(runs.column("energy:J/token")) == ["4", "4.05", "4.1", "8", "8.1", "8.2"]
    tests = next(frame.value for frame in app.dataframe if "energy" in frame.value.to_string())
    assert "energy (J/token)" in tests.to_string()


@pytest.mark.usefixtures("measured")
def test_a_history_of_an_unknown_metric_shows_the_throughput(open_page: OpenPage, data_dir: Path) -> None:
    app = open_history(open_page, data_dir, "gone")

    assert not app.exception
    assert app.selectbox(key="metric").value == "throughput"


@pytest.mark.parametrize(("lang", "word"), [("en", "No direction"), ("zh", "无优劣方向")])
def test_a_metric_without_a_direction_has_no_verdict(lang: str, word: str, open_page: OpenPage, data_dir: Path) -> None:
    runs = a.records([9000.0, 9001.0, 9002.0], framework_version="r1.9")
    Warehouse(data_dir / "warehouse.duckdb").rebuild(
        replace(run, metrics=(RunMetric("loss_scale", value, "", Better.NEITHER, Combined.MEAN),))
        for run, value in zip(runs, (1.0, 1.1, 1.05), strict=True)
    )

    app = open_history(open_page, data_dir, "loss_scale", lang=lang)

    assert not app.exception
    assert word in texts(app)


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize(("lang", "words"), [("en", "energy, lower is better"), ("zh", "energy，越低越好")])
def test_the_page_of_a_configuration_shows_the_metric_of_its_address(
    lang: str, words: str, open_page: OpenPage
) -> None:
    app = open_page("configuration", run="fast-0", metric="energy", lang=lang)

    assert not app.exception
    assert [tile.value for tile in app.metric[:4]] == ["8.1", "–", "2", "+100.0 %"]
    assert words in [caption.value for caption in app.caption]
    [runs] = list_grids(app)
    assert sorted(runs.column("throughput")) == ["8", "8.1", "8.2"]


@pytest.mark.usefixtures("measured")
def test_a_row_of_the_leaderboard_opens_its_configuration_by_the_same_metric(open_page: OpenPage) -> None:
    [block] = list_grids(open_page("leaderboard", metric="energy"))

    assert all("metric=energy" in row.href for row in block.rows)


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("page", ["configuration", "scaling"])
def test_pages_with_an_unknown_metric_show_the_throughput(page: str, open_page: OpenPage) -> None:
    app = open_page(page, run="fast-0", metric="gone")

    assert not app.exception
    assert "fast-0" in texts(app) or app.selectbox(key="metric").value == "throughput"


def record_curve(data_dir: Path, combined: Combined) -> None:
    Warehouse(data_dir / "warehouse.duckdb").rebuild(
        replace(
            a.record(f"n{nodes}", node_count=nodes),
            metrics=(RunMetric("tokens_per_s", 900.0 * nodes + 100, "tokens/s", Better.HIGHER, combined),),
        )
        for nodes in (1, 2, 4)
    )


@pytest.mark.parametrize(("lang", "words"), [("en", "No speed-up and no law"), ("zh", "没有加速比和定律")])
def test_scaling_shows_a_metric_and_says_where_nothing_is_ideal(
    lang: str, words: str, open_page: OpenPage, data_dir: Path
) -> None:
    record_curve(data_dir, Combined.MEAN)
    by_mean = open_page("scaling", metric="tokens_per_s", lang=lang)
    record_curve(data_dir, Combined.SUM)
    by_sum = open_page("scaling", metric="tokens_per_s", lang=lang)

    assert (words in texts(by_mean), words in texts(by_sum)) == (True, False)
    for app in (by_mean, by_sum):
        assert not app.exception
        assert app.dataframe[0].value.iloc[:, 2].tolist() == [1000.0, 1900.0, 3700.0]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_series_shows_the_metric_of_its_address(lang: str, open_page: OpenPage, data_dir: Path) -> None:
    bench = SeriesBench.on(data_dir)
    series = bench.launch(node_counts="1,2", repeats=1)
    for energy in (4.25, 8.5):
        (run,) = bench.admit()
        bench.end(run, metrics=(RunMetric("energy", energy, "J/token", Better.LOWER, Combined.MEAN),))

    app = open_page("series", series=series.series_id, metric="energy", lang=lang)

    assert not app.exception
    assert app.selectbox(key="metric").value == "energy"
    assert "4.25" in "".join(table.value.to_csv() for table in app.dataframe)
    word = {"en": "Valid cells: energy (J/token).", "zh": "有效格：energy（J/token）。"}[lang]
    assert any(word in caption.value for caption in app.caption), [caption.value for caption in app.caption]
