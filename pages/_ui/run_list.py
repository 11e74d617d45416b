"""Lists of runs: the active ones with how far they are, and the ended ones page by page."""

import streamlit as st

from aisbench_core.model import ACTIVE, TERMINAL, Run, RunSort
from aisbench_core.warehouse.values import Validity
from pages._ui import address, places
from pages._ui.clones import show_clone_button
from pages._ui.core import core
from pages._ui.errors import plain
from pages._ui.formats import duration, when
from pages._ui.listing import pages_for
from pages._ui.remarks import show_tags
from pages._ui.run_cards import (
    facts_of,
    show_collect_again,
    show_detail,
    show_line,
    show_stop,
    started_text,
    state_badge,
    title_of,
)
from pages._ui.verdicts import badge, worth_of
from pages._ui.words import words

PAGE = 20


def show_active(text: str, sort: RunSort, descending: bool, total: int) -> None:
    """One page of the runs on their way, of which there are `total`."""
    t = words()
    pages = pages_for(total, PAGE)
    here = address.page("active", pages)
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
        st.pagination(pages, key="active", on_change=address.keep, args=("active", 1))


def show_ended(text: str, sort: RunSort, descending: bool, total: int) -> None:
    """One page of ended runs, of which there are `total`."""
    t = words()
    if not total:
        st.info(t("runs.no_match" if text else "runs.none_ended"), icon=":material/info:")
        return
    pages = pages_for(total, PAGE)
    here = address.page("page", pages)
    runs = core().ledger.page(TERMINAL, text, PAGE, PAGE * (here - 1), sort, descending)
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
        st.pagination(pages, key="page", on_change=address.keep, args=("page", 1))


def _heading(run: Run, worth: Validity | None = None, tags: tuple[str, ...] = ()) -> None:
    t = words()
    with st.container(horizontal=True, vertical_alignment="center"):
        state_badge(run)
        if worth:
            badge(worth)
        places.link(places.LIVE, plain(title_of(run)), {"run": run.run_id})
        show_tags(tags)
    took = t("runs.took", time=duration(run.duration_s)) if run.duration_s is not None else ""
    ended = t("runs.ended_at", at=when(run.ended_at)) if run.ended_at else ""
    parts = (plain(facts_of(run, t)), started_text(run, t), ended, took)
    st.caption(" · ".join(part for part in parts if part))
