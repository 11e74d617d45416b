"""Earlier imports, and the dialog before one is forgotten."""

from collections.abc import Mapping

import streamlit as st

from aisbench_core.model import Origin
from aisbench_core.warehouse.values.imported import Import
from aisbench_core.warehouse.values.runs import RegionFacts
from pages._ui.grid.action_bar import create_action_bar
from pages._ui.grid.table import show_grid
from pages._ui.grid.values import Align, GridCell, GridColumn, GridRow, PageLink
from pages._ui.shell import url
from pages._ui.shell.core import actor, core, is_allowed
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.filters import region_key
from pages._ui.shell.formats import format_time
from pages._ui.shell.navigation import LEADERBOARD
from pages._ui.shell.outcomes import keep_outcome, show_outcome
from pages._ui.shell.words import t

PAGE = 10
OUTCOME = "imports-outcome"

FORGET = Dialog("imports-forgetting")  # about an import's id


def show_imports() -> None:
    """One page of imports, newest first: each leads to its runs, a ticked one can be forgotten."""
    show_outcome(OUTCOME)
    _, total = core().imports.imports(1)
    if not total:
        return
    pages = url.Pages("page", total, PAGE)
    imports, _ = core().imports.imports(PAGE, pages.offset)
    st.header(t("imports.title"))
    may_forget = is_allowed("ResultImport.forget")
    columns = [
        GridColumn("file", t("import_results.file"), fills=True),
        GridColumn("runs", t("imports.runs"), Align.RIGHT),
        GridColumn("annotated", t("imports.annotated"), Align.RIGHT),
        GridColumn("region", t("field.region"), width=200),
        GridColumn("at", t("imports.at"), Align.RIGHT),
    ]
    rows = [_to_row(entry) for entry in imports]
    key = f"imports-{pages.number}-{total}"  # a tick must not move to another import when one is gone
    ticked = show_grid(columns, rows, t("imports.title"), key=key, is_tickable=may_forget)
    pages.show()
    if ticked:
        with create_action_bar(key, len(ticked)):
            st.button(
                t("imports.forget"),
                key="imports-forget",
                icon=":material/delete:",
                disabled=len(ticked) > 1,
                help=t("imports.forget_help"),
                on_click=FORGET.open,
                args=ticked[:1],
            )
    FORGET.show(t("imports.question"), _confirm_forget)


def _to_row(entry: Import) -> GridRow:
    cells = {
        "file": GridCell(entry.files, title=entry.files),
        "runs": GridCell(f"{entry.runs:,}"),
        "annotated": GridCell(f"{entry.annotated:,}" if entry.annotated else ""),
        "region": GridCell(", ".join(entry.regions)),
        "at": GridCell(format_time(entry.at)),
    }
    return GridRow(entry.import_id, entry.files, cells, PageLink(LEADERBOARD, select_runs(entry, entry.regions[0])))


def select_runs(entry: Import, region: str) -> Mapping[str, str]:
    """The runs of an import in one region, on the leaderboard."""
    key = region_key(RegionFacts(region, entry.rehearsal, entry.runs))
    return {"region": key, "origin": Origin.IMPORTED.value, "show": "runs", "invalid": "1", "q": entry.import_id}


def _confirm_forget() -> None:
    entry = core().imports.get_import(FORGET.subject)
    st.markdown(t("imports.what", count=entry.runs, file=escape_markdown(entry.files), at=format_time(entry.at)))
    keep = entry.annotated > 0 and st.checkbox(t("imports.keep", count=entry.annotated), key="imports-keep")
    with st.container(horizontal=True):
        if st.button(t("imports.confirm", count=entry.runs), key="imports-yes", type="primary"):
            count = core().imports.forget(entry, actor(), keep_annotations=keep)
            keep_outcome(OUTCOME, t("imports.done", count=count, file=escape_markdown(entry.files)))
            FORGET.leave()
        if st.button(t("launch.cancel"), key="imports-no"):
            FORGET.leave()
