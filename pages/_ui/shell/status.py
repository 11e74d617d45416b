"""What every page says: who follows the runs, at the foot of the menu, and that the data folder is read-only."""

import streamlit as st

from aisbench_core.read_only import is_read_only
from pages._ui.shell.core import core
from pages._ui.shell.errors import errors_shown, plain
from pages._ui.shell.formats import when
from pages._ui.shell.words import words

SECONDS = 10


def show_read_only() -> None:
    """That nothing can be stored, where that is so."""
    folder = core().settings.data_dir
    if is_read_only(folder):
        st.warning(words()("menu.read_only", path=plain(str(folder))), icon=":material/lock:")


@st.fragment(run_every=SECONDS)
def show_follower() -> None:
    """Who follows the runs and when it was last seen; or what to start when nobody does."""
    t = words()
    with errors_shown():
        beat = core().followed()
        if beat and beat.is_fresh(core().clock()):
            st.caption(t("menu.followed", who=plain(t.said(beat.who)), at=when(beat.at, "%H:%M:%S")))
        elif is_read_only(core().settings.data_dir):
            st.caption(t("menu.cannot_follow"))
        elif beat is None:
            st.warning(t("menu.never_followed"), icon=":material/bedtime:")
        else:
            st.warning(t("menu.not_followed", at=when(beat.at)), icon=":material/bedtime:")
