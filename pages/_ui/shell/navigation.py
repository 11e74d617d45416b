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
INFERENCE = FOLDER / "inference.py"
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

# The menu: sections by key of their text, and their pages in the order of the work. Lists of runs lead to LIVE, rows of
# the leaderboard to CONFIGURATION, the leaderboard to INFERENCE, and Health to AUDIT and PEOPLE.
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
    INFERENCE: ":material/forum:",
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

MAIN = "main"  # what the key of the container of a page's main link begins with

Selection = Mapping[str, str | Sequence[str]]

# Parameters of the URLs of all pages that name columns. Links lead back to a page with those that were chosen on it.
COLUMNS, RUN_COLUMNS, GROUP_COLUMNS, ATTEMPT_COLUMNS, METRICS = COLUMN_PARAMETERS = (
    *("columns", "run_columns", "group_columns", "attempt_columns", "metrics"),
)

# Once in the browser. `st.switch_page` takes two steps of its history: the new selection on the old page, then the new
# page. The second one replaces the first, so that Back leads to the page as it was left.
ONE_STEP = """<script>
(() => {
  if (window.oneStep) return;
  window.oneStep = true;
  let isHalf = false;  // the last step changed the selection only, and nobody has done anything since
  for (const done of ["pointerdown", "keydown"]) addEventListener(done, () => { isHalf = false; }, true);
  const push = history.pushState;
  history.pushState = function (state, title, address) {
    const next = new URL(address ?? "", location.href);
    const isSamePage = next.pathname === location.pathname;
    const isOtherHalf = isHalf && !isSamePage && next.search === location.search;
    (isOtherHalf ? this.replaceState : push).call(this, state, title, address);
    isHalf = isSamePage;
  };
})();
</script>"""


def install_one_step() -> None:
    """Once in the browser: Back leads from a page to the one that it was opened on, with what was selected there."""
    st.html(ONE_STEP, unsafe_allow_javascript=True)


def open_page(page: Path, selection: Selection) -> NoReturn:
    """Open another page; the language and the columns that were chosen there go along."""
    st.switch_page(page, query_params=_complete_selection(page, selection))


def address_of(page: Path, selection: Selection) -> str:
    """Where another page is, beside this one."""
    parameters = [
        (name, value)
        for name, values in _complete_selection(page, selection).items()
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
    """A link to another page."""
    st.page_link(
        page, label=label, icon=icon or ICONS[page], help=help_text, query_params=_complete_selection(page, selection)
    )


def link_main_page(page: Path, label: str, selection: Selection, *, icon: str | None = None) -> None:
    """The link that most people follow from here, in the look of a primary button: one on a page."""
    with st.container(key=f"{MAIN}-{page.stem}", width="content"):
        link_page(page, label, selection, icon=icon)


def keep_columns(page: str) -> None:
    """Remember those that the URL of the page names; none: its usual ones."""
    named = {name: st.query_params.get_all(name) for name in COLUMN_PARAMETERS}
    st.session_state[_slot_of(page)] = {name: values for name, values in named.items() if values}


def _complete_selection(page: Path, selection: Selection) -> dict[str, str | Sequence[str]]:
    """With the language, and the columns that were chosen on the page."""
    return {**st.session_state.get(_slot_of(page.stem), {}), **selection, "lang": t.language.value}


def _slot_of(page: str) -> str:
    return f"columns.{page}"
