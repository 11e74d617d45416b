"""The console's pages, and links between them with the selection in the URL."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import streamlit as st

from aisbench_core.config.console_address import query_string
from pages._ui.shell.words import t

FOLDER = Path(__file__).resolve().parents[2]

HOME = FOLDER / "home.py"
CONFIGURE = FOLDER / "configure.py"
RUNS = FOLDER / "runs.py"
LIVE = FOLDER / "live.py"
SERIES = FOLDER / "series.py"
REGION = FOLDER / "region.py"
LEADERBOARD = FOLDER / "leaderboard.py"
COMPARE = FOLDER / "compare.py"
SCALING = FOLDER / "scaling.py"
HISTORY = FOLDER / "history.py"
SPENDING = FOLDER / "spending.py"
IMPORT = FOLDER / "import.py"
NOTIFICATIONS = FOLDER / "notifications.py"
HEALTH = FOLDER / "health.py"
AUDIT = FOLDER / "audit.py"
PEOPLE = FOLDER / "people.py"
CONFIGURATION = FOLDER / "configuration.py"

# The menu: sections by key of their text, and their pages in the order of the work. Lists of runs lead to LIVE,
# rows of the leaderboard to CONFIGURATION, and Health to AUDIT and PEOPLE.
SECTIONS = {
    "": (HOME,),
    "run": (CONFIGURE, RUNS, SERIES, REGION),
    "results": (LEADERBOARD, COMPARE, SCALING, HISTORY),
    "system": (SPENDING, IMPORT, NOTIFICATIONS, HEALTH),
}

ICONS = {
    HOME: ":material/home:",
    CONFIGURE: ":material/edit_note:",
    RUNS: ":material/rocket_launch:",
    LIVE: ":material/sensors:",
    SERIES: ":material/grid_on:",
    REGION: ":material/cloud:",
    LEADERBOARD: ":material/leaderboard:",
    COMPARE: ":material/balance:",
    SCALING: ":material/hub:",
    HISTORY: ":material/timeline:",
    SPENDING: ":material/payments:",
    CONFIGURATION: ":material/memory:",
    IMPORT: ":material/upload_file:",
    NOTIFICATIONS: ":material/notifications:",
    HEALTH: ":material/monitor_heart:",
    AUDIT: ":material/policy:",
    PEOPLE: ":material/group:",
}

# Pages that store what a person types, from the first letter on: they are useless in a read-only folder.
STORING = frozenset({CONFIGURE.stem, IMPORT.stem})

Selection = Mapping[str, str | Sequence[str]]


def open_page(page: Path, selection: Selection) -> NoReturn:
    """Open another page; the language goes along."""
    st.switch_page(page, query_params=_with_language(selection))


def address_of(page: Path, selection: Selection) -> str:
    """Where another page is, beside this one; the language goes along."""
    parameters = [
        (name, value)
        for name, values in _with_language(selection).items()
        for value in ([values] if isinstance(values, str) else values)
    ]
    return page.stem + query_string(parameters)


def open_address(stem: str, parameters: Iterable[Sequence[str]]) -> None:
    """Open the page of an address that `address_of` gave, taken apart; nothing for any other."""
    selection: dict[str, list[str]] = {}
    for name, value in parameters:
        selection.setdefault(name, []).append(value)
    for page in ICONS:
        if page.stem == stem:
            open_page(page, selection)


def link_page(
    page: Path, label: str, selection: Selection, *, icon: str | None = None, help_text: str | None = None
) -> None:
    """A link to another page; the language goes along."""
    st.page_link(page, label=label, icon=icon or ICONS[page], help=help_text, query_params=_with_language(selection))


def _with_language(selection: Selection) -> dict[str, str | Sequence[str]]:
    return {**selection, "lang": t.language.value}
