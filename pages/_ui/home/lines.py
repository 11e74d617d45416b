"""Lines of Home: what it is, what happens, a small picture, who and when, and what one can do at the right end."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages._ui.layout import LINE
from pages._ui.pictures import build_image

WIDTHS = (28, 31, 13, 20, 20)  # of what it is, what happens, the picture, when, and the actions
PLAIN_WIDTHS = (31, 34, 14, 33)  # the same without a picture
PICTURE = (110, 20)  # pixels


def create_line(key: str, *, has_picture: bool) -> list[DeltaGenerator]:
    """The columns of one line. Without pictures, what happens has their room."""
    widths = WIDTHS if has_picture else PLAIN_WIDTHS
    return st.container(key=f"{LINE}-{key}").columns(widths, vertical_alignment="center", gap="small")


def create_lines(key: str) -> DeltaGenerator:
    """A container for lines."""
    return st.container(key=key, gap=None)


def create_actions(column: DeltaGenerator) -> DeltaGenerator:
    """Where the buttons of a line stand side by side, at its right end."""
    return column.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center", gap="xsmall")


def show_sparkline(column: DeltaGenerator, values: Sequence[float], text: str) -> None:
    """Values from left to right, each on its own scale; `text` describes them to those who do not see the picture."""
    column.html(build_image(draw_sparkline(values), text))


def draw_sparkline(values: Sequence[float]) -> str:
    """An SVG picture, in a blue that is seen on white and on black."""
    width, height = PICTURE
    low, high = min(values), max(values)
    step, span = (width - 4) / max(1, len(values) - 1), (high - low) or 1.0
    points = [
        (round(2 + index * step, 1), round(height - 3 - (value - low) / span * (height - 6), 1))
        for index, value in enumerate(values)
    ]
    line = " ".join(f"{x},{y}" for x, y in points)
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="1.7"/>' for x, y in points)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" fill="#3b7ddd">'
        f'<polyline points="{line}" fill="none" stroke="#3b7ddd" stroke-opacity=".55"/>{dots}</svg>'
    )
