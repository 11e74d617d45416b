"""The page of one run, from its launch to its result: its head, four answers, and sections in one order.

What changes while a run is under way is drawn in fragments, each with its own pace. When
the run ends, they draw the whole page once, and stop.
"""

import streamlit as st

from aisbench_core.base.errors import DamagedLedger, RunNotFound
from aisbench_core.model import Run, RunState
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.cards import run_cards as cards
from pages._ui.configure.clones import show_clone_button
from pages._ui.run import answers, causes, drawings, explanation, files, health, log, parameters, result, timeline
from pages._ui.run.snapshot import read_snapshot
from pages._ui.runs import card_metrics, cleaning, reproduce, scalars
from pages._ui.runs.annotations import show_annotation_form, show_note
from pages._ui.runs.priority import show_priority
from pages._ui.runs.ranks import show_live_ranks
from pages._ui.runs.recorded import show_recorded
from pages._ui.runs.system_form import show_system
from pages._ui.shell import navigation
from pages._ui.shell.core import core, ledger_answer
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.navigation import link_page
from pages._ui.shell.status import create_heading, title_tab
from pages._ui.shell.words import t
from pages._ui.spending.approval import show_run_approval

SECONDS = 4.0  # what is older than 5 s is stale
METRICS_SECONDS = 21.0  # the platform samples once a minute, and so does the follower


def show_run(run_id: str) -> None:
    """One run, kept up to date until it ends."""
    title = create_heading()
    title.title(t("live.title"))  # until it is known that there is such a run
    recorded = _without_ledger(run_id)
    if recorded:
        title.empty()
        show_recorded(recorded)
        return
    run = ledger_answer(core().ledger.get, run_id)
    title.title(escape_markdown(core().run_names.of([run])[run.run_id]))
    title_tab(cards.tab_title(run))
    st.caption(" · ".join((run.run_id, escape_markdown(cards.run_facts(run)), cards.started_text(run))))
    reproduce.show_original(run_id)
    reproduce.show_resumed(run)
    _show_actions(run)
    show_run_approval(run)
    cleaning.show_removals(run_id)
    _show_sections(run)


def _show_sections(run: Run) -> None:
    """Everything below the head, in the order of the page: one call a section, which draws nothing without data.

    A section that changes while the run is under way is a fragment of its own here, or a part of `_under_way`."""
    ended, run_id = run.state.is_terminal, run.run_id
    st.fragment(_under_way, run_every=None if ended else SECONDS)(run_id, run.state)
    parameters.show_parameters(run)
    files.show_directories(run)
    log.show_log(run)
    st.fragment(_show_measurements, run_every=None if ended else METRICS_SECONDS)(run, ended)
    if ended:  # they are collected with the result
        card_metrics.show_card_metrics(run)


def _show_measurements(run: Run, ended: bool) -> None:
    """In one fragment: each redraw has a price of its own, and a console has many viewers."""
    health.show_node_metrics(run.run_id)
    if not ended:
        show_live_ranks(run)
    scalars.show_scalars(run.run_id)


def _under_way(run_id: str, drawn: RunState) -> None:
    """Why it failed or hangs, the state, the four answers, and what is wrong with the run, as of now."""
    with errors_shown():
        now = read_snapshot(run_id)
        # A fragment cannot change its own pace, nor the buttons above it: the page is drawn once more.
        was_held = drawn is RunState.HELD and now.run.state is not drawn
        if was_held or (now.run.state.is_terminal and not drawn.is_terminal):
            st.rerun()
        files.show_problem(core().files.problem(run_id))
        explanation.show_explanation(now)
        # All in one fragment: the more there are, the fewer viewers a console has time for.
        if not now.run.state.is_terminal:
            drawings.show_drawing(now)
            return
        recorded = core().warehouse.runs.find_row(run_id)
        answers.show_answers(now, recorded)
        causes.show_causes(now)
        result.show_run_outcome(recorded)
        timeline.show_timeline(now)


def _show_actions(run: Run) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        link_page(navigation.LIVE, t("live.all"), {})
        if run.series_id:
            link_page(navigation.SERIES, t("series.of_run", cell=run.series_index), {"series": run.series_id})
        cards.show_stop(run, key="one")
        if run.waits_in_pool:
            show_priority(run)
        cards.show_collect_again(run, key="one")
        show_clone_button(run.run_id, key="one")
        if run.state.is_terminal:
            reproduce.show_reproduce_button(run.run_id)
            cleaning.show_clean_button(run)
        show_system(run)
        show_annotation_form(run.run_id)
    show_note(run.run_id)


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
