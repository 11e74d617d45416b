"""What is on screen as files: tables in every format, and the report to print."""

from collections.abc import Callable, Sequence
from io import BytesIO

import streamlit as st

from aisbench_core.report.words import MOST_RUNS, ReportLanguage
from aisbench_core.warehouse.exports import MEDIA_TYPES, Export, ExportFormat, ExportTable, file_name
from aisbench_core.warehouse.values import BoardQuery, RunRow
from pages._ui.shell import address
from pages._ui.shell.core import asked, core
from pages._ui.shell.words import words

NAMES = {
    ExportFormat.CSV: "CSV",
    ExportFormat.EXCEL: "Excel",
    ExportFormat.PARQUET: "Parquet",
    ExportFormat.JSON: "JSON",
}


def show_results_export(query: BoardQuery) -> None:
    """Everything that the filter chooses as a file, which is written when the button is pressed."""
    t = words()
    with st.popover(t("files.title"), icon=":material/download:"):
        table = st.radio(
            t("files.what"),
            **address.option("rows", list(ExportTable), ExportTable.RUNS, lambda each: t(f"files.{each}")),
        )
        form = st.radio(
            t("files.format"),
            horizontal=True,
            **address.option("format", list(ExportFormat), ExportFormat.CSV, NAMES.__getitem__),
        )
        export = Export(
            query,
            core().clock(),
            ExportTable(table),
            ExportFormat(form),
            bom=True,
        )
        st.caption(t("files.hint"))
        st.download_button(
            t("files.download", file=export.file_name),
            data=lambda: _content(export),
            file_name=export.file_name,
            mime=MEDIA_TYPES[export.format],
            key="export",
            on_click="ignore",
            type="primary",
            icon=":material/download:",
        )
        st.divider()
        _report(lambda: core().reports.chosen(query), query, asked(core().warehouse.count, query))


def show_report(runs: Sequence[RunRow]) -> None:
    """A report on these runs, to print; they are of one region and kind."""
    if len({(run.region, run.rehearsal) for run in runs}) == 1:
        with st.popover(words()("report.title"), icon=":material/print:"):
            place = BoardQuery(runs[0].region, rehearsal=runs[0].rehearsal)
            _report(lambda: [run.run_id for run in runs], place, len(runs))


def _report(run_ids: Callable[[], list[str]], place: BoardQuery, count: int) -> None:
    """Its language, and the button; the page is written when that is pressed. Too many runs are said beforehand."""
    t = words()
    chosen = st.radio(
        t("report.language"),
        horizontal=True,
        **address.option("report", list(ReportLanguage), ReportLanguage.BOTH, lambda each: t(f"report.{each}")),
    )
    language = ReportLanguage(chosen)
    st.caption(t("report.hint", most=MOST_RUNS, count=count))
    st.download_button(
        t("report.download"),
        data=lambda: core().reports.write(run_ids(), language, place.ruleset_id),
        file_name=file_name("report", place.region, place.rehearsal, core().clock(), "html"),
        mime="text/html",
        key="report-file",
        disabled=not 1 <= count <= MOST_RUNS,
        on_click="ignore",
        icon=":material/print:",
    )


def _content(export: Export) -> bytes:
    target = BytesIO()
    core().warehouse.export(export, target)
    return target.getvalue()
