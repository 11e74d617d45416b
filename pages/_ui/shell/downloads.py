"""What is on screen as files: tables in every format, and the report to print."""

from collections.abc import Callable, Sequence
from io import BytesIO

import streamlit as st

from aisbench_core.errors import AisbenchError
from aisbench_core.report.words import MAX_RUNS, ReportLanguage
from aisbench_core.warehouse.exports import MEDIA_TYPES, Export, ExportFormat, ExportTable, file_name
from aisbench_core.warehouse.values import BoardQuery, RunRow
from pages._ui.shell import url
from pages._ui.shell.core import cached, core
from pages._ui.shell.errors import show_sentence
from pages._ui.shell.words import t

FORMATS = {
    ExportFormat.CSV: "CSV",
    ExportFormat.EXCEL: "Excel",
    ExportFormat.PARQUET: "Parquet",
    ExportFormat.JSON: "JSON",
}

LARGE = 5_000  # runs; writing a workbook of more takes longer than somebody waits without being told why
PREPARED = "export-prepared"  # where the session has the last large workbook, and what it is of

REPORT_FORMATS = {"html": "text/html", "pdf": "application/pdf"}


def show_results_export(query: BoardQuery) -> None:
    """Everything that the filter matches as a file, which is written when the button is pressed."""
    with st.popover(t("files.title"), icon=":material/download:"):
        table = url.choice(st.radio, "rows", t("files.what"), ExportTable, lambda table: t(f"files.{table}"))
        form = url.choice(st.radio, "format", t("files.format"), FORMATS, FORMATS.__getitem__, horizontal=True)
        export = Export(query, core().clock(), table, form, bom=True)
        st.caption(t("files.hint"))
        count = cached(core().warehouse.count, query)
        if form is ExportFormat.EXCEL and table is ExportTable.RUNS and count > LARGE:
            _workbook(export, count)
        else:
            _download(export, lambda: _content(export))
        st.divider()
        _report(lambda: core().reports.chosen(query), query, count, query)


def _download(export: Export, data: bytes | Callable[[], bytes]) -> None:
    st.download_button(
        t("files.download", file=export.file_name),
        data=data,
        file_name=export.file_name,
        mime=MEDIA_TYPES[export.format],
        key="export",
        on_click="ignore",
        type="primary",
        icon=":material/download:",
    )


def _workbook(export: Export, count: int) -> None:
    """A large workbook is written first, under a bar that shows how far it is; then it can be downloaded."""
    content = (core().warehouse.revision(), export.query)
    prepared, file = st.session_state.get(PREPARED, (None, b""))
    if prepared == content:
        _download(export, file)
    elif st.button(t("files.prepare", rows=f"{count:,}"), key="export-prepare", icon=":material/table_view:"):
        bar, target = st.progress(0.0), BytesIO()

        def show(rows: int) -> None:
            bar.progress(min(1.0, rows / count), text=t("files.rows", rows=f"{rows:,}", count=f"{count:,}"))

        core().warehouse.export(export, target, show)
        st.session_state[PREPARED] = (content, target.getvalue())
        st.rerun()


def show_report(runs: Sequence[RunRow]) -> None:
    """A report on these runs, to print; nothing unless they are of one region, all measured or all rehearsed."""
    if len({(run.region, run.rehearsal) for run in runs}) == 1:
        with st.popover(t("report.title"), icon=":material/print:"):
            query = BoardQuery(runs[0].region, rehearsal=runs[0].rehearsal)
            _report(lambda: [run.run_id for run in runs], query, len(runs))


def _report(run_ids: Callable[[], list[str]], query: BoardQuery, count: int, filters: BoardQuery | None = None) -> None:
    """The report's language, and the button that writes it; disabled where there are too many runs for one.

    `filters`: what selected the runs, where they were not named."""
    label, default = t("report.language"), ReportLanguage.BOTH
    language = url.choice(
        st.radio, "report", label, ReportLanguage, lambda name: t(f"report.{name}"), default=default, horizontal=True
    )
    form = url.choice(st.radio, "report_format", t("report.format"), REPORT_FORMATS, str.upper, horizontal=True)
    full = url.toggle("report_full", t("report.full"))
    reports = core().reports
    is_ready = 1 <= count <= MAX_RUNS
    if form == "pdf":
        try:
            reports.check_pdf()
        except AisbenchError as error:  # before the button is pressed: a failed download says nothing
            show_sentence(error)
            is_ready = False

    def content() -> str | bytes:
        write = reports.write_pdf if form == "pdf" else reports.write
        return write(run_ids(), language, query.ruleset_id, full=full, query=filters)

    st.caption(t("report.hint", most=MAX_RUNS, count=count))
    st.download_button(
        t("report.download"),
        data=content,
        file_name=file_name("report", query.region, query.rehearsal, core().clock(), form),
        mime=REPORT_FORMATS[form],
        key="report-file",
        disabled=not is_ready,
        on_click="ignore",
        icon=":material/print:",
    )


def _content(export: Export) -> bytes:
    target = BytesIO()
    core().warehouse.export(export, target)
    return target.getvalue()
