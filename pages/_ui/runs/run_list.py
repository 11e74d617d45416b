"""Lists of runs: the active ones with how far they are, and the ended ones page by page."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from aisbench_core.formats import duration
from aisbench_core.model import ACTIVE, TERMINAL, Run, RunSort
from aisbench_core.warehouse.values import Validity
from pages._ui.configure.clones import show_clone_button
from pages._ui.runs.annotations import show_tags
from pages._ui.runs.cards import (
    run_facts,
    run_title,
    show_collect_again,
    show_detail,
    show_line,
    show_stop,
    started_text,
    state_badge,
)
from pages._ui.runs.validity import badge, worth_of
from pages._ui.shell import address, navigation
from pages._ui.shell.core import core
from pages._ui.shell.errors import errors_shown, plain
from pages._ui.shell.formats import when
from pages._ui.shell.listing import MOST_PAGES, pages_for
from pages._ui.shell.words import words

PAGE = 20
SECONDS = 2.5
"""How often the page looks whether its list is still so."""

ListState = tuple[object, ...]


def show_active(text: str, sort: RunSort, descending: bool, total: int) -> frozenset[str]:
    """One page of the runs on their way, of which there are `total`; gives the ids of those that it shows."""
    t = words()
    pages = pages_for(total, PAGE)
    here = address.page_number("active", pages)
    runs = core().ledger.page(ACTIVE, text, PAGE, PAGE * (here - 1), sort, descending)
    if not runs:
        st.info(t("runs.no_match" if text else "runs.none_active"), icon=":material/bedtime:")
    for run in runs:
        with st.container(border=True, key=f"run-{run.run_id}"):
            heading, actions = st.columns([5, 2], vertical_alignment="center")
            with heading:
                _heading(run)
            with actions, st.container(horizontal=True, horizontal_alignment="right"):
                show_stop(run, key=run.run_id)
            show_line(run, core().ledger.progress(run.run_id))
            show_detail(run)
    if pages > 1:
        st.pagination(**address.pagination("active", pages))
    return frozenset(run.run_id for run in runs)


def state_of_list(text: str, sort: RunSort, descending: bool) -> ListState:
    """What changes in the list by itself: how many runs there are, and how far those on their way have come."""
    ledger = core().ledger
    here = address.page_number("active", MOST_PAGES)
    runs = ledger.page(ACTIVE, text, PAGE, PAGE * (here - 1), sort, descending)
    far = [(run.run_id, run.version, ledger.progress(run.run_id)) for run in runs]
    return (ledger.count(ACTIVE, text), ledger.count(TERMINAL, text), *far)


def watch_list(drawn: ListState, text: str, sort: RunSort, descending: bool) -> None:
    """Draw the page anew as soon as its list says something else."""

    def redraw_if_changed() -> None:
        context = get_script_run_ctx()
        by_itself = context is not None and bool(context.fragment_ids_this_run)
        with errors_shown():
            if by_itself and state_of_list(text, sort, descending) != drawn:
                st.rerun()

    st.fragment(redraw_if_changed, run_every=SECONDS)()


def show_ended(text: str, sort: RunSort, descending: bool, total: int, shown: frozenset[str] = frozenset()) -> None:
    """One page of ended runs, of which there are `total`.

    A run that ends while the page is drawn is among `shown`, the active ones, and is not drawn twice."""
    t = words()
    if not total:
        st.info(t("runs.no_match" if text else "runs.none_ended"), icon=":material/info:")
        return
    pages = pages_for(total, PAGE)
    here = address.page_number("page", pages)
    ended = core().ledger.page(TERMINAL, text, PAGE, PAGE * (here - 1), sort, descending)
    runs = [run for run in ended if run.run_id not in shown]
    worth = worth_of([run.run_id for run in runs])
    tags = core().remarks.tags([run.run_id for run in runs])
    for run in runs:
        with st.container(border=True, key=f"run-{run.run_id}"):
            heading, actions = st.columns([5, 2], vertical_alignment="center")
            with heading:
                _heading(run, worth.get(run.run_id), tags.get(run.run_id, ()))
            with actions, st.container(horizontal=True, horizontal_alignment="right"):
                show_collect_again(run, key=run.run_id)
                show_clone_button(run.run_id, key=run.run_id)
            show_detail(run)
    if pages > 1:
        st.pagination(**address.pagination("page", pages))


def _heading(run: Run, worth: Validity | None = None, tags: tuple[str, ...] = ()) -> None:
    t = words()
    with st.container(horizontal=True, vertical_alignment="center"):
        state_badge(run)
        if worth:
            badge(worth)
        navigation.link(navigation.LIVE, plain(run_title(run)), {"run": run.run_id})
        show_tags(tags)
    took = t("runs.took", time=duration(run.duration_s)) if run.duration_s is not None else ""
    ended = t("runs.ended_at", at=when(run.ended_at)) if run.ended_at else ""
    parts = (plain(run_facts(run, t)), started_text(run, t), ended, took)
    st.caption(" · ".join(part for part in parts if part))
