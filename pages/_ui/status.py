"""The line at the foot of the menu: whether anybody follows the runs."""

import streamlit as st

from pages._ui.core import core
from pages._ui.errors import plain
from pages._ui.formats import when
from pages._ui.words import words


def show_follower() -> None:
    """Who follows the runs and when it was last seen; or what to start when nobody does."""
    t = words()
    beat = core().followed()
    if beat is None:
        st.warning(t("menu.never_followed"), icon=":material/bedtime:")
    else:
        st.caption(t("menu.followed", who=plain(beat.who), at=when(beat.at, "%H:%M:%S")))
