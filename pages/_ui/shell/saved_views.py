"""Saved views: a page's filters under a name, for everybody who shares the warehouse; `?view=name` opens one."""

from pathlib import Path

import streamlit as st

from aisbench_core.errors import AisbenchError
from aisbench_core.warehouse.records.saved import SavedView
from pages._ui.shell import address
from pages._ui.shell.callbacks import whole
from pages._ui.shell.core import WHO, asked, core
from pages._ui.shell.errors import errors_shown, plain, show_sentence
from pages._ui.shell.formats import when
from pages._ui.shell.navigation import link
from pages._ui.shell.words import words

NAME, PICKED, NEW = "view-name", "view-picked", "view-new"
SAID, TAKEN = "view-said", "view-taken"
"""What came of the last click, once; and the name that was taken when somebody wanted to save."""


def show_title(place: Path, title: str) -> None:
    """The page's title, and beside it its saved views; opens the one that the URL names."""
    address.look_again()
    with errors_shown():
        views = {each.name: each for each in asked(core().warehouse.people.views, place.stem)}
        _open_asked(views)
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.title(title)
            _popover(place, views)
        _say()


def show_missing() -> None:
    """Which of the URL's filters name something that is no longer there; call it below the filters."""
    t = words()
    gone = "; ".join(f"{_label(key)}: {', '.join(map(plain, values))}" for key, values in address.missing().items())
    if gone:
        st.warning(t("views.missing", filters=gone), icon=":material/filter_alt_off:")


def _open_asked(views: dict[str, SavedView]) -> None:
    """Put what was saved in the place of `?view=`: from here on the URL says all, and can be changed and sent."""
    name = st.query_params.get(address.VIEW)
    if name is None:
        return
    del st.query_params[address.VIEW]
    if name not in views:
        st.session_state[SAID] = words()("views.unknown", name=plain(name))
        return
    language = st.query_params.get_all(address.LANGUAGE)
    st.query_params.from_dict({**views[name].address, **({address.LANGUAGE: language[-1]} if language else {})})


def _popover(place: Path, views: dict[str, SavedView]) -> None:
    t = words()
    here = next((name for name, view in views.items() if view.address == address.current()), "")
    label = t("views.here", name=plain(here)) if here else t("views.title")
    with st.popover(label, icon=":material/bookmark:"):
        for view in views.values():
            with st.container(horizontal=True):  # by itself a link has no width in a popover
                link(place, plain(view.name), {address.VIEW: view.name}, icon=":material/bookmark:")
            st.caption(t("views.saved", who=plain(view.saved_by), at=when(view.saved_at)))
        _show_save(place)
        if views:
            _show_changes(place, list(views))


def _show_save(place: Path) -> None:
    t = words()
    st.text_input(t("views.name"), key=NAME, placeholder=t("views.name_example"))
    st.button(
        t("views.save"), key="view-save", icon=":material/bookmark_add:", on_click=_save, args=(place.stem, False)
    )
    taken = st.session_state.get(TAKEN)
    if taken and taken == st.session_state.get(NAME, "").strip():
        st.button(t("views.replace", name=plain(taken)), key="view-replace", on_click=_save, args=(place.stem, True))


def _show_changes(place: Path, names: list[str]) -> None:
    t, page = words(), place.stem
    with st.expander(t("views.change")):
        st.selectbox(t("views.which"), names, key=PICKED)
        st.text_input(t("views.new_name"), key=NEW)
        with st.container(horizontal=True):
            st.button(t("views.rename"), key="view-rename", on_click=_rename, args=(page,))
            st.button(t("views.delete"), key="view-delete", icon=":material/delete:", on_click=_delete, args=(page,))


def _say() -> None:
    said: str | AisbenchError | None = st.session_state.pop(SAID, None)
    if isinstance(said, AisbenchError):
        show_sentence(said)
    elif said:
        st.info(said, icon=":material/bookmark:")


def _label(key: str) -> str:
    t = words()
    return t(f"board.{key}") if t.knows(f"board.{key}") else t.field(key)


@whole
def _save(page: str, instead: bool) -> None:
    name = st.session_state.get(NAME, "").strip()
    view = SavedView(page, name, address.current(), WHO, core().clock())
    try:
        core().warehouse.people.save_view(view, instead=instead)
    except AisbenchError as error:
        st.session_state[SAID] = error
        st.session_state[TAKEN] = name
        return
    st.session_state.pop(TAKEN, None)
    st.session_state[NAME] = ""
    st.session_state[SAID] = words()("views.done_saved", name=plain(name))


@whole
def _rename(page: str) -> None:
    new = st.session_state.get(NEW, "").strip()
    try:
        core().warehouse.people.rename_view(page, st.session_state[PICKED], new)
    except AisbenchError as error:
        st.session_state[SAID] = error
        return
    st.session_state[NEW] = ""
    st.session_state[SAID] = words()("views.done_saved", name=plain(new))


@whole
def _delete(page: str) -> None:
    name = st.session_state[PICKED]
    try:
        core().warehouse.people.delete_view(page, name)
    except AisbenchError as error:
        st.session_state[SAID] = error
        return
    st.session_state[SAID] = words()("views.done_deleted", name=plain(name))
