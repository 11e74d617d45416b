"""The dialog of open sessions: people end their own, admins those of everybody."""

import streamlit as st

from aisbench_core.model import Role
from aisbench_core.people.accounts.open_sessions import OpenSession
from pages._ui.shell.core import actor, can_sign_out, core, own_session
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.words import t

SESSIONS = Dialog("sessions", "medium")
MOST_SHOWN = 50


def show_sessions_button() -> None:
    """In the menu, where the console keeps sessions itself."""
    with errors_shown():
        if can_sign_out():
            st.button(
                t("sessions.open"), key="sessions-open", icon=":material/devices:", width="stretch",
                help=t("sessions.help"), on_click=SESSIONS.open,
            )  # fmt: skip


def show_sessions() -> None:
    """The dialog, while it is open; the entry calls it once, after the page."""
    SESSIONS.show(t("sessions.open"), _show_dialog_body)


def _show_dialog_body() -> None:
    who, own = actor(), own_session()
    visible = core().open_sessions.visible(who)
    person = _choose_person(visible, who.name) if Role.ADMIN in who.roles else who.name
    chosen = [one for one in visible if one.name == person]
    st.caption(t("sessions.what"))
    for one in chosen[:MOST_SHOWN]:
        _show_session(one, is_own=one.session_id == own)
    if len(chosen) > MOST_SHOWN:
        st.caption(t("sessions.more", count=len(chosen) - MOST_SHOWN))
    others = [one for one in chosen if one.session_id != own]
    label = t("sessions.end_others" if person == who.name else "sessions.end_all")
    if st.button(label, key="sessions-end-all", disabled=not others, icon=":material/logout:"):
        core().open_sessions.end_all(person, who, own)
        st.rerun()


def _choose_person(visible: list[OpenSession], own: str) -> str:
    names = [own, *sorted({one.name for one in visible} - {own})]
    return st.selectbox(t("sessions.person"), names, key="sessions-person")


def _show_session(one: OpenSession, *, is_own: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center", border=True):
        where = " · ".join(filter(None, [one.browser or t("sessions.unknown"), one.address]))
        times = t("sessions.times", began=format_time(one.began_at), used=format_time(one.active_at))
        st.markdown(f"{escape_markdown(where)}  \n{escape_markdown(times)}")
        if is_own:
            st.caption(t("sessions.this"))
        elif st.button(t("sessions.end"), key=f"sessions-end-{one.session_id}"):
            core().open_sessions.end(one.session_id, actor())
            st.rerun()
