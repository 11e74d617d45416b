"""What a console without results shows: a picture of what will stand here, and the way to the first run."""

import streamlit as st

from pages._ui.home.demo import show_demo_offer
from pages._ui.home.lines import build_image
from pages._ui.shell import navigation
from pages._ui.shell.core import is_allowed
from pages._ui.shell.words import t

WIDTH, HEIGHT = 960, 156
# Of each line: its colour, the length of its two texts, and the course of its sparkline.
LINES = (
    ("#c2413b", 170, 210, (6, 6, 7, 6, 17, 17, 18)),
    ("#1d8a5f", 150, 190, (17, 16, 17, 9, 8, 8, 7)),
    ("#8a93a3", 180, 160, (12, 11, 12, 12, 11, 12, 11)),
)


def show_first_steps() -> None:
    """The picture, and below it what can be done first."""
    st.markdown(t("home.welcome"))
    st.html(build_image(_draw_example(), t("home.example")))
    with st.container(horizontal=True, vertical_alignment="center"):
        if is_allowed("Runs.launch"):
            navigation.link_main_page(navigation.CONFIGURE, t("menu.configure"), {})
        show_demo_offer("secondary")
        if is_allowed("ResultImport.save"):
            navigation.link_page(navigation.IMPORT, t("home.first_import"), {})


def _draw_example() -> str:
    """Lines as they will stand here, without words: grey on any background."""
    rows = "".join(_draw_line(index * 52, *line) for index, line in enumerate(LINES))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
        f"{rows}</svg>"
    )


def _draw_line(top: int, colour: str, name: int, text: int, course: tuple[int, ...]) -> str:
    grey = 'fill="#8a93a3" fill-opacity=".35" rx="5" height="10"'
    points = " ".join(f"{560 + index * 18},{top + 14 + y}" for index, y in enumerate(course))
    return (
        f'<circle cx="10" cy="{top + 26}" r="5" fill="{colour}"/>'
        f'<rect x="28" y="{top + 21}" width="{name}" {grey}/><rect x="250" y="{top + 21}" width="{text}" {grey}/>'
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-opacity=".7" stroke-width="2"/>'
        f'<rect x="720" y="{top + 21}" width="110" {grey}/>'
        f'<path d="M0 {top + 51.5}H{WIDTH}" stroke="#8a93a3" stroke-opacity=".35"/>'
    )
