"""Answers about a run: how far it is, how fast, what it costs, and whether it is healthy."""

from collections.abc import Iterator

import streamlit as st

from aisbench_core.base.formats import MISSING, amounts_text, format_duration, format_estimate, format_number
from aisbench_core.domain.progress.bars import Stage
from aisbench_core.model import Run, RunState
from aisbench_core.running.progress.overview import RunOverview
from aisbench_core.running.progress.snapshots import RunSnapshot
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.cards import run_cards as cards
from pages._ui.cards.job_details import show_queue
from pages._ui.run import curves, health
from pages._ui.shell.core import core
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.words import t


def show_answers(now: RunSnapshot) -> None:
    """Of a run under way: its progress, its last sign of life, then how far it is, how fast, and what it costs."""
    run = now.run
    with st.container(horizontal=True, vertical_alignment="center"):
        if run.started_at and run.state in (RunState.RUNNING, RunState.STOPPING):
            lasted = (core().clock() - run.started_at).total_seconds()
            st.caption(
                t(
                    "live.started",
                    at=escape_markdown(format_time(run.started_at)),
                    lasted=format_duration(max(0.0, lasted)),
                ),
                width="content",
            )
        # So that one sees that the page still updates. Unescaped, `:09:` in a time is looked up as an emoji: the text
        # comes later, and moves what is below.
        at = escape_markdown(format_time(core().clock(), "%H:%M:%S"))
        st.caption(t("live.updated", at=at), width="content")
        _link_job(run)
    if run.state is RunState.RUNNING:
        cards.show_line(run, now.progress)
        health.show_life(now)
    else:
        cards.show_stages(run, now.progress)
    if run.state is not RunState.HELD:  # what it waits for stands above, with its budgets
        cards.show_detail(run)
    show_queue(run, now.details)
    health.show_alerts(now)
    if run.started_at is None:
        return
    with st.container(key="answers"):
        for place, show in zip(st.columns(3), (_show_how_far, curves.show_speed, _show_cost), strict=True):
            with place.container(border=True, gap="xsmall", height="stretch"):
                show(now)
    health.show_health(now)
    curves.show_curves(now)


def show_training(now: RunSnapshot, recorded: RunRow | None) -> None:
    """Of an ended run, below its result: how far its training came, what that took, and its curves."""
    run = now.run
    if run.started_at is None:
        return
    with st.expander(t("run.training"), expanded=run.state is RunState.COMPLETED, icon=":material/show_chart:"):
        has_result = recorded is not None and recorded.throughput is not None
        estimates = () if has_result or run.state is RunState.COMPLETED else curves.list_estimates(now)
        facts = (*_describe_position(now.overview, has_ended=True), *estimates, *_describe_cost(run, now.overview))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(" · ".join(facts), width="content")
            _link_job(run)
        health.show_health(now)
        curves.show_curves(now)


def _link_job(run: Run) -> None:
    if page := core().regions.job_page(run):
        st.link_button(t("job.page"), page, help=t("job.page_help"), icon=":material/open_in_new:", type="tertiary")


def _show_how_far(now: RunSnapshot) -> None:
    st.markdown(f"**{t('run.how_far')}**")
    if now.overview.last is None:
        st.caption(t("run.no_progress"), help=t("run.no_progress_help"))
        return
    st.markdown(" · ".join(_describe_position(now.overview)))
    if now.run.state is RunState.RUNNING:
        st.markdown(_describe_ending(now.overview), help=t("run.ending_help"))


def _describe_position(overview: RunOverview, *, has_ended: bool = False) -> Iterator[str]:
    last = overview.last
    if last is None:
        return
    if last.step is not None:
        of = f"{last.steps:,}" if last.steps else MISSING
        yield t("run.step", step=f"{last.step:,}", steps=of)
    if last.epoch is not None:
        yield t("run.epoch", epoch=last.epoch, epochs=last.epochs or MISSING)
    if last.stage and not (has_ended and last.stage in set(Stage)):
        yield escape_markdown(t.stage(last.stage))


def _describe_ending(overview: RunOverview) -> str:
    if overview.remaining_s is None:
        return t("run.no_ending")
    key = "run.ending_by_earlier" if overview.by_earlier else "run.ending"
    return t(key, left=format_estimate(overview.remaining_s), at=format_time(overview.ends_at, "%H:%M"))


def _show_cost(now: RunSnapshot) -> None:
    """Node hours and money so far, and at the end."""
    overview = now.overview
    st.markdown(f"**{t('run.costs')}**")
    st.markdown(t("run.node_hours", hours=format_number(overview.hours, digits=3)))
    if overview.hours_end is not None:
        st.caption(t("run.node_hours_end", hours=format_number(overview.hours_end, digits=3)))
    if not overview.cost:
        st.caption(_explain_free(now.run, overview))
        return
    text = t("run.spent", money=amounts_text(overview.cost))
    if overview.cost_end:
        text += " · " + t("run.spent_end", money=amounts_text(overview.cost_end))
    st.markdown(text)


def _describe_cost(run: Run, overview: RunOverview) -> Iterator[str]:
    """Of an ended run."""
    yield t("run.node_hours_total", hours=format_number(overview.hours, digits=3))
    yield f"**{amounts_text(overview.cost)}**" if overview.cost else _explain_free(run, overview)


def _explain_free(run: Run, overview: RunOverview) -> str:
    """Why there is no money: a rehearsal costs nothing, and an unknown price is not zero."""
    if overview.rehearsal:
        return t("run.rehearsal_costs_nothing")
    return t("run.no_price", flavor=escape_markdown(run.spec.flavor))
