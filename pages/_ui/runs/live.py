"""The parts of the Live page that look again by themselves, as long as there is something to see.

They are fragments at the top of the page; each reads the ledger and draws. When nothing is active any more they draw
the whole page once, and stop.
"""

import streamlit as st

from aisbench_core.errors import DamagedLedger, RunNotFound
from aisbench_core.formats import duration
from aisbench_core.model import Event, MetricSample, Run
from aisbench_core.warehouse.values import RunRow
from pages._ui.configure.clones import show_clone_button
from pages._ui.runs.annotations import show_remarks
from pages._ui.runs.cards import (
    run_facts,
    run_title,
    show_collect_again,
    show_detail,
    show_line,
    show_stages,
    show_stop,
    started_text,
    state_badge,
)
from pages._ui.runs.ranks import show_ranks_of
from pages._ui.runs.recorded import row_of, show_measured, show_recorded
from pages._ui.runs.reproduce import show_reproduce_button, show_result, show_what_it_reproduces
from pages._ui.runs.servers import show_servers_of
from pages._ui.runs.system_form import show_system
from pages._ui.runs.validity import badge, show_verdict_of
from pages._ui.shell import address, charts, navigation, widgets
from pages._ui.shell.core import core
from pages._ui.shell.errors import errors_shown, plain
from pages._ui.shell.formats import when
from pages._ui.shell.navigation import link
from pages._ui.shell.words import words

SECONDS = 2.5
LINES = 200
TALL = 9


def follow_all() -> None:
    """Every active run, kept up to date."""
    active = bool(core().ledger.active())
    st.fragment(_all_runs, run_every=SECONDS if active else None)(active)


def follow_one(run_id: str) -> None:
    """One run, kept up to date until it ends."""
    t = words()
    title = st.empty()
    title.title(t("live.title"))  # until it is known that there is such a run
    recorded = _without_ledger(run_id)
    if recorded:
        title.empty()
        show_recorded(recorded)
        return
    run = core().ledger.get(run_id)
    title.title(plain(run_title(run)))
    st.caption(f"{plain(run_facts(run, t))} · {started_text(run, t)}")
    show_what_it_reproduces(run.run_id)
    with st.container(horizontal=True, vertical_alignment="center"):
        link(navigation.LIVE, t("live.all"), {})
        if run.series_id:
            link(navigation.SERIES, t("series.of_run", cell=run.series_index), {"series": run.series_id})
        show_stop(run, key="one")
        show_collect_again(run, key="one")
        show_clone_button(run.run_id, key="one")
        if run.state.is_terminal:
            show_reproduce_button(run.run_id)
        show_system(run)
    show_remarks(run.run_id)
    every = None if run.state.is_terminal else SECONDS
    st.fragment(_one_run, run_every=every)(run.run_id, run.state.is_terminal)
    node = _choose_node(run)
    st.fragment(_log, run_every=every)(run.run_id, node)
    st.fragment(_metrics, run_every=SECONDS * 4 if every else None)(run.run_id)


def _without_ledger(run_id: str) -> RunRow | None:
    """A run that only the warehouse knows: an imported one, or one that is older than the ledger."""
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
    t = words()
    with errors_shown():
        runs = core().ledger.active()
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
                    state_badge(run)
                    link(navigation.LIVE, plain(run_title(run)), {"run": run.run_id})
                st.caption(f"{plain(run_facts(run, t))} · {started_text(run, t)}")
                show_line(run, core().ledger.progress(run.run_id))
                show_detail(run)
        if runs:
            _looked()


def _one_run(run_id: str, had_ended: bool) -> None:
    t = words()
    with errors_shown():
        run = core().ledger.get(run_id)
        if run.state.is_terminal and not had_ended:
            st.rerun()
        state_badge(run)
        if run.started_at and not run.state.is_terminal:
            lasted = (core().clock() - run.started_at).total_seconds()
            st.caption(t("live.started", at=when(run.started_at), lasted=duration(max(0.0, lasted))))
        show_stages(run, core().ledger.progress(run.run_id))
        show_detail(run)
        _outcome(run)
        _timeline([*core().ledger.events(run.run_id), *core().remarks.of(run.run_id).timeline(run.run_id)])
        if not had_ended:
            _looked()


def _outcome(run: Run) -> None:
    """Where the result is found, once there is one."""
    t = words()
    if not run.state.is_terminal:
        return
    recorded = core().warehouse.run(run.run_id)
    if recorded and recorded.throughput is not None:
        show_measured(recorded)
    elif recorded:
        badge(recorded.validity)
    if recorded:
        show_result(recorded)
        show_verdict_of(recorded)
        show_servers_of(recorded)
        show_ranks_of(recorded)
    with st.container(horizontal=True):
        if recorded:
            link(navigation.LEADERBOARD, t("live.go_leaderboard"), row_of(recorded))
            link(navigation.COMPARE, t("live.go_compare"), {"ids": [run.run_id]})
        else:
            st.caption(t("live.not_recorded"))


def _timeline(events: list[Event]) -> None:
    t = words()
    st.header(t("live.timeline"))
    if not events:
        st.caption(t("live.no_events"))
        return
    events = sorted(events, key=lambda event: event.at)
    first = events[0].at
    rows = [
        {
            t("live.at"): when(event.at),
            t("live.after"): duration((event.at - first).total_seconds()),
            t("live.what"): t.event(event),
            t("live.level"): t(f"level.{event.level}"),
            t("live.source"): t.by(event.actor, event.source),
        }
        for event in events
    ]
    wide = {t("live.what"): st.column_config.TextColumn(width="large")}
    st.dataframe(
        rows,
        hide_index=True,
        column_config=wide,
        alt=t("live.timeline"),
        height="content" if len(rows) < TALL else 320,
    )


def _choose_node(run: Run) -> int:
    t = words()
    st.header(t("live.log"))
    if run.spec.node_count == 1:
        return 0
    nodes = range(run.spec.node_count)
    label = t("live.node")
    return int(st.selectbox(label, width=220, **address.option("node", nodes, 0)))


def _log(run_id: str, node: int) -> None:
    t = words()
    with errors_shown():
        text = core().files.log_tail(run_id, node, LINES)
        if not text:
            st.caption(t("live.no_log", node=node))
            return
        with st.container(height=360, autoscroll=True):
            st.code(text, language=None, wrap_lines=True)
        st.caption(t("live.log_tail", lines=LINES, node=node))


def _metrics(run_id: str) -> None:
    t = words()
    with errors_shown():
        st.header(t("live.metrics"))
        samples: list[MetricSample] = core().files.samples(run_id)
        names = sorted({sample.name for sample in samples})
        if not names:
            st.caption(t("live.no_metrics"))
            return
        choice = widgets.session_choice("metric-of-run", names, names[0], t.sample)
        name = st.selectbox(t("live.metric"), width=320, **choice)
        chosen = [sample for sample in samples if sample.name == name]
        charts.draw(charts.metric_over_time(chosen, str(name), t), text=t("charts.metric", name=t.sample(name)))


def _looked() -> None:
    st.caption(words()("live.looked", at=when(core().clock(), "%H:%M:%S")))
