"""Lists of runs: the active ones with their progress, and the ended ones page by page."""

import streamlit as st

from aisbench_core.base.formats import format_duration
from aisbench_core.model import ACTIVE, TERMINAL, Run, RunSort
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.cards import run_cards as cards
from pages._ui.cards.job_details import alert_kind, show_alert_badge
from pages._ui.configure.clones import show_clone_button
from pages._ui.runs.annotations import show_tags
from pages._ui.runs.target import target_badge
from pages._ui.runs.validity import recorded_by_id, show_validity_badge
from pages._ui.shell import navigation, url
from pages._ui.shell.core import core, is_timer, ledger_answer
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.listing import MAX_PAGES
from pages._ui.shell.words import t

PAGE = 20

SECONDS = 2.5  # how often the page checks whether its list has changed

ListState = tuple[object, ...]


def show_active(text: str, sort: RunSort, descending: bool, total: int) -> frozenset[str]:
    """One page of the active runs, of which there are `total`; returns the ids of those that it shows."""
    pages = url.Pages("active", total, PAGE)
    runs = ledger_answer(core().ledger.page, ACTIVE, text, PAGE, pages.offset, sort, descending)
    if not runs:
        st.info(t("runs.no_match" if text else "runs.none_active"), icon=":material/bedtime:")
    titles = cards.run_titles(runs)
    for run in runs:
        with st.container(border=True, key=f"run-{run.run_id}"):
            heading, actions = st.columns([5, 2], vertical_alignment="center")
            with heading:
                _show_heading(run, titles[run.run_id])
            with actions, st.container(horizontal=True, horizontal_alignment="right"):
                cards.show_stop(run, key=run.run_id)
            cards.show_line(run, ledger_answer(core().ledger.progress, run.run_id))
            cards.show_detail(run)
    pages.show()
    return frozenset(run.run_id for run in runs)


def show_ended(text: str, sort: RunSort, descending: bool, total: int, shown: frozenset[str] = frozenset()) -> None:
    """One page of ended runs, of which there are `total`.

    A run that ends while the page is drawn is among `shown`, the active ones, and is not drawn twice."""
    if not total:
        st.info(t("runs.no_match" if text else "runs.none_ended"), icon=":material/info:")
        return
    pages = url.Pages("page", total, PAGE)
    ended = ledger_answer(core().ledger.page, TERMINAL, text, PAGE, pages.offset, sort, descending)
    runs = [run for run in ended if run.run_id not in shown]
    recorded = recorded_by_id([run.run_id for run in runs])
    annotations, titles = core().annotations.of_runs(runs), cards.run_titles(runs)
    for run in runs:
        with st.container(border=True, key=f"run-{run.run_id}"):
            heading, actions = st.columns([5, 2], vertical_alignment="center")
            with heading:
                _show_heading(run, titles[run.run_id], recorded.get(run.run_id), annotations[run.run_id].tags)
            with actions, st.container(horizontal=True, horizontal_alignment="right"):
                cards.show_collect_again(run, key=run.run_id)
                show_clone_button(run.run_id, key=run.run_id)
            cards.show_detail(run)
    pages.show()


def _show_heading(run: Run, title: str, recorded: RunRow | None = None, tags: tuple[str, ...] = ()) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        cards.state_badge(run)
        show_alert_badge(run)
        if recorded:
            show_validity_badge(recorded.validity)
            target_badge(recorded)
        navigation.link_page(navigation.LIVE, escape_markdown(title), {"run": run.run_id})
        show_tags(tags)
    ended = t("runs.ended_at", at=format_time(run.ended_at)) if run.ended_at else ""
    took = t("runs.took", time=format_duration(run.duration_s)) if run.duration_s is not None else ""
    parts = (escape_markdown(cards.run_facts(run)), cards.started_text(run), ended, took)
    st.caption(" · ".join(part for part in parts if part))


def state_of_list(text: str, sort: RunSort, descending: bool) -> ListState:
    """What changes in the list by itself: how many runs there are, and the state and progress of the active ones."""
    ledger = core().ledger
    offset = PAGE * (min(url.page_number("active"), MAX_PAGES) - 1)
    runs = ledger_answer(ledger.page, ACTIVE, text, PAGE, offset, sort, descending)
    progress = [(run.run_id, run.version, ledger_answer(ledger.progress, run.run_id), alert_kind(run)) for run in runs]
    return (ledger_answer(ledger.count, ACTIVE, text), ledger_answer(ledger.count, TERMINAL, text), *progress)


def watch_list(drawn: ListState, text: str, sort: RunSort, descending: bool) -> None:
    """Draw the page anew as soon as its list differs from `drawn`."""

    def redraw_if_changed() -> None:
        # The page's own run ends with a call, too: a list that changes while it is drawn would be drawn without end.
        with errors_shown():
            if is_timer() and state_of_list(text, sort, descending) != drawn:
                st.rerun()

    st.fragment(redraw_if_changed, run_every=SECONDS)()
