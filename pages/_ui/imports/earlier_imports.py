"""Earlier imports, and the dialog before one is forgotten."""

import streamlit as st

from aisbench_core.warehouse.values.imported import Import
from pages._ui.shell import url
from pages._ui.shell.core import actor, core, is_allowed
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.outcomes import show_outcome
from pages._ui.shell.row_keys import create_tickable
from pages._ui.shell.tables import title_cells
from pages._ui.shell.words import t

PAGE = 10
OUTCOME = "imports-outcome"

FORGET = Dialog("imports-forgetting")  # about an import's id


def show_imports() -> None:
    """One page of imports, newest first; a ticked one can be forgotten."""
    show_outcome(OUTCOME)
    _, total = core().imports.imports(1)
    if not total:
        return
    pages = url.Pages("page", total, PAGE)
    imports, _ = core().imports.imports(PAGE, pages.offset)
    st.header(t("imports.title"))
    titles = {
        "at": t("imports.at"),
        "runs": t("imports.runs"),
        "files": t("import_results.file"),
        "regions": t("field.region"),
        "annotated": t("imports.annotated"),
    }
    with create_tickable("imports"):
        event = st.dataframe(
            title_cells([_to_row(entry) for entry in imports], titles),
            hide_index=True,
            alt=t("imports.title"),
            key=f"imports-{pages.number}-{total}",  # a tick must not move to another import when one is gone
            on_select="rerun",
            selection_mode="single-row",
            column_config={titles["files"]: st.column_config.TextColumn(width="large")},
        )
    ticked = [imports[index].import_id for index in event["selection"]["rows"] if index < len(imports)]
    if is_allowed("ResultImport.forget"):
        st.button(
            t("imports.forget"),
            key="imports-forget",
            icon=":material/delete:",
            disabled=not ticked,
            help=t("imports.forget_help"),
            on_click=FORGET.open,
            args=ticked,
        )
    pages.show()
    FORGET.show(t("imports.question"), _confirm_forget)


def _to_row(entry: Import) -> dict[str, object]:
    return {
        "at": format_time(entry.at),
        "runs": entry.runs,
        "files": entry.files,
        "regions": ", ".join(entry.regions),
        "annotated": entry.annotated,
    }


def _confirm_forget() -> None:
    entry = core().imports.get_import(FORGET.subject)
    st.markdown(t("imports.what", count=entry.runs, file=escape_markdown(entry.files), at=format_time(entry.at)))
    keep = entry.annotated > 0 and st.checkbox(t("imports.keep", count=entry.annotated), key="imports-keep")
    with st.container(horizontal=True):
        if st.button(t("imports.confirm", count=entry.runs), key="imports-yes", type="primary"):
            count = core().imports.forget(entry, actor(), keep_annotations=keep)
            st.session_state[OUTCOME] = t("imports.done", count=count, file=escape_markdown(entry.files))
            FORGET.leave()
        if st.button(t("launch.cancel"), key="imports-no"):
            FORGET.leave()
