"""History: the verdict and what it rests on, everything chosen in the URL, and baselines that people mark."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.console.conftest import OpenPage, drawn, markdown_texts, texts
from tests.console.grids import Grid, list_grids
from tests.console.test_results import table

GOOD = (8000.0, 8040.0, 7960.0, 8020.0, 7980.0, 8010.0)
BAD = (7500.0, 7540.0, 7460.0)


def version(name: str, totals: tuple[float, ...], hour: int, **changes: object) -> list[RunRecord]:
    """Runs of one version, all in one hour; run ids begin with the version."""
    return [
        replace(each, run=replace(each.run, started_at=each.run.created_at + timedelta(hours=hour)))
        for each in a.records(totals, name, framework_version=name, **changes)
    ]


@pytest.fixture
def warehouse(data_dir: Path) -> Warehouse:
    """Three versions, of which the second is slow and the third no better; and another group with one run."""
    found = Warehouse(data_dir / "warehouse.duckdb")
    broken = a.record("broken", throughputs=[1.0] * 3)
    lonely = version("r1.9", (1.0,), -1, node_count=4)
    found.rebuild([*version("r1.10", GOOD, 0), *version("r1.11", BAD, 1), *version("r1.12", BAD, 2), *lonely, broken])
    return found


def main_group(warehouse: Warehouse) -> str:
    """The group with the most runs."""
    return max(warehouse.trends.list_rows(BoardQuery("cn-north-9")).rows, key=lambda row: row.runs).group.id


def verdicts(app: AppTest) -> pd.DataFrame:
    """The table of tests by metric."""
    return table(app).set_index("Metric")


def test_all_groups_are_listed_with_their_verdicts_before_one_is_chosen(
    open_page: OpenPage, warehouse: Warehouse
) -> None:
    warehouse.rebuild(
        [*version("r1.10", GOOD, 0), *version("r1.11", BAD, 1), *version("r1.9", (1.0,), -1, node_count=4)]
    )

    grid = Grid(open_page("history"))

    assert grid.column("outcome") == ["Regression", "Not enough data"]
    assert grid.column("size") == ["1 × 8", "4 × 8"]
    worst, unclear = grid.rows
    assert worst["change"].startswith("−6.")
    assert worst.tone("change") == "bad"
    assert unclear["change"] == ""


def test_the_list_of_groups_is_sorted_by_its_heads(open_page: OpenPage, warehouse: Warehouse) -> None:
    few = version("r1.9", (1.0,), 3, node_count=4)
    warehouse.rebuild([*version("r1.10", GOOD, 0), *version("r1.11", BAD, 1), *few])
    app = open_page("history")

    app = Grid(app).sort("at")
    latest = Grid(app).column("size")
    app = Grid(app).sort("at")

    assert latest == ["4 × 8", "1 × 8"]
    assert Grid(app).column("size") == latest[::-1]
    assert app.query_params["sort"] in ("at", ["at"])
    assert Grid(open_page("history", sort="change")).column("size") == ["1 × 8", "4 × 8"], "those without one come last"
    assert Grid(open_page("history", sort="outcome", order="up")).column("size") == ["4 × 8", "1 × 8"]


def test_the_list_of_groups_follows_the_filters(open_page: OpenPage, warehouse: Warehouse) -> None:
    assert len(Grid(open_page("history")).rows) == len(warehouse.trends.list_rows(BoardQuery("cn-north-9")).rows)

    assert "r1.9" in texts(open_page("history", nodes="4"))  # only one is left, so it is opened


def test_the_list_of_groups_is_filtered_by_verdict(open_page: OpenPage, warehouse: Warehouse) -> None:
    warehouse.rebuild([*version("r1.10", GOOD, 0), *version("r1.11", BAD, 1), *a.records([8000.0], "one", flavor="f2")])

    unclear = open_page("history", outcome="not_enough")
    none, odd = open_page("history", outcome="improvement"), open_page("history", outcome="worse")

    assert Grid(unclear).column("flavor") == ["f2"]
    assert list_grids(none) == []
    assert "No run matches the filters." in texts(none)
    assert "worse" in texts(odd), "what the address names and nobody offers is said"
    assert len(Grid(odd).rows) == 2


def test_the_newest_version_is_compared_with_the_one_before_it(open_page: OpenPage, warehouse: Warehouse) -> None:
    app = open_page("history", group=main_group(warehouse))

    assert "No change" in texts(app)
    assert "**r1.12** (runs: 3) against **r1.11** (runs: 3) – previous version" in texts(app).replace("\\", "")
    assert verdicts(app).loc["Throughput (samples/s)", "Verdict"] == "No change"
    assert "Tests in this answer: 4" in texts(app)
    assert "in 90 of 100 cases" in texts(app)
    assert "Runs without a valid result, left out: 1" in texts(app)


def test_a_drop_within_the_newest_version_is_not_said_to_be_one_against_the_baseline(
    open_page: OpenPage, data_dir: Path
) -> None:
    better = version("r1.11", (9000.0, 9010.0, 8990.0), 1)
    newest = [
        replace(each, run=replace(each.run, run_id=f"new-{each.run.run_id}", code_sha256="b" * 64))
        for each in version("r1.11", (8500.0, 8510.0, 8490.0), 2)
    ]
    Warehouse(data_dir / "warehouse.duckdb").rebuild([*version("r1.10", GOOD, 0), *better, *newest])

    app = open_page("history")

    said = texts(app).replace("\\", "")
    assert "**Regression** – within r1.11: Throughput −5.56 %" in said
    assert "image or code is not that of the version's newest run: 3" in said


def test_another_baseline_is_chosen_in_the_url(open_page: OpenPage, warehouse: Warehouse) -> None:
    app = open_page("history", group=main_group(warehouse), against="r1.10")

    assert "**Regression** – Throughput −6" in app.error[0].value
    row = verdicts(app).loc["Throughput (samples/s)"]
    assert row["Change"].startswith("−6.")
    assert float(row["Adjusted p"].replace("< ", "")) < 0.001
    assert row["Test"] == "pooled"
    assert row["Since run"] == "r1.12-0"


def test_every_run_is_a_dot_and_a_row_beside_the_changes_of_level(open_page: OpenPage, warehouse: Warehouse) -> None:
    app = open_page("history", group=main_group(warehouse))

    assert len([row for row in drawn(app) if row.get("by") == "ann"]) == 12
    assert len([row for row in drawn(app) if row.get("ring") == 2]) == 3
    changes, runs = table(app, 1), Grid(app)
    assert list(changes["Since run"]) == ["r1.11-0"]
    assert list(changes["First seen there"]) == ["Framework version r1.11"]
    assert runs.ids[:4] == ["r1.12-2", "r1.12-1", "r1.12-0", "r1.11-2"]
    assert runs.column("part")[:4] == ["Candidate", "Candidate", "Candidate", "Baseline"]


def test_versions_are_drawn_side_by_side_and_any_metric_can_be_looked_at(
    open_page: OpenPage, warehouse: Warehouse
) -> None:
    app = open_page("history", group=main_group(warehouse), along="version", metric="duration_s")

    assert "Duration (s)" in app.get("vega_lite_chart")[0].proto.spec
    assert "ticks are the means of versions" in texts(app)
    assert app.query_params["metric"] in ("duration_s", ["duration_s"])


def test_runs_that_are_not_valid_come_with_the_reason(open_page: OpenPage, warehouse: Warehouse) -> None:
    assert warehouse.revision()
    app = open_page("history", group=main_group(warehouse))
    assert "broken" not in Grid(app).ids

    app.toggle(key="invalid").set_value(True).run()

    row = Grid(app).row("broken")
    assert "V03" in row["reason"]
    assert row["throughput"] == ""
    assert app.query_params["invalid"] in ("1", ["1"])


def test_a_group_with_one_run_says_that_it_is_not_enough(open_page: OpenPage, warehouse: Warehouse) -> None:
    assert warehouse.revision()

    app = open_page("history", nodes="4")

    assert "Not enough data" in texts(app)
    assert "This takes at least 6 runs" in texts(app)
    assert "two valid runs on each side" in texts(app)


def test_a_version_is_marked_as_the_baseline_and_unmarked(open_page: OpenPage, warehouse: Warehouse) -> None:
    app = open_page("history", group=main_group(warehouse))
    assert "No baseline is marked" in texts(app)

    app.selectbox(key="baseline-choice").set_value("r1.10").run()
    app.button(key="mark-baseline").click().run()

    (marked,) = warehouse.trends.list_baselines()
    assert (marked.names, marked.marked_by) == (("r1.10",), "console")
    assert "Framework version**: r1.10 – marked by console" in texts(app)
    assert "Regression" in app.error[0].value

    app.button(key="unmark-baseline").click().run()

    assert warehouse.trends.list_baselines() == []
    assert not app.error


@pytest.mark.parametrize(
    "query",
    [
        {"group": "nothing"},
        {"group": ["a", "b"]},
        {"by": "colour", "against": "r99", "metric": "size", "along": "moon"},
        {"nodes": "4", "against": "r1.12"},
        {"model": "none"},
    ],
)
def test_no_address_makes_the_page_fail(
    open_page: OpenPage, warehouse: Warehouse, query: dict[str, str | list[str]]
) -> None:
    assert warehouse.revision()

    app = open_page("history", **query)

    assert not app.exception
    assert not app.error


def test_an_address_of_an_unknown_group_says_so(open_page: OpenPage, warehouse: Warehouse) -> None:
    assert warehouse.revision()

    app = open_page("history", group="nothing")

    assert "not among these" in texts(app)


def test_an_address_of_before_fingerprints_covered_the_spec_opens_the_group_of_today(
    open_page: OpenPage, warehouse: Warehouse
) -> None:
    rows = warehouse.trends.list_rows(BoardQuery("cn-north-9")).rows
    oldest = rows[-1].group.id
    [first] = [before for before, today in warehouse.trends.find_first_ids(rows).items() if today == oldest]

    app = open_page("history", group=first)

    assert "not among these" not in texts(app)
    assert app.query_params["group"] in (oldest, [oldest])


def test_names_from_data_are_shown_as_they_are(open_page: OpenPage, data_dir: Path) -> None:
    odd = "**r2** [x](http://evil)"
    Warehouse(data_dir / "warehouse.duckdb").rebuild([*version("r1", GOOD, 0), *version(odd, GOOD, 1)])

    app = open_page("history")

    assert "\\*\\*r2" in texts(app)
    assert "](http" not in markdown_texts(app)


def test_a_group_that_tells_no_time_says_so_instead_of_naming_a_version(open_page: OpenPage, data_dir: Path) -> None:
    undated = a.imported("undated", created_at=a.T0 + timedelta(days=1))
    Warehouse(data_dir / "warehouse.duckdb").rebuild([undated])

    app = open_page("history")

    assert "No run of this group has a known time" in texts(app)
    assert "One version only" not in texts(app)


def test_the_table_of_runs_is_searched_sorted_and_paged_among_all_runs_of_the_group(
    open_page: OpenPage, data_dir: Path
) -> None:
    values = tuple(8000.0 + index for index in range(60))
    Warehouse(data_dir / "warehouse.duckdb").rebuild([*version("r1.10", values, 0), *version("r1.11", GOOD, 1)])

    first = open_page("history")
    slowest = open_page("history", sort="throughput", order="up", page="3")
    found = open_page("history", q="R1.11")
    beyond = open_page("history", page="99")
    nothing = open_page("history", q="nobody")

    assert Grid(first).ids[:2] == ["r1.11-5", "r1.11-4"]
    assert len(Grid(first).ids) == 25
    assert "66" in texts(first)
    assert Grid(slowest).ids[-1] == "r1.10-59"
    assert Grid(Grid(slowest).sort("throughput")).ids[0] == "r1.10-59"
    assert Grid(found).column("framework_version") == ["r1.11"] * len(GOOD)
    assert len(Grid(beyond).ids) == 66 - 50
    assert "r1.10-0" in Grid(beyond).ids
    assert "No run matches the filters" in texts(nothing)


def test_a_run_with_several_novelties_has_one_short_label(open_page: OpenPage, data_dir: Path) -> None:
    image = "mindspore_1.11.0-cann_6.3-py_3.7-euler_2.8.3-aarch64"
    made = [*version("r1.10", GOOD, 0), *version("r1.11", BAD, 1, engine_version=image)]
    made += version("again", BAD, 2, engine_version=f"{image}-patched")
    Warehouse(data_dir / "warehouse.duckdb").rebuild(made)

    labels = [row["label"] for row in drawn(open_page("history")) if row.get("label")]

    assert labels[0] == "r1.11 +1"
    assert all(len(label) <= 25 for label in labels)
