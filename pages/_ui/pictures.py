"""Pictures of what will stand on a page that is still empty, without words: grey on any background."""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from html import escape
from typing import TypeVar

import streamlit as st

from pages._ui.shell.words import t

T = TypeVar("T")

WIDTH, HEIGHT, LINE = 960, 156, 52  # pixels: of a picture, and of a line in it
GREY, RED, GREEN, BLUE = "#8a93a3", "#c2413b", "#1d8a5f", "#3b7ddd"

# Of each line of Home: its colour, the length of its two texts, and the course of its curve.
CHANGES = ((RED, 170, 210, (6, 6, 7, 6, 17, 17, 18)), (GREEN, 150, 190, (17, 16, 17, 9, 8, 8, 7)),
    (GREY, 180, 160, (12, 11, 12, 12, 11, 12, 11)))  # fmt: skip
RANKS = ((170, 520), (150, 455), (180, 390))  # of each row of a leaderboard: its text, and its bar
COURSE = (96, 92, 95, 90, 94, 91, 46, 50, 44, 49, 45, 47, 43)  # of a history, which rises once
SPEEDUP = ((80, 120), (260, 96), (480, 66), (860, 18))  # of a scaling: nodes and throughput
MEASURED = (4, 3, 1)  # of each row of a series: the cells that are done


class Picture(StrEnum):
    """Named after the page that it stands on."""

    HOME = "home"
    LEADERBOARD = "leaderboard"
    HISTORY = "history"
    SCALING = "scaling"
    SERIES = "series"


def show_picture(picture: Picture) -> None:
    """What the page will show, in a sentence and as a picture."""
    st.markdown(t(f"empty.{picture}"))
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
    st.html(build_image(f"{svg}{_DRAWINGS[picture]()}</svg>", t(f"empty.{picture}_picture")))


def build_image(svg: str, text: str) -> str:
    """The picture as HTML: Streamlit takes SVG out of HTML, but not out of an image."""
    source = b64encode(svg.encode()).decode()
    return f'<img alt="{escape(text)}" style="display:block;max-width:100%" src="data:image/svg+xml;base64,{source}">'


def _draw_changes() -> str:
    return "".join(
        f'<circle cx="10" cy="{top + 26}" r="5" fill="{colour}"/>'
        f"{_draw_text(28, top, name)}{_draw_text(250, top, text)}{_draw_text(720, top, 110)}{_draw_rule(top)}"
        + _draw_course([(560 + index * 18, top + 14 + y) for index, y in enumerate(course)], colour)
        for top, (colour, name, text, course) in _place_lines(CHANGES)
    )


def _draw_ranks() -> str:
    return "".join(
        f"{_draw_text(28, top, name)}{_draw_rule(top)}"
        f'<rect x="250" y="{top + 16}" width="{bar}" height="20" rx="3" fill="{BLUE}" fill-opacity=".55"/>'
        f'<path d="M{250 + bar - 26} {top + 26}h52m-52 -6v12m52 -12v12" stroke="{GREY}" stroke-width="2"/>'
        for top, (name, bar) in _place_lines(RANKS)
    )


def _draw_history() -> str:
    points = [(70 + index * 68, y) for index, y in enumerate(COURSE)]
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="4" fill="{BLUE}"/>' for x, y in points)
    change = f'<path d="M{points[5][0] + 34} 20V132" stroke="{GREEN}" stroke-width="2" stroke-dasharray="5 5"/>'
    return _draw_axes() + _draw_course(points, BLUE) + dots + change


def _draw_scaling() -> str:
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="5" fill="{BLUE}"/>' for x, y in SPEEDUP)
    ideal = f'<path d="M80 120L860 8" stroke="{GREY}" stroke-width="2" stroke-dasharray="5 5"/>'
    return _draw_axes() + ideal + _draw_course(SPEEDUP, BLUE) + dots


def _draw_series() -> str:
    cells = "".join(
        f'<rect x="{250 + column * 120}" y="{top + 11}" width="104" height="30" rx="4" '
        f'fill="{GREEN if column < done else GREY}" fill-opacity="{".55" if column < done else ".25"}"/>'
        for top, done in _place_lines(MEASURED)
        for column in range(5)
    )
    return cells + "".join(_draw_text(28, top, 120) for top, _ in _place_lines(MEASURED))


_DRAWINGS = {
    Picture.HOME: _draw_changes,
    Picture.LEADERBOARD: _draw_ranks,
    Picture.HISTORY: _draw_history,
    Picture.SCALING: _draw_scaling,
    Picture.SERIES: _draw_series,
}


def _draw_text(x: int, top: int, width: int) -> str:
    return f'<rect x="{x}" y="{top + 21}" width="{width}" fill="{GREY}" fill-opacity=".35" rx="5" height="10"/>'


def _draw_rule(top: int) -> str:
    return f'<path d="M0 {top + LINE - 0.5}H{WIDTH}" stroke="{GREY}" stroke-opacity=".35"/>'


def _draw_axes() -> str:
    return f'<path d="M30 8V138H{WIDTH - 30}" fill="none" stroke="{GREY}" stroke-opacity=".5" stroke-width="2"/>'


def _draw_course(points: Sequence[tuple[int, int]], colour: str) -> str:
    course = " ".join(f"{x},{y}" for x, y in points)
    return f'<polyline points="{course}" fill="none" stroke="{colour}" stroke-opacity=".7" stroke-width="2"/>'


def _place_lines(lines: Iterable[T]) -> Iterator[tuple[int, T]]:
    """Each with the pixels above it."""
    return ((index * LINE, line) for index, line in enumerate(lines))
