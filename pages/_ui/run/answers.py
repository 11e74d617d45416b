"""Four answers about a run on one screen: how far it is, how fast, what it costs, and whether it is healthy."""

from collections.abc import Iterator

import streamlit as st

from aisbench_core.base.formats import MISSING, amounts_text, format_duration, format_number, format_percent
from aisbench_core.model import Run, RunState
from aisbench_core.running.progress.overview import RunOverview
from aisbench_core.running.progress.snapshots import RunSnapshot
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.cards import run_cards as cards
from pages._ui.cards.job_details import show_queue
from pages._ui.run import curves, health
from pages._ui.runs.target import target_badge
from pages._ui.runs.validity import recorded_by_id
from pages._ui.shell.core import core
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.words import t


def show_answers(now: RunSnapshot, recorded: RunRow | None = None) -> None:
    """The state with its reason, then the four answers. `recorded`: what the warehouse has of an ended run."""
    run = now.run
    with st.container(horizontal=True, vertical_alignment="center"):
        cards.state_badge(run)
        if run.state is RunState.COMPLETED:
            target_badge(recorded_by_id([run.run_id]).get(run.run_id))
        if run.started_at and run.state in (RunState.RUNNING, RunState.STOPPING):
            lasted = (core().clock() - run.started_at).total_seconds()
            st.caption(t("live.started", at=format_time(run.started_at), lasted=format_duration(max(0.0, lasted))))
        if page := core().regions.job_page(run):
            st.link_button(t("job.page"), page, help=t("job.page_help"), icon=":material/open_in_new:", type="tertiary")
        if not run.state.is_terminal:
            # So that one sees that the page still updates.
            st.caption(t("live.updated", at=format_time(core().clock(), "%H:%M:%S")))
    if run.state is RunState.FAILED:  # the explanation above says why
        st.caption(escape_markdown(t.message(run.detail)))
    else:
        cards.show_detail(run)
    show_queue(run, now.details)
    health.show_alerts(now)
    if not (run.state.is_terminal or run.state is RunState.RUNNING):  # how far a training is has an answer of its own
        cards.show_stages(run, now.progress)
    if run.started_at is None:
        return
    with st.container(key="answers"):
        left, right = st.columns(2)
        with left.container(border=True, gap="xsmall", height="stretch"):
            _show_how_far(now)
        with right.container(border=True, gap="xsmall", height="stretch"):
            _show_cost(run, now.overview)
        left, right = st.columns(2)
        with left.container(border=True, gap="xsmall", height="stretch"):
            curves.show_speed(now, recorded)
        with right.container(border=True, gap="xsmall", height="stretch"):
            health.show_health(now)


def _show_how_far(now: RunSnapshot) -> None:
    run, overview = now.run, now.overview
    st.markdown(f"**{t('run.how_far')}**")
    last = overview.last
    if last is None:
        st.caption(t("run.no_progress"), help=t("run.no_progress_help"))
    else:
        # The last line that a completed run printed may be one long before its end.
        if last.share is not None and run.state is not RunState.COMPLETED:
            st.progress(last.share, text=format_percent(last.share))
        st.markdown(" · ".join(_describe_position(overview)))
    if run.state is RunState.RUNNING:
        st.markdown(_describe_ending(overview), help=t("run.ending_help"))


def _describe_position(overview: RunOverview) -> Iterator[str]:
    last = overview.last
    if last is None:
        return
    if last.step is not None:
        of = f"{last.steps:,}" if last.steps else MISSING
        yield t("run.step", step=f"{last.step:,}", steps=of)
    if last.epoch is not None:
        yield t("run.epoch", epoch=last.epoch, epochs=last.epochs or MISSING)
    if last.stage:
        yield escape_markdown(last.stage)


def _describe_ending(overview: RunOverview) -> str:
    if overview.remaining_s is None:
        return t("run.no_ending")
    key = "run.ending_by_earlier" if overview.by_earlier else "run.ending"
    return t(key, left=format_duration(overview.remaining_s), at=format_time(overview.ends_at, "%H:%M"))


def _show_cost(run: Run, overview: RunOverview) -> None:
    """Node hours and money; a rehearsal costs nothing, and an unknown price is not zero."""
    st.markdown(f"**{t('run.costs')}**")
    ended = run.state.is_terminal
    st.markdown(t("run.node_hours_total" if ended else "run.node_hours", hours=format_number(overview.hours, digits=3)))
    if not ended and overview.hours_end is not None:
        st.caption(t("run.node_hours_end", hours=format_number(overview.hours_end, digits=3)))
    if overview.rehearsal:
        st.caption(t("run.rehearsal_costs_nothing"))
    elif not overview.cost:
        st.caption(t("run.no_price", flavor=escape_markdown(run.spec.flavor)))
    else:
        text = f"**{amounts_text(overview.cost)}**" if ended else t("run.spent", money=amounts_text(overview.cost))
        if not ended and overview.cost_end:
            text += " · " + t("run.spent_end", money=amounts_text(overview.cost_end))
        st.markdown(text)
