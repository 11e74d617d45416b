"""The console's pages, and how to get from one to another with the selection in the URL."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import streamlit as st

from pages._ui.shell.words import words

HERE = Path(__file__).resolve().parents[2]

CONFIGURE = HERE / "configure.py"
RUNS = HERE / "runs.py"
LIVE = HERE / "live.py"
SERIES = HERE / "series.py"
LEADERBOARD = HERE / "leaderboard.py"
COMPARE = HERE / "compare.py"
SCALING = HERE / "scaling.py"
HISTORY = HERE / "history.py"
IMPORT = HERE / "import.py"
HEALTH = HERE / "health.py"

ICONS = {
    CONFIGURE: ":material/edit_note:",
    RUNS: ":material/rocket_launch:",
    LIVE: ":material/sensors:",
    SERIES: ":material/grid_on:",
    LEADERBOARD: ":material/leaderboard:",
    COMPARE: ":material/balance:",
    SCALING: ":material/hub:",
    HISTORY: ":material/timeline:",
    IMPORT: ":material/history:",
    HEALTH: ":material/monitor_heart:",
}
"""Emoji, because Streamlit fetches a page's Material icon from another host for the browser's tab."""

STORING = frozenset({CONFIGURE.stem, IMPORT.stem})
"""Pages that store what a person types, from the first letter on: nothing is left of them in a read-only folder."""

Selection = Mapping[str, str | Sequence[str]]


def go(place: Path, selection: Selection) -> NoReturn:
    """Open another page; the language goes along."""
    st.switch_page(place, query_params=_with_language(selection))


def link(place: Path, label: str, selection: Selection, *, icon: str | None = None) -> None:
    """A link to another page; the language goes along."""
    st.page_link(place, label=label, icon=icon or ICONS[place], query_params=_with_language(selection))


def _with_language(selection: Selection) -> dict[str, str | Sequence[str]]:
    return {**selection, "lang": words().language.value}
