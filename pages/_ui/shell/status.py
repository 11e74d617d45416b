"""What every page says: whether a follower runs, at the foot of the menu, and that the data folder is read-only."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from aisbench_core.base.private_files import is_read_only
from aisbench_core.domain.access.permissions import ROLES
from pages._ui.shell.core import (
    can_sign_out,
    core,
    ended_session,
    is_timer,
    ledger_answer,
    profile_in_url,
    sign_out,
    signed_in,
)
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.words import t

SECONDS = 10
RESULTS_SECONDS = 30  # between two looks for new results


def create_heading() -> DeltaGenerator:
    """Where a page's title stands: at one height on all pages, whether or not something stands beside it."""
    return st.container(horizontal=True).empty()


def title_tab(title: str) -> None:
    """Name the browser's tab: what the page is about, with its state, so that one finds it among others."""
    st.set_page_config(page_title=f"{title} – AISBench")


def watch_results(drawn: str, *, ticked: bool = False) -> None:
    """Draw the page anew when the warehouse has another revision than `drawn`, which the page read before its answers.

    Where rows are ticked, only say so, as they may move. The page calls it last. One read of the revision per
    viewer, and one answer for all of them; browsers slow the timer down in hidden tabs."""
    at = core().clock()

    def compare() -> None:
        with errors_shown():
            changed = core().warehouse.revision() != drawn
            # Not while the page itself is drawn: under many writes it would be drawn without end.
            if changed and not ticked and is_timer():
                st.rerun()
            with st.container(horizontal=True, vertical_alignment="center"):
                st.caption(t("menu.new_results" if changed else "menu.updated", at=format_time(at, "%H:%M:%S")))
                if changed and st.button(t("menu.refresh"), key="refresh", icon=":material/refresh:"):
                    st.rerun()

    st.fragment(compare, run_every=RESULTS_SECONDS)()


def show_read_only() -> None:
    folder = core().settings.data_dir
    if is_read_only(folder):
        st.warning(t("menu.read_only", path=escape_markdown(str(folder))), icon=":material/lock:")


@st.fragment(run_every=SECONDS)
def show_processes() -> None:
    """Who is signed in; who follows the runs, or how to start it; and whether a region here is gone.

    A session that has ended takes what the page shows with it."""
    if is_timer() and ended_session():
        st.rerun()
    with errors_shown():
        if person := signed_in():
            st.caption(t("menu.signed_in", who=escape_markdown(person.name), role=t.message(ROLES[person.role])))
        profile = profile_in_url()
        if profile and core().regions.is_down_here(profile):
            st.badge(t("menu.region_stopped"), icon=":material/cloud_off:", color="red")
            st.caption(t("menu.region_down", profile=escape_markdown(profile)))
        beat = ledger_answer(core().ledger.last_beat)
        if beat and beat.is_fresh(core().clock()):
            seen = t("menu.followed", who=escape_markdown(t.message(beat.who)), at=format_time(beat.at, "%H:%M:%S"))
            st.badge(t("menu.following"), icon=":material/check_circle:", color="green", help=seen)
        elif is_read_only(core().settings.data_dir):
            st.badge(t("menu.cannot_follow"), icon=":material/lock:", color="gray")
        else:
            st.badge(t("menu.no_follower"), icon=":material/bedtime:", color="orange")
            st.caption(t("menu.not_followed", at=format_time(beat.at)) if beat else t("menu.never_followed"))


def show_sign_out_button() -> None:
    """In the menu, where the console keeps sessions itself."""
    with errors_shown():
        if can_sign_out():
            st.button(t("menu.sign_out"), key="sign-out", icon=":material/logout:", width="stretch", on_click=sign_out)
