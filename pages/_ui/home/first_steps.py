"""What a console without results shows first: the steps to the first one, each with its page."""

import streamlit as st

from pages._ui.shell import navigation
from pages._ui.shell.words import t

# Each step's text, and the page on which it is done.
STEPS = (
    ("configure", navigation.CONFIGURE),
    ("launch", navigation.RUNS),
    ("read", navigation.LEADERBOARD),
    ("import", navigation.IMPORT),
)


def show_first_steps() -> None:
    """Steps side by side."""
    st.markdown(t("home.welcome"))
    for number, (column, (name, page)) in enumerate(zip(st.columns(len(STEPS)), STEPS, strict=True), start=1):
        with column.container(border=True, height="stretch"):
            st.markdown(f"**{number}. {t(f'home.step_{name}')}**")
            st.caption(t(f"home.step_{name}_help"))
            navigation.link(page, t(f"menu.{page.stem}"), {})
