"""Earlier imports, and the question before one is forgotten."""

import streamlit as st

from aisbench_core.errors import AisbenchError
from aisbench_core.warehouse.records.imported import Import
from pages._ui.shell import address
from pages._ui.shell.callbacks import whole
from pages._ui.shell.core import core
from pages._ui.shell.errors import plain, show_sentence
from pages._ui.shell.formats import when
from pages._ui.shell.words import Words, words

PAGE = 10
ASKED, DONE = "imports-asked", "imports-done"
"""Where the open question keeps its import's id, and what was forgotten last."""


def show_imports() -> None:
    """One page of imports, newest first; a ticked one can be forgotten."""
    t = words()
    if DONE in st.session_state:
        st.success(st.session_state.pop(DONE), icon=":material/delete:")
    _, total = core().history.imports(1)
    if not total:
        return
    pages = -(-total // PAGE)
    here = address.page_number("page", pages)
    found, _ = core().history.imports(PAGE, PAGE * (here - 1))
    st.header(t("imports.title"))
    chosen = st.dataframe(
        [_cells(each, t) for each in found],
        hide_index=True,
        alt=t("imports.title"),
        key=f"imports-{here}-{total}",  # a tick must not move to another import when one is gone
        on_select="rerun",
        selection_mode="single-row",
        column_config={t("import_results.file"): st.column_config.TextColumn(width="large")},
    )
    ticked = chosen["selection"]["rows"]
    one = found[ticked[0]] if ticked and ticked[0] < len(found) else None
    st.button(
        t("imports.forget"),
        key="imports-forget",
        icon=":material/delete:",
        disabled=one is None,
        help=t("imports.forget_help"),
        on_click=_open,
        args=(one.import_id if one else "",),
    )
    if pages > 1:
        st.pagination(**address.pagination("page", pages))
    if ASKED in st.session_state:
        st.dialog(t("imports.question"), on_dismiss=_close)(_question)(st.session_state[ASKED])


def _cells(each: Import, t: Words) -> dict[str, object]:
    return {
        t("imports.at"): when(each.at),
        t("imports.runs"): each.runs,
        t("import_results.file"): each.files,
        t("field.region"): ", ".join(each.regions),
        t("imports.remarked"): each.remarked,
    }


def _question(import_id: str) -> None:
    t = words()
    try:
        one = core().history.get_import(import_id)
    except AisbenchError as error:
        show_sentence(error)
        return
    st.markdown(t("imports.what", count=one.runs, file=plain(one.files), at=when(one.at)))
    keep = one.remarked > 0 and st.checkbox(t("imports.keep", count=one.remarked), key="imports-keep")
    with st.container(horizontal=True):
        if st.button(t("imports.confirm", count=one.runs), key="imports-yes", type="primary"):
            _forget(one, keep, t)
        if st.button(t("launch.cancel"), key="imports-no"):
            _close()
            st.rerun()


def _forget(one: Import, keep: bool, t: Words) -> None:
    try:
        gone = core().history.forget(one, keep_remarks=keep)
    except AisbenchError as error:
        show_sentence(error)
        return
    st.session_state[DONE] = t("imports.done", count=gone, file=plain(one.files))
    _close()
    st.rerun()


@whole
def _open(import_id: str) -> None:
    st.session_state[ASKED] = import_id


def _close() -> None:
    st.session_state.pop(ASKED, None)
