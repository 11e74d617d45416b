"""The browser's drafts: which one is open, a new one, deleting one, and whether another window changed it."""

import secrets
from collections.abc import Callable
from functools import lru_cache

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.domain.authoring.specfile import from_yaml, to_yaml
from pages._ui.configure import drafts
from pages._ui.configure.first_draft import first_spec
from pages._ui.shell import url
from pages._ui.shell.browser import browser_key
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.core import core, profile_in_url
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.words import t

SECONDS = 5  # how often the page looks whether another window has changed its draft
LISTED = 50  # drafts to choose from, the newest first

MENU = "drafts"  # the key of the menu, under which the session has whether it is open
DELETED = "draft-deleted"  # where the session has the key and the text of the draft that was deleted last


def show_drafts(more: Callable[[], None]) -> None:
    """A menu: the draft that is open, the way to the others, and what else one does with drafts, which `more` shows."""
    named = drafts.draft_name()
    titles = _build_titles()
    titles.setdefault(named, _build_title(named, core().ledger.draft(drafts.draft_key()) or "", ""))
    with st.popover(_describe_open(named), icon=":material/draft:", key=MENU, on_change="rerun"):
        url.choose_option(
            st.selectbox, "draft", t("drafts.label"), titles, titles.__getitem__, default=named, always=True
        )
        st.caption(t("drafts.help"))
        with st.container(horizontal=True):
            st.button(t("drafts.new"), key="draft-new", icon=":material/add:", on_click=_add_draft)
            if core().ledger.draft(drafts.draft_key()) is not None:
                st.button(t("drafts.delete"), key="draft-delete", icon=":material/delete:", on_click=_delete_draft)
        more()


def close_menu() -> None:
    """Close the menu; to be called by callbacks."""
    st.session_state[MENU] = False


def show_deleted() -> None:
    """The draft that was deleted last, and the way back."""
    name, text = st.session_state.get(DELETED, ("", ""))
    if name:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(t("drafts.deleted", title=escape_markdown(_build_title(name, text, ""))))
            st.button(t("drafts.undo"), key="draft-undo", icon=":material/undo:", on_click=_restore_draft)


def watch_draft() -> None:
    """Say so when another window changes the draft that is on screen; call it once it was read."""
    key = drafts.draft_key()
    shown = core().ledger.draft(key)

    def compare() -> None:
        with errors_shown():
            if core().ledger.draft(key) not in (shown, drafts.last_stored(key)):
                st.info(t("drafts.changed"), icon=":material/sync:")
                if st.button(t("drafts.show"), key="draft-show"):
                    st.rerun()

    st.fragment(compare, run_every=SECONDS)()


def _build_titles() -> dict[str, str]:
    """The title of each draft of this browser, by its name in the URL: its own first, then the newest."""
    own = drafts.own_key()
    rows = {
        key: (text, at)
        for key, text, at in core().ledger.drafts(browser_key()[:8], LISTED)
        if key == own or not key.startswith(drafts.UNLINKED)
    }
    text, at = rows.pop(own, ("", None))
    first = {drafts.MINE: _build_title(drafts.MINE, text, format_time(at, "%m-%d %H:%M") if at else "")}
    return first | {key: _build_title(key, text, format_time(at, "%m-%d %H:%M")) for key, (text, at) in rows.items()}


def _describe_open(name: str) -> str:
    """The draft that is open, for the button of the menu."""
    origin = t("drafts.of_run", run=drafts.run_of(name)) if drafts.run_of(name) else ""
    what = _describe_draft(core().ledger.draft(drafts.draft_key()) or "") or t("drafts.label")
    return escape_markdown(" · ".join(filter(None, (what, origin))))


def _build_title(name: str, text: str, at: str) -> str:
    """What it is, of which run it is a draft, and when it was changed."""
    run = drafts.run_of(name)
    origin = t("drafts.own") if name == drafts.MINE else t("drafts.of_run", run=run) if run else ""
    what = (_describe_draft(text) or t("drafts.invalid")) if text else t("drafts.untouched")
    return " · ".join(part for part in (what, origin, at) if part)


@lru_cache(maxsize=256)
def _describe_draft(text: str) -> str:
    """The name or workload of a draft with nodes × cards; empty where it is no valid spec."""
    try:
        spec = from_yaml(text)
    except AisbenchError:
        return ""
    return f"{spec.name or spec.workload} {spec.node_count} × {spec.cards_per_node}"


@repeat_if_aborted
def _add_draft() -> None:
    key = f"draft-{secrets.token_hex(4)}-{browser_key()[:8]}"
    drafts.store_text(to_yaml(first_spec(profile_in_url())), key)
    close_menu()
    st.query_params["draft"] = key


@repeat_if_aborted
def _delete_draft() -> None:
    key = drafts.draft_key()
    text = core().ledger.draft(key)
    if text is None:
        return
    st.session_state[DELETED] = (drafts.draft_name(), text)
    drafts.discard_draft()
    close_menu()
    st.query_params["draft"] = drafts.MINE


@repeat_if_aborted
def _restore_draft() -> None:
    name, text = st.session_state.get(DELETED, ("", ""))
    if name:
        st.query_params["draft"] = name
        drafts.store_text(text)
    st.session_state.pop(DELETED, None)
