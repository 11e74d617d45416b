"""What every page says: whether a follower runs, at the foot of the menu, and that the data folder is read-only."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from aisbench_core.private_files import is_read_only
from pages._ui.configure.first_draft import profile_in_url
from pages._ui.shell.core import core
from pages._ui.shell.errors import errors_shown, plain
from pages._ui.shell.formats import when
from pages._ui.shell.words import t

SECONDS = 10


def heading() -> DeltaGenerator:
    """Where a page's title stands: at one height on all pages, whether or not something stands beside it."""
    return st.container(horizontal=True).empty()


def title_tab(title: str) -> None:
    """Name the browser's tab: what the page is about, with its state, so that one finds it among others."""
    st.set_page_config(page_title=f"{title} – AISBench")


def show_read_only() -> None:
    folder = core().settings.data_dir
    if is_read_only(folder):
        st.warning(t("menu.read_only", path=plain(str(folder))), icon=":material/lock:")


@st.fragment(run_every=SECONDS)
def show_processes() -> None:
    """Who follows the runs and when it was last seen, or how to start it; and whether a region here is gone."""
    with errors_shown():
        profile = profile_in_url()
        if profile and core().regions.is_down_here(profile):
            st.warning(t("menu.region_down", profile=plain(profile)), icon=":material/cloud_off:")
        beat = core().ledger.last_beat()
        if beat and beat.is_fresh(core().clock()):
            st.caption(t("menu.followed", who=plain(t.message(beat.who)), at=when(beat.at, "%H:%M:%S")))
        elif is_read_only(core().settings.data_dir):
            st.caption(t("menu.cannot_follow"))
        else:
            text = t("menu.not_followed", at=when(beat.at)) if beat else t("menu.never_followed")
            st.warning(text, icon=":material/bedtime:")
