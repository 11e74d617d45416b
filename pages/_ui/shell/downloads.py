"""What is on screen as files: tables in every format, and the report to print."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from io import BytesIO

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.text_tables import TextTable, TextTableFormat, format_text_table
from aisbench_core.exchange.report.words import MAX_RUNS, ReportLanguage
from aisbench_core.warehouse.values.exports import MEDIA_TYPES, Export, ExportFormat, ExportTable, file_name
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow
from pages._ui.shell import url
from pages._ui.shell.core import actor, at_click, core, run_cached
from pages._ui.shell.errors import show_sentence
from pages._ui.shell.evidence import show_bundle_button
from pages._ui.shell.filters import choose_region
from pages._ui.shell.words import t

FORMATS = {
    ExportFormat.CSV: "CSV",
    ExportFormat.EXCEL: "Excel",
    ExportFormat.PARQUET: "Parquet",
    ExportFormat.JSON: "JSON",
    ExportFormat.MARKDOWN: "Markdown",
    ExportFormat.LATEX: "LaTeX",
}

LARGE = 5_000  # runs; writing a workbook of more takes longer than somebody waits without being told why
PREPARED = "export-prepared"  # where the session has the last large workbook, and what it is of

MAX_LISTED = 100_000  # runs of a list in one file
WAIT_SECONDS = 30.0  # of a pressed button, for an operation of the same person to end

REPORT_FORMATS = {"html": "text/html", "pdf": "application/pdf"}


def show_results_export(query: BoardQuery) -> None:
    """Everything that the filter matches as a file, which is written when the button is pressed."""
    with st.popover(t("files.title"), icon=":material/download:"):
        table = url.choose_option(st.radio, "rows", t("files.what"), ExportTable, lambda table: t(f"files.{table}"))
        form = url.choose_option(st.radio, "format", t("files.format"), FORMATS, FORMATS.__getitem__, horizontal=True)
        export = Export(query, core().clock(), table, form, bom=True)
        st.caption(t("files.hint"))
        count = run_cached(core().warehouse.runs.count_rows, query)
        has_room = _has_room()
        ready = has_room and _is_possible(lambda: core().exports.require_size(export))
        if form is ExportFormat.EXCEL and table is ExportTable.RUNS and count > LARGE:
            _show_workbook(export, count, ready)
        else:
            _show_download(export, at_click(_build_content, export), ready=ready)
        st.divider()
        _show_report(lambda: core().reports.list_chosen(query), query, count, has_room, query)


def show_runs_export(list_ids: Callable[[int], tuple[str, ...]]) -> None:
    """The recorded ones of these runs in a file, as `aisbench export` writes it; of one region, like every export.

    `list_ids` is given how many at most."""
    regions = run_cached(core().warehouse.facets.list_regions)
    if not regions:
        return
    with st.popover(t("files.title"), icon=":material/download:"):
        region = choose_region(regions, always=False, resets=())
        form = url.choose_option(st.radio, "format", t("files.format"), FORMATS, FORMATS.__getitem__, horizontal=True)
        st.caption(t("runs.export_hint"))
        query = BoardQuery(region.region, rehearsal=region.rehearsal, include_invalid=True)
        export = Export(query, core().clock(), ExportTable.RUNS, form, bom=True)

        def build_content() -> bytes:
            return _build_content(replace(export, query=replace(query, run_ids=list_ids(MAX_LISTED))))

        _show_download(export, at_click(build_content), ready=_has_room())


def _show_download(export: Export, data: bytes | Callable[[], bytes], *, ready: bool = True) -> None:
    st.download_button(
        t("files.download", file=export.file_name),
        data=data,
        file_name=export.file_name,
        mime=MEDIA_TYPES[export.format],
        key="export",
        disabled=not ready,
        on_click="ignore",
        type="primary",
        icon=":material/download:",
    )


def _show_workbook(export: Export, count: int, ready: bool) -> None:
    """A large workbook is written first, under a bar that shows how far it is; then it can be downloaded."""
    content = (core().warehouse.revision(), export.query)
    prepared, file = st.session_state.get(PREPARED, (None, b""))
    if prepared == content:
        _show_download(export, file)
    elif st.button(
        t("files.prepare", rows=f"{count:,}"), key="export-prepare", icon=":material/table_view:", disabled=not ready
    ):
        bar, target = st.progress(0.0), BytesIO()

        def show(rows: int) -> None:
            bar.progress(min(1.0, rows / count), text=t("files.rows", rows=f"{rows:,}", count=f"{count:,}"))

        core().exports.write(export, target, actor().name, show)
        st.session_state[PREPARED] = (content, target.getvalue())
        st.rerun()


def show_table_files(build: Callable[[], TextTable], name: str) -> None:
    """A table of the page in the formats of papers, written when a button is pressed."""
    with st.popover(t("files.title"), icon=":material/download:"):
        for form in TextTableFormat:
            kind = ExportFormat(form)
            file = f"{name}.{kind.extension}"
            st.download_button(
                FORMATS[kind], data=at_click(partial(_format_table, build, form)), file_name=file,
                mime=MEDIA_TYPES[kind], key=f"table-{form}", on_click="ignore", icon=":material/table:",
            )  # fmt: skip


def _format_table(build: Callable[[], TextTable], form: TextTableFormat) -> str:
    return format_text_table(build(), form)


def show_report(runs: Sequence[RunRow]) -> None:
    """A report on these runs, to print; nothing unless they are of one region, all measured or all rehearsed."""
    if len({(run.region, run.rehearsal) for run in runs}) == 1:
        with st.popover(t("report.title"), icon=":material/print:"):
            query = BoardQuery(runs[0].region, rehearsal=runs[0].rehearsal)
            _show_report(lambda: [run.run_id for run in runs], query, len(runs), _has_room())


def _show_report(
    run_ids: Callable[[], list[str]], query: BoardQuery, count: int, has_room: bool, filters: BoardQuery | None = None
) -> None:
    """The report's language, and the button that writes it; disabled where there are too many runs for one, or no room.

    `filters`: what selected the runs, where they were not named."""
    label, default = t("report.language"), ReportLanguage.BOTH
    language = url.choose_option(
        st.radio, "report", label, ReportLanguage, lambda name: t(f"report.{name}"), default=default, horizontal=True
    )
    form = url.choose_option(st.radio, "report_format", t("report.format"), REPORT_FORMATS, str.upper, horizontal=True)
    full = url.input_switch("report_full", t("report.full"))
    is_ready = has_room and 1 <= count <= MAX_RUNS
    if form == "pdf":
        is_ready = _is_possible(core().reports.check_pdf) and is_ready

    def content() -> str | bytes:
        write = core().reports.write_pdf if form == "pdf" else core().reports.write
        with core().operations.count_operation(actor().name, WAIT_SECONDS):
            return write(run_ids(), language, query.ruleset_id, full=full, query=filters)

    st.caption(t("report.hint", most=MAX_RUNS, count=count))
    st.download_button(
        t("report.download"),
        data=at_click(content),
        file_name=file_name("report", query.region, query.rehearsal, core().clock(), form),
        mime=REPORT_FORMATS[form],
        key="report-file",
        disabled=not is_ready,
        on_click="ignore",
        icon=":material/print:",
    )
    show_bundle_button(run_ids, "report", is_disabled=not (has_room and 1 <= count <= MAX_RUNS))


def _build_content(export: Export) -> bytes:
    target = BytesIO()
    core().exports.write(export, target, actor().name, wait_seconds=WAIT_SECONDS)
    return target.getvalue()


def _has_room() -> bool:
    return _is_possible(lambda: core().operations.require_room(actor().name))


def _is_possible(check: Callable[[], None]) -> bool:
    """Whether the check passes; says why not before the button is pressed: a failed download says nothing."""
    try:
        check()
    except AisbenchError as error:
        show_sentence(error)
        return False
    return True
