"""The parts of the Live page, which update themselves while a run is active.

They are fragments at the top of the page; each reads the ledger and draws. When nothing is active any more they draw
the whole page once, and stop.
"""

from collections.abc import Sequence

import streamlit as st

from aisbench_core.errors import DamagedLedger, RunNotFound
from aisbench_core.formats import duration
from aisbench_core.model import Event, MetricSample
from aisbench_core.results.job_events import chronological, cloud_events
from aisbench_core.results.utilisation import low_utilisation
from aisbench_core.warehouse.values import RunRow
from pages._ui.configure.clones import show_clone_button
from pages._ui.runs import card_metrics, cards, cleaning, reproduce
from pages._ui.runs.annotations import show_annotations
from pages._ui.runs.job_details import (
    job_details,
    show_alert,
    show_diagnosis,
    show_job_attempts,
    show_job_stages,
    show_queue,
)
from pages._ui.runs.priority import show_priority
from pages._ui.runs.recorded import board_selection, show_details, show_measured, show_recorded
from pages._ui.runs.system_form import show_system
from pages._ui.runs.validity import badge
from pages._ui.shell import charts, navigation, url, widgets
from pages._ui.shell.core import core, ledger_answer
from pages._ui.shell.errors import errors_shown, plain
from pages._ui.shell.formats import when
from pages._ui.shell.navigation import link
from pages._ui.shell.status import heading, title_tab
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

SECONDS = 2.5
METRICS_SECONDS = 10.0  # the platform samples once a minute

LOG_LINES = 200

MAX_WARNINGS = 3  # about single nodes

VISIBLE_EVENTS = 30  # rows of the timeline that are visible at a time: two nodes without trouble have as many


def follow_all() -> None:
    """Every active run, kept up to date."""
    active = bool(ledger_answer(core().ledger.active))
    st.fragment(_all_runs, run_every=SECONDS if active else None)(active)


def follow_one(run_id: str) -> None:
    """One run, kept up to date until it ends."""
    title = heading()
    title.title(t("live.title"))  # until it is known that there is such a run
    recorded = _without_ledger(run_id)
    if recorded:
        title.empty()
        show_recorded(recorded)
        return
    run = ledger_answer(core().ledger.get, run_id)
    ended = run.state.is_terminal
    title.title(plain(cards.run_title(run)))
    title_tab(cards.tab_title(run))
    st.caption(f"{plain(cards.run_facts(run))} · {cards.started_text(run)}")
    reproduce.show_original(run_id)
    reproduce.show_resumed(run)
    with st.container(horizontal=True, vertical_alignment="center"):
        link(navigation.LIVE, t("live.all"), {})
        if run.series_id:
            link(navigation.SERIES, t("series.of_run", cell=run.series_index), {"series": run.series_id})
        cards.show_stop(run, key="one")
        if run.waits_in_pool:
            show_priority(run)
        cards.show_collect_again(run, key="one")
        show_clone_button(run_id, key="one")
        if ended:
            reproduce.show_reproduce_button(run_id)
            cleaning.show_clean_button(run)
        show_system(run)
    cleaning.show_removals(run_id)
    show_annotations(run_id)
    st.fragment(_one_run, run_every=None if ended else SECONDS)(run_id, ended)
    st.header(t("live.log"))
    node = 0
    if run.spec.node_count > 1:
        node = url.choice(st.selectbox, "node", t("live.node"), range(run.spec.node_count), width=220)
    st.fragment(_log, run_every=None if ended else SECONDS)(run_id, node)
    st.fragment(_metrics, run_every=None if ended else METRICS_SECONDS)(run_id)
    if ended:  # they are collected with the result
        card_metrics.show_card_metrics(run)


def _without_ledger(run_id: str) -> RunRow | None:
    """A run that only the warehouse has: an imported one, or one that is older than the ledger."""
    try:
        core().ledger.get(run_id)
    except RunNotFound:
        return core().warehouse.run(run_id)
    except DamagedLedger:
        if recorded := core().warehouse.run(run_id):
            return recorded
        raise
    return None


def _all_runs(was_active: bool) -> None:
    with errors_shown():
        runs = ledger_answer(core().ledger.active)
        if was_active and not runs:
            st.rerun()
        if not runs:
            st.info(t("live.nothing"), icon=":material/bedtime:")
            with st.container(horizontal=True):
                link(navigation.CONFIGURE, t("live.go_configure"), {})
                link(navigation.RUNS, t("live.go_runs"), {})
        for run in runs:
            with st.container(border=True, key=f"run-{run.run_id}"):
                with st.container(horizontal=True, vertical_alignment="center"):
                    cards.state_badge(run)
                    link(navigation.LIVE, plain(cards.run_title(run)), {"run": run.run_id})
                st.caption(f"{plain(cards.run_facts(run))} · {cards.started_text(run)}")
                details = job_details(run.run_id)
                show_alert(run, details)
                cards.show_line(run, ledger_answer(core().ledger.progress, run.run_id))
                cards.show_detail(run)
                show_queue(run, details)
        if runs:
            _show_time()


def _one_run(run_id: str, had_ended: bool) -> None:
    with errors_shown():
        run = ledger_answer(core().ledger.get, run_id)
        # A fragment cannot change its own pace, nor the buttons above it: the page is drawn once more.
        if run.state.is_terminal and not had_ended:
            st.rerun()
        cards.state_badge(run)
        if run.started_at and not run.state.is_terminal:
            lasted = (core().clock() - run.started_at).total_seconds()
            st.caption(t("live.started", at=when(run.started_at), lasted=duration(max(0.0, lasted))))
        details = job_details(run_id)
        show_alert(run, details)
        cards.show_stages(run, ledger_answer(core().ledger.progress, run_id))
        cards.show_detail(run)
        show_queue(run, details)
        show_diagnosis(details)
        show_job_attempts(details)
        if run.state.is_terminal:
            _result(run_id)
        show_job_stages(details)
        events = (*ledger_answer(core().ledger.events, run_id), *cloud_events(run_id, details))
        _timeline([*events, *core().annotations.of(run_id).timeline(run_id)])
        if not had_ended:
            _show_time()


def _result(run_id: str) -> None:
    recorded = core().warehouse.run(run_id)
    if recorded is None:
        st.caption(t("live.not_recorded"))
        return
    if recorded.throughput is None:
        badge(recorded.validity)
    else:
        show_measured(recorded)
    show_details(recorded)
    with st.container(horizontal=True):
        link(navigation.LEADERBOARD, t("live.go_leaderboard"), board_selection(recorded))
        link(navigation.COMPARE, t("live.go_compare"), {"ids": [run_id]})


def _timeline(events: list[Event]) -> None:
    st.header(t("live.timeline"))
    if not events:
        st.caption(t("live.no_events"))
        return
    events = chronological(events)
    rows = [
        {
            t("live.at"): when(event.at),
            # The platform's times have whole seconds, so that its first events can seem older than the launch.
            t("live.after"): duration(max(0.0, (event.at - events[0].at).total_seconds())),
            t("live.what"): t.event(event),
            t("live.level"): t(f"level.{event.level}"),
            t("live.source"): t.actor(event.actor, event.source),
        }
        for event in events
    ]
    show_table(rows, t("live.timeline"), widths={t("live.what"): "large"}, visible=VISIBLE_EVENTS)


def _log(run_id: str, node: int) -> None:
    with errors_shown():
        text = core().files.log_tail(run_id, node, LOG_LINES)
        if not text:
            st.caption(t("live.no_log", node=node))
            return
        with st.container(height=360, autoscroll=True):
            st.code(text, language=None, wrap_lines=True)
        st.caption(t("live.log_tail", lines=LOG_LINES, node=node))


def _metrics(run_id: str) -> None:
    with errors_shown():
        st.header(t("live.metrics"))
        samples = core().files.samples(run_id)
        _show_low_utilisation(samples)
        names = sorted({sample.name for sample in samples})
        if not names:
            st.caption(t("live.no_metrics"))
            return
        choice = widgets.session_choice("metric-of-run", names, names[0], t.sample)
        name = st.selectbox(t("live.metric"), width=320, **choice)
        chosen = [sample for sample in samples if sample.name == name]
        charts.draw(charts.metric_over_time(chosen, str(name)), text=t("charts.metric", name=t.sample(name)))


def _show_low_utilisation(samples: Sequence[MetricSample]) -> None:
    found = low_utilisation(samples)
    for low in found[:MAX_WARNINGS]:
        lasted = duration((low.until - low.since).total_seconds())
        facts = {"node": low.node, "metric": t.sample(low.metric), "mean": f"{low.mean:.0f}", "lasted": lasted}
        warning = t("live.low", **facts, since=when(low.since, "%H:%M"), reason=t.message(low.reason))
        st.warning(plain(warning), icon=":material/speed:")
    if len(found) > MAX_WARNINGS:
        st.caption(t("live.low_more", count=len(found) - MAX_WARNINGS))


def _show_time() -> None:
    """When the fragment was drawn last, so that one sees that it still updates."""
    st.caption(t("live.updated", at=when(core().clock(), "%H:%M:%S")))
