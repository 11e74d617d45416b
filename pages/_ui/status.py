"""The line at the foot of the menu: whether anybody follows the runs."""

import streamlit as st

from pages._ui.core import core
from pages._ui.errors import errors_shown, plain
from pages._ui.formats import when
from pages._ui.words import words

SECONDS = 10


@st.fragment(run_every=SECONDS)
def show_follower() -> None:
    """Who follows the runs and when it was last seen; or what to start when nobody does."""
    t = words()
    with errors_shown():
        beat = core().followed()
        if beat is None:
            st.warning(t("menu.never_followed"), icon=":material/bedtime:")
        elif beat.is_fresh(core().clock()):
            st.caption(t("menu.followed", who=plain(t.said(beat.who)), at=when(beat.at, "%H:%M:%S")))
        else:
            st.warning(t("menu.not_followed", at=when(beat.at)), icon=":material/bedtime:")
