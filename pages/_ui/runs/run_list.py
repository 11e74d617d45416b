"""The list of runs: pinned ones first, then active ones with their progress, then the ended ones, page by page."""

from collections.abc import Sequence

import streamlit as st

from aisbench_core.model import Run, RunSort
from pages._ui.cards.job_details import alert_kind
from pages._ui.grid.sorting import Sorting
from pages._ui.grid.table import show_grid
from pages._ui.runs.run_filters import PARTS, RunChoice
from pages._ui.runs.run_rows import ListedRun, build_rows, list_columns
from pages._ui.runs.validity import recorded_by_id
from pages._ui.shell import url
from pages._ui.shell.core import core, is_timer, ledger_answer
from pages._ui.shell.errors import errors_shown
from pages._ui.shell.listing import MAX_PAGES
from pages._ui.shell.words import t

PAGE = 20
KEY = "runs"  # of the table

SECONDS = 2.5  # how often the page checks whether its list has changed

ListState = tuple[object, ...]


def read_runs(choice: RunChoice, sorting: Sorting[RunSort], counts: Sequence[int]) -> list[Run]:
    """The page that the URL names, of so many runs in each part. A run that ends meanwhile is in it once."""
    offset = url.Pages("page", sum(counts), PAGE).offset
    found: dict[str, Run] = {}
    for part, count in zip(PARTS, counts, strict=True):
        if offset < count and (room := PAGE - len(found)) > 0:
            found |= {run.run_id: run for run in choice.read(part, sorting, room, offset)}
        offset = max(0, offset - count)
    return list(found.values())


def show_runs(runs: list[Run], keys: list[str], sorting: Sorting[RunSort], *, is_deleted: bool) -> list[Run]:
    """The table; returns the runs that are ticked."""
    listed = list_runs(runs, is_deleted=is_deleted)
    columns, rows = list_columns(listed, keys), build_rows(listed, keys)
    ticked = show_grid(columns, rows, t("runs.title"), key=KEY, is_tickable=True, sorting=sorting)
    by_id = {run.run_id: run for run in runs}
    return [by_id[run_id] for run_id in ticked]


def list_runs(runs: list[Run], *, is_deleted: bool) -> list[ListedRun]:
    """With what people wrote about them and what the warehouse has of them."""
    recorded = recorded_by_id([run.run_id for run in runs if run.state.is_terminal])
    names, annotations = core().run_names.of(runs), core().annotations.of_runs(runs)
    deletions = {run.run_id: ledger_answer(core().deletions.find, run.run_id) for run in runs if is_deleted}
    return [
        ListedRun(run, names[one], recorded.get(one), annotations[one].tags, deletions.get(one))
        for run in runs
        if (one := run.run_id)
    ]


def show_empty(choice: RunChoice) -> None:
    """Instead of a table without rows."""
    if choice.is_narrow:
        st.info(t("runs.no_match"), icon=":material/search:")
    else:
        st.info(t("runs.none"), icon=":material/rocket_launch:")


def state_of_list(choice: RunChoice, sorting: Sorting[RunSort]) -> ListState:
    """What changes in the list by itself: how many runs there are, and the state and progress of the active ones."""
    ledger = core().ledger
    offset = PAGE * (min(url.page_number("page"), MAX_PAGES) - 1)
    runs = [run for part in PARTS for run in choice.read(part, sorting, PAGE, offset) if not run.state.is_terminal]
    progress = [(run.run_id, run.version, ledger_answer(ledger.progress, run.run_id), alert_kind(run)) for run in runs]
    return (*map(choice.count, PARTS), *progress)


def watch_list(drawn: ListState, choice: RunChoice, sorting: Sorting[RunSort]) -> None:
    """Draw the page anew as soon as its list differs from `drawn`."""

    def redraw_if_changed() -> None:
        # The page's own run ends with a call, too: a list that changes while it is drawn would be drawn without end.
        with errors_shown():
            if is_timer() and state_of_list(choice, sorting) != drawn:
                st.rerun()

    st.fragment(redraw_if_changed, run_every=SECONDS)()
