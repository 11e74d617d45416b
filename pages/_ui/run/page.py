"""The page of one run, from its launch to its result: its head, the answer, the log, and all else folded below it.

What changes while a run is under way is drawn in fragments, each with its own pace. When
its state changes, they draw the whole page once.
"""

import streamlit as st

from aisbench_core.base.errors import DamagedLedger, RunNotFound
from aisbench_core.model import Run, RunState
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.cards import run_cards as cards
from pages._ui.run import (
    answers,
    causes,
    drawings,
    explanation,
    files,
    health,
    lineage,
    log,
    parameters,
    result,
    timeline,
)
from pages._ui.run.actions import show_run_actions
from pages._ui.run.head import create_head, list_facts, show_run_facts, show_run_title
from pages._ui.run.recorded import show_recorded
from pages._ui.run.snapshot import read_snapshot
from pages._ui.runs import card_metrics, cleaning, deleting, reproduce, scalars
from pages._ui.runs.ranks import show_live_ranks
from pages._ui.shell.core import core, ledger_answer
from pages._ui.shell.errors import errors_shown
from pages._ui.shell.status import title_tab
from pages._ui.shell.words import t
from pages._ui.spending.approval import show_run_approval

SECONDS = 4.0  # what is older than 5 s is stale
METRICS_SECONDS = 21.0  # the platform samples once a minute, and so does the follower


def show_run(run_id: str) -> None:
    """One run, kept up to date until it ends."""
    title, actions = create_head()
    title.title(t("live.title"), anchor=False)  # until it is known that there is such a run
    recorded = _without_ledger(run_id)
    if recorded:
        show_recorded(recorded, title, actions)
        return
    run = ledger_answer(core().ledger.get, run_id)
    deletion = ledger_answer(core().deletions.find, run.run_id)
    if run.state.is_terminal:
        with errors_shown():
            recorded = core().warehouse.runs.find_row(run_id)
    show_run_title(title, run, recorded)
    title_tab(cards.tab_title(run))
    with actions:
        show_run_actions(run, is_deleted=deletion is not None)
    if deletion:
        deleting.show_deletion(deletion)
    show_run_facts(list_facts(run), run_id)
    reproduce.show_original(run_id)
    lineage.show_lineage(run)
    show_run_approval(run)
    cleaning.show_removals(run_id)
    if run.state.is_terminal:
        _show_ended(run, recorded)
    else:
        st.fragment(_show_under_way, run_every=SECONDS)(run_id, run.state)
    log.show_log(run)
    if recorded:
        with errors_shown():
            result.show_details(recorded)
    every = None if run.state.is_terminal else METRICS_SECONDS
    st.fragment(_show_measurements, run_every=every)(run)
    parameters.show_parameters(run)
    files.show_directories(run)


def _show_ended(run: Run, recorded: RunRow | None) -> None:
    """The answer: the result, or why there is none."""
    with errors_shown():
        now = read_snapshot(run.run_id)
        files.show_problem(core().files.problem(run.run_id))
        explanation.show_explanation(now)
        if run.state is not RunState.FAILED:  # the explanation says why
            cards.show_detail(run)
        result.show_run_outcome(run, recorded)
        answers.show_training(now, recorded)


def _show_under_way(run_id: str, drawn: RunState) -> None:
    """Why it hangs, how far it is, and what is wrong with it, as of now."""
    with errors_shown():
        now = read_snapshot(run_id)
        # A fragment cannot change its own pace, nor the title and the buttons above it: the page is drawn once more.
        if now.run.state is not drawn:
            st.rerun()
        files.show_problem(core().files.problem(run_id))
        explanation.show_explanation(now)
        drawings.show_drawing(now)


def _show_measurements(run: Run) -> None:
    """In one fragment: each redraw has a price of its own, and a console has many viewers."""
    with errors_shown():
        now = read_snapshot(run.run_id)
        causes.show_causes(now)
        timeline.show_timeline(now)
    health.show_node_metrics(run.run_id)
    if run.state.is_terminal:  # they are collected with the result
        card_metrics.show_card_metrics(run)
    else:
        show_live_ranks(run)
    scalars.show_scalars(run.run_id)


def _without_ledger(run_id: str) -> RunRow | None:
    """A run that only the warehouse has: an imported one, or one that is older than the ledger."""
    try:
        core().ledger.get(run_id)
    except RunNotFound:
        return core().warehouse.runs.find_row(run_id)
    except DamagedLedger:
        if recorded := core().warehouse.runs.find_row(run_id):
            return recorded
        raise
    return None
