"""What is on screen as files: tables in every format."""

from io import BytesIO

import streamlit as st

from aisbench_core.warehouse.exports import MEDIA_TYPES, Export, ExportFormat, ExportTable
from aisbench_core.warehouse.values import BoardQuery
from pages._ui import address
from pages._ui.core import core
from pages._ui.words import words

NAMES = {
    ExportFormat.CSV: "CSV",
    ExportFormat.EXCEL: "Excel",
    ExportFormat.PARQUET: "Parquet",
    ExportFormat.JSON: "JSON",
}


def show_export(query: BoardQuery) -> None:
    """Everything that the filter chooses as a file, which is written when the button is pressed."""
    t = words()
    with st.popover(t("files.title"), icon=":material/download:"):
        st.radio(
            t("files.what"),
            list(ExportTable),
            format_func=lambda each: t(f"files.{each}"),
            key=address.option("rows", list(ExportTable), ExportTable.RUNS),
            on_change=address.keep,
            args=("rows", ExportTable.RUNS),
        )
        st.radio(
            t("files.format"),
            list(ExportFormat),
            horizontal=True,
            format_func=NAMES.__getitem__,
            key=address.option("format", list(ExportFormat), ExportFormat.CSV),
            on_change=address.keep,
            args=("format", ExportFormat.CSV),
        )
        asked = Export(
            query,
            core().clock(),
            ExportTable(st.session_state["rows"]),
            ExportFormat(st.session_state["format"]),
            bom=True,
        )
        st.caption(t("files.hint"))
        st.download_button(
            t("files.download", file=asked.file_name),
            data=lambda: _content(asked),
            file_name=asked.file_name,
            mime=MEDIA_TYPES[asked.format],
            key="export",
            on_click="ignore",
            type="primary",
            icon=":material/download:",
        )


def _content(asked: Export) -> bytes:
    target = BytesIO()
    core().warehouse.export(asked, target)
    return target.getvalue()
