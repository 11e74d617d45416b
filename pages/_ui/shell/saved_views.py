"""Saved views: a page's filters under a name, for everybody who shares the warehouse; `?view=name` opens one."""

from collections.abc import Mapping
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from aisbench_core.warehouse.values.saved import SavedView
from pages._ui.shell import url
from pages._ui.shell.core import actor, core, is_allowed, run_cached
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.filters import format_filter_label
from pages._ui.shell.formats import format_time
from pages._ui.shell.navigation import link_page
from pages._ui.shell.outcomes import report_outcome, show_outcome
from pages._ui.shell.words import t

TITLE = "title"  # what the key of the container of a title with buttons beside it begins with

NAME, PICKED, NEW_NAME = "view-name", "view-picked", "view-new"
OUTCOME = "view-outcome"

REFUSED = "view-taken"  # where the session has the name that could not be saved because a view has it already


def show_title(page: Path, title: str) -> DeltaGenerator:
    """The page's title, and beside it its saved views; opens the one that the URL names.

    Returns a container before them, for what else acts on the whole page."""
    url.clear_missing()
    views: dict[str, SavedView] = {}
    unknown = ""
    with errors_shown():
        views = {view.name: view for view in run_cached(core().warehouse.saved_views.on, page.stem)}
        unknown = _open_view(views)
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key=f"{TITLE}-{page.stem}"
    ):
        st.title(title, width="content")
        with st.container(horizontal=True, width="content", gap="xsmall"):
            actions = st.container(horizontal=True, width="content", gap="xsmall")
            with errors_shown():
                _show_popover(page, views)
    if unknown:
        st.info(t("views.unknown", name=escape_markdown(unknown)), icon=":material/bookmark:")
    show_outcome(OUTCOME)
    return actions


def show_missing() -> None:
    """Which of the URL's filters name something that no longer exists; call it below the filters."""
    filters = []
    for key, values in url.read_missing().items():
        filters.append(f"{format_filter_label(key)}: {', '.join(map(escape_markdown, values))}")
    if filters:
        st.warning(t("views.missing", filters="; ".join(filters)), icon=":material/filter_alt_off:")


def _open_view(views: Mapping[str, SavedView]) -> str:
    """Replace `?view=` by what was saved under that name; returns the name if there is no such view.

    From here on the URL says all, so that the filters can be changed and the address be sent to somebody."""
    name = st.query_params.get(url.VIEW)
    if name is None:
        return ""
    del st.query_params[url.VIEW]
    if name not in views:
        return name
    language = st.query_params.get_all(url.LANGUAGE)
    st.query_params.from_dict({**views[name].address, **({url.LANGUAGE: language[-1]} if language else {})})
    return ""


def _show_popover(page: Path, views: Mapping[str, SavedView]) -> None:
    if not views and not is_allowed("SavedViews.save"):
        return
    shown = next((name for name, view in views.items() if view.address == url.read_parameters()), "")
    label = t("views.here", name=escape_markdown(shown)) if shown else t("views.title")
    with st.popover(label, icon=":material/bookmark:"):
        for view in views.values():
            with st.container(horizontal=True):  # by itself a link has no width in a popover
                link_page(page, escape_markdown(view.name), {url.VIEW: view.name}, icon=":material/bookmark:")
            st.caption(t("views.saved", who=escape_markdown(view.saved_by), at=format_time(view.saved_at)))
        if not is_allowed("SavedViews.save"):
            return
        st.text_input(t("views.name"), key=NAME, placeholder=t("views.name_example"))
        icon, args = ":material/bookmark_add:", (page.stem, False)
        st.button(t("views.save"), key="view-save", icon=icon, on_click=_save_view, args=args)
        name = st.session_state.get(REFUSED)
        if name and name == st.session_state.get(NAME, "").strip():
            st.button(
                t("views.replace", name=escape_markdown(name)),
                key="view-replace",
                on_click=_save_view,
                args=(page.stem, True),
            )
        if views:
            _show_changes(page.stem, list(views))


def _show_changes(page: str, names: list[str]) -> None:
    with st.expander(t("views.change")):
        st.selectbox(t("views.which"), names, key=PICKED)
        st.text_input(t("views.new_name"), key=NEW_NAME)
        with st.container(horizontal=True):
            st.button(t("views.rename"), key="view-rename", on_click=_rename_view, args=(page,))
            st.button(
                t("views.delete"), key="view-delete", icon=":material/delete:", on_click=_delete_view, args=(page,)
            )


@report_outcome(OUTCOME)
def _save_view(page: str, replace: bool) -> str:
    name = st.session_state.get(NAME, "").strip()
    view = SavedView(page, name, url.read_parameters(), actor().name, core().clock())
    st.session_state[REFUSED] = name  # stays where saving fails
    core().warehouse.saved_views.save(view, actor(), overwrite=replace)
    st.session_state.pop(REFUSED, None)
    st.session_state[NAME] = ""
    return t("views.done_saved", name=escape_markdown(name))


@report_outcome(OUTCOME)
def _rename_view(page: str) -> str:
    name = st.session_state.get(NEW_NAME, "").strip()
    core().warehouse.saved_views.rename(page, st.session_state[PICKED], name, actor())
    st.session_state[NEW_NAME] = ""
    return t("views.done_saved", name=escape_markdown(name))


@report_outcome(OUTCOME)
def _delete_view(page: str) -> str:
    name = st.session_state[PICKED]
    core().warehouse.saved_views.delete(page, name, actor())
    return t("views.done_deleted", name=escape_markdown(name))
