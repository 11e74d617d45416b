"""Export on the leaderboard and Report on Compare: the choice is in the URL, the names say what is in the file."""

from io import BytesIO
from pathlib import Path

import pytest
from openpyxl import load_workbook
from streamlit.testing.v1 import AppTest

from aisbench_core.domain.access.operations import Operations
from aisbench_core.warehouse.facade import Warehouse
from pages._ui.shell import downloads
from tests import records as a
from tests.console.conftest import OpenPage, texts
from tests.unit.old_logs import BERT


def buttons(app: AppTest) -> dict[str, bool]:
    """The label of each download, and whether it can be pressed."""
    return {each.proto.label: not each.proto.disabled for each in app.get("download_button")}


def test_table_and_format_are_chosen_and_rehearsals_are_named(open_page: OpenPage, used: Path) -> None:
    assert used.exists()
    app = open_page("leaderboard", region="sandbox~rehearsal", rows="series", format="xlsx")
    (label, report, evidence) = buttons(app)

    assert label.startswith("Download aisbench-series-sandbox-rehearsals-")
    assert label.endswith(".xlsx")
    assert buttons(app) == {label: True, report: True, evidence: True}

    app.radio(key="format").set_value("parquet").run()

    assert next(iter(buttons(app))).endswith(".parquet")
    assert app.query_params["format"] in ("parquet", ["parquet"])


@pytest.mark.usefixtures("used")
def test_the_list_of_runs_offers_what_is_filtered_as_a_file(open_page: OpenPage) -> None:
    app = open_page("runs", region="sandbox~rehearsal", state="failed", format="xlsx")

    [label] = [label for label in buttons(app) if label.startswith("Download aisbench-runs-sandbox-rehearsals-")]
    assert label.endswith(".xlsx")


def test_a_report_of_nothing_cannot_be_had(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("leaderboard", region="cn-north-9", q="no run is called so")

    assert buttons(app)["Download the report"] is False
    assert "for up to 200 runs. Selected: 0." in texts(app)


def test_compared_runs_of_one_kind_become_a_report(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    one_kind = open_page("compare", ids=["run-n1-0", "run-n2-0"])

    assert buttons(one_kind) == {
        **{"Download the report": True, "Evidence (.zip)": True},
        **{"Markdown": True, "LaTeX": True},
    }
    assert "Selected: 2." in texts(one_kind)


def test_who_has_too_much_under_way_is_told_before_a_button_is_pressed(open_page: OpenPage, used: Path) -> None:
    operations = Operations(used, 1)

    with pytest.MonkeyPatch.context() as patch, operations.count_operation("console"):
        patch.setenv("AISBENCH_OPERATIONS_AT_ONCE", "1")
        busy = open_page("leaderboard", region="sandbox~rehearsal")

    assert set(buttons(busy).values()) == {False}
    assert texts(busy).count("console has as many exports, reports and imports under way") == 1
    assert set(buttons(busy.run()).values()) == {True}


def test_an_import_waits_for_nobody_and_says_so(open_page: OpenPage, used: Path, tmp_path: Path) -> None:
    (tmp_path / "bert.log").write_text(BERT, "utf-8")
    with pytest.MonkeyPatch.context() as patch, Operations(used, 1).count_operation("console"):
        patch.setenv("AISBENCH_OPERATIONS_AT_ONCE", "1")
        page = open_page("import")
        page.text_input(key="old-path").set_value(str(tmp_path / "bert.log")).run()
        refused = page.button(key="old-read-path").click().run()

    assert "try again when one of them has ended" in texts(refused)
    assert "1 result:" in texts(refused.button(key="old-read-path").click().run())


def test_more_runs_than_an_export_may_hold_are_said_with_both_numbers(
    open_page: OpenPage, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AISBENCH_EXPORT_MOST_RUNS", "1")
    Warehouse(data_dir / "warehouse.duckdb").rebuild(a.records([8000.0, 8001.0]))

    page = open_page("leaderboard", region="cn-north-9")

    assert next(enabled for label, enabled in buttons(page).items() if label.startswith("Download aisbench")) is False
    assert "an export holds as many as `export_most_runs` allows (1)" in texts(page)


def test_a_large_workbook_is_written_under_a_bar_and_then_downloaded(
    open_page: OpenPage, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "LARGE", 30)
    Warehouse(data_dir / "warehouse.duckdb").rebuild(a.records([8000.0 + run for run in range(40)]))
    app = open_page("leaderboard", format="xlsx", show="runs")
    assert list(buttons(app)) == ["Download the report", "Evidence (.zip)"]

    app.button(key="export-prepare").click().run()

    assert not app.exception
    assert next(iter(buttons(app))).endswith(".xlsx")
    _, file = app.session_state[downloads.PREPARED]
    assert load_workbook(BytesIO(file))["runs"].max_row == 41

    Warehouse(data_dir / "warehouse.duckdb").record(a.record("one-more"))
    assert list(buttons(app.run())) == ["Download the report", "Evidence (.zip)"]


def test_a_report_is_offered_as_html_and_as_pdf(open_page: OpenPage, used: Path) -> None:
    assert used.exists()
    app = open_page("leaderboard", region="sandbox~rehearsal", report_format="pdf", report_full="1")

    assert app.radio(key="report_format").value == "pdf"
    assert app.toggle(key="report_full").value is True
    assert buttons(app)["Download the report"] is True
