"""What a console without results shows first: the steps to the first one, each with its page."""

import streamlit as st

from pages._ui.shell import navigation
from pages._ui.shell.words import t

# Each step's text, and the page on which it is done.
STEPS = (
    ("configure", navigation.CONFIGURE),
    ("launch", navigation.RUNS),
    ("read", navigation.LEADERBOARD),
)
INSTEAD = ("import", navigation.IMPORT)


def show_first_steps() -> None:
    """Steps side by side."""
    st.markdown(t("home.welcome"))
    columns = st.columns(len(STEPS) + 1)
    for number, (column, (name, page)) in enumerate(zip(columns, (*STEPS, INSTEAD), strict=True), start=1):
        with column.container(border=True, height="stretch"):
            title = t(f"home.step_{name}")
            st.markdown(f"**{number}. {title}**" if number <= len(STEPS) else f"**{title}**")
            st.caption(t(f"home.step_{name}_help"))
            navigation.link_page(page, t(f"menu.{page.stem}"), {})
