"""Imported results on the pages: marked on the leaderboard, shown by themselves, and named when compared."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.domain.results.record import write_record
from aisbench_core.model import RunAttempt
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.console.conftest import OpenPage, log_of, texts
from tests.console.grids import Grid

OLD = "i-0123456789abcdef"


@pytest.fixture
def imported(used: Path) -> Path:
    """A console that has been used, and that somebody imported an old result into."""
    record = a.imported(OLD)
    folder = RunFolder(used / "runs" / OLD)
    write_record(record, folder.record, folder.metrics, folder.events)
    Warehouse(used / "warehouse.duckdb").record(record)
    return used


def tables(app: AppTest) -> dict[str, str]:
    """All pairs of the page's two-column tables."""
    frames: list[pd.DataFrame] = [frame.value for frame in app.dataframe]
    return {str(row.iloc[0]): str(row.iloc[1]) for frame in frames for _, row in frame.iterrows()}


def test_the_leaderboard_marks_imported_results(open_page: OpenPage, imported: Path) -> None:
    assert imported.exists()

    app = open_page("leaderboard", region="imported")

    assert "rank" not in Grid(app).labels, "nothing here is ranked"
    assert "imported, unverified" in texts(app)


def test_the_attempts_of_a_run_that_the_ledger_does_not_have_are_those_of_its_record(
    open_page: OpenPage, used: Path
) -> None:
    attempt = RunAttempt(1, a.T0, a.T0 + timedelta(minutes=5), "node_fault", "HBM error", last_words=("loss is nan",))
    record = replace(a.record("r-lost"), attempts=(attempt, RunAttempt(2, a.T0 + timedelta(minutes=6))))
    folder = RunFolder(used / "runs" / "r-lost")
    write_record(record, folder.record, folder.metrics, folder.events)
    Warehouse(used / "warehouse.duckdb").record(record)

    app = open_page("live", run="r-lost")

    assert "Attempts" in [section.label for section in app.expander]
    assert "loss is nan" in log_of(app)


def test_the_leaderboard_can_show_one_origin_only(open_page: OpenPage, imported: Path) -> None:
    assert imported.exists()
    app = open_page("leaderboard", region="imported")

    app.radio(key="origin").set_value("launched").run()

    assert "No run matches the filters" in texts(app)
    assert app.query_params["origin"] in ("launched", ["launched"])


def test_a_row_opens_its_run(open_page: OpenPage, imported: Path) -> None:
    assert imported.exists()
    app = open_page("leaderboard", region="imported", show="runs")

    app = Grid(app).open(OLD)

    assert app.query_params["run"] in (OLD, [OLD])
    assert OLD in texts(app)


def test_an_imported_run_is_shown_with_its_origin_and_its_block(open_page: OpenPage, imported: Path) -> None:
    assert imported.exists()

    app = open_page("live", run=OLD)

    assert not app.exception
    assert "Imported from logs/run1.log (1)" in texts(app).replace("\\", "")
    shown = tables(app)
    assert shown["throughput_ratio"].startswith("14,151")
    assert shown["max_power"] == "–"
    assert shown["Flavor"] == "–"
    assert "not measured there: max_power" in texts(app).replace("\\", "")
    assert app.code[0].value.startswith('{"accuracy"')


def test_the_moment_of_an_import_is_not_shown_as_the_runs_own(open_page: OpenPage, imported: Path) -> None:
    Warehouse(imported / "warehouse.duckdb").record(a.imported("undated", created_at=a.T0 + timedelta(days=1)))

    assert tables(open_page("live", run="undated"))["Started"] == "–"


def test_a_mode_that_the_file_does_not_tell_is_not_shown_as_one(open_page: OpenPage, imported: Path) -> None:
    for record in (a.imported("told"), a.imported("untold", stated=("framework_version",))):
        folder = RunFolder(imported / "runs" / record.run.run_id)
        write_record(record, folder.record, folder.metrics, folder.events)
        Warehouse(imported / "warehouse.duckdb").record(record)

    assert tables(open_page("live", run="told"))["Mode"] == "Cluster"
    assert tables(open_page("live", run="untold"))["Mode"] == "–"


def test_what_a_check_says_is_translated(open_page: OpenPage, imported: Path) -> None:
    assert imported.exists()

    app = open_page("live", run=OLD, lang="zh")

    assert "要求：有每张卡的吞吐量 · 实际：无 (导入的结果只有总和)" in texts(app)
    assert "处理办法：重新导入，并提供缺少或有误的内容" in texts(app)
    assert "规则集：AISBench Console 自带规则 (aisbench/1) · 组别：未填写（按开放组处理）" in texts(app)


def test_an_imported_run_is_shown_even_without_its_folder(open_page: OpenPage, imported: Path) -> None:
    (imported / "runs" / OLD / "record.json").unlink()

    app = open_page("live", run=OLD)

    assert "cannot be read" in texts(app)
    assert app.metric[0].value.startswith("14,151")


def test_a_run_that_nobody_knows_is_still_an_error(open_page: OpenPage, imported: Path) -> None:
    assert imported.exists()

    app = open_page("live", run="i-nobody")

    assert "there is no run" in texts(app)


def test_a_comparison_names_what_an_imported_run_does_not_tell(open_page: OpenPage, imported: Path) -> None:
    Warehouse(imported / "warehouse.duckdb").record(a.record("here", region="imported"))

    app = open_page("compare", ids=["here", OLD])

    assert "Unknown for some runs: Parameters, Data. Ratios are valid only if these are equal." in texts(app)
    by_rows = texts(open_page("compare", ids=["here", OLD], by="rows"))
    assert "Unknown for some runs: Parameters, Data. No ratio is shown between rows that may differ in them." in by_rows


def test_a_comparison_that_has_no_ratio_does_not_say_when_its_ratios_hold(open_page: OpenPage, imported: Path) -> None:
    Warehouse(imported / "warehouse.duckdb").record(a.record("elsewhere"))

    shown = texts(open_page("compare", ids=["elsewhere", OLD]))

    assert "Unknown for some runs: Parameters, Data." in shown
    assert "Ratios hold" not in shown


def test_scaling_of_imported_runs_names_what_they_do_not_tell(open_page: OpenPage, imported: Path) -> None:
    Warehouse(imported / "warehouse.duckdb").record(a.imported("i-two-nodes", reported=28_000.0, node_count=2))

    app = open_page("compare", ids=OLD)

    assert "Scaling over nodes" in [each.label for each in app.expander]
    assert "Unknown for some runs: Parameters." in texts(app)


def test_the_system_of_an_imported_result_can_be_described(open_page: OpenPage, imported: Path) -> None:
    app = open_page("live", run=OLD)
    app.button(key="system").click().run()

    app.text_input(key=f"system.{OLD}.cooling").set_value("air").run()
    app.button(key="system-save").click().run()

    assert (imported / "runs" / OLD / "system.json").read_text("utf-8") == '{\n  "cooling": "air"\n}\n'
    assert app.button(key="system-keep").disabled
