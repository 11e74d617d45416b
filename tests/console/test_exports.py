"""Export on the leaderboard and Report on Compare: the choice is in the URL, the names say what is in the file."""

from io import BytesIO
from pathlib import Path

import pytest
from openpyxl import load_workbook
from streamlit.testing.v1 import AppTest

from aisbench_core.warehouse import Warehouse
from pages._ui.shell import downloads
from tests import records as a
from tests.console.conftest import OpenPage, texts


def buttons(app: AppTest) -> dict[str, bool]:
    """The label of each download, and whether it can be pressed."""
    return {each.proto.label: not each.proto.disabled for each in app.get("download_button")}


def test_table_and_format_are_chosen_and_rehearsals_are_named(open_page: OpenPage, used: Path) -> None:
    assert used.exists()
    app = open_page("leaderboard", region="sandbox~rehearsal", rows="series", format="xlsx")
    (label, report) = buttons(app)

    assert label.startswith("Download aisbench-series-sandbox-rehearsals-")
    assert label.endswith(".xlsx")
    assert buttons(app) == {label: True, report: True}

    app.radio(key="format").set_value("parquet").run()

    assert next(iter(buttons(app))).endswith(".parquet")
    assert app.query_params["format"] in ("parquet", ["parquet"])


def test_a_report_of_nothing_cannot_be_had(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    app = open_page("leaderboard", region="cn-north-9", q="no run is called so")

    assert buttons(app)["Download the report"] is False
    assert "for up to 200 runs. Selected: 0." in texts(app)


def test_compared_runs_of_one_kind_become_a_report(open_page: OpenPage, used: Path) -> None:
    assert used.exists()

    one_kind = open_page("compare", ids=["run-n1-0", "run-n2-0"])

    assert buttons(one_kind) == {"Download the report": True}
    assert "Selected: 2." in texts(one_kind)


def test_a_large_workbook_is_written_under_a_bar_and_then_downloaded(
    open_page: OpenPage, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "LARGE", 30)
    Warehouse(data_dir / "warehouse.duckdb").rebuild(a.records([8000.0 + run for run in range(40)]))
    app = open_page("leaderboard", format="xlsx", show="runs")
    assert list(buttons(app)) == ["Download the report"]

    app.button(key="export-prepare").click().run()

    assert not app.exception
    assert next(iter(buttons(app))).endswith(".xlsx")
    _, file = app.session_state[downloads.PREPARED]
    assert load_workbook(BytesIO(file))["runs"].max_row == 41

    Warehouse(data_dir / "warehouse.duckdb").record(a.record("one-more"))
    assert list(buttons(app.run())) == ["Download the report"]


def test_a_report_is_offered_as_html_and_as_pdf(open_page: OpenPage, used: Path) -> None:
    assert used.exists()
    app = open_page("leaderboard", region="sandbox~rehearsal", report_format="pdf", report_full="1")

    assert app.radio(key="report_format").value == "pdf"
    assert app.toggle(key="report_full").value is True
    assert buttons(app)["Download the report"] is True
