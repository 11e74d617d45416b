"""One run as the warehouse knows it, without the ledger: an imported result, or one that is older than this ledger."""

from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime

import streamlit as st

from aisbench_core.errors import AisbenchError
from aisbench_core.formats import MISSING, clipped, duration, nodes_and_cards, number, percent
from aisbench_core.model import Origin, RunRecord, TrainResultInfo
from aisbench_core.warehouse.values import RunRow
from pages._ui.configure.clones import show_clone_button
from pages._ui.leaderboard.board import kind_id
from pages._ui.runs.annotations import show_remarks
from pages._ui.runs.ranks import show_ranks_of
from pages._ui.runs.reproduce import show_reproduce_button, show_result, show_what_it_reproduces
from pages._ui.runs.servers import show_servers_of
from pages._ui.runs.system_form import show_system
from pages._ui.runs.validity import badge, show_verdict_of
from pages._ui.shell import navigation
from pages._ui.shell.core import core
from pages._ui.shell.errors import plain, show_sentence
from pages._ui.shell.formats import when
from pages._ui.shell.navigation import link
from pages._ui.shell.words import Words, words

MOST_RAW = 20_000
"""Letters of a result's block on the page; `record.json` in the run's folder has all of them."""


def show_recorded(row: RunRow) -> None:
    """Where it comes from, what was measured, what is known of it, and the block that it was read from."""
    t = words()
    st.title(f"{plain(clipped(row.title, 80))} · {plain(row.run_id)}")
    record = _record(row.run_id)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(t(f"origin.{row.origin}"), icon=":material/history:", color="violet")
        badge(row.validity)
        link(navigation.LEADERBOARD, t("live.go_leaderboard"), row_of(row))
        link(navigation.COMPARE, t("live.go_compare"), {"ids": [row.run_id]})
        show_clone_button(row.run_id, key="one")
        show_reproduce_button(row.run_id)
        if record:
            show_system(record.run)
    if row.origin is Origin.IMPORTED:
        st.caption(t("recorded.from", source=plain(row.source), at=when(row.imported_at), who=plain(row.created_by)))
    show_remarks(row.run_id)
    show_what_it_reproduces(row.run_id)
    show_measured(row)
    show_result(row)
    show_verdict_of(row)
    show_servers_of(row)
    show_ranks_of(row)
    left, right = st.columns(2, gap="large")
    with left:
        st.header(t("recorded.facts"))
        _table(_facts(row, record, t), t("recorded.facts"), t)
    if record is None:
        return
    with right:
        st.header(t("recorded.block"))
        _table(_block(record), t("recorded.block"), t)
        st.caption(t("recorded.block_help"))
    _show_raw(record, t)


def show_measured(recorded: RunRow) -> None:
    """The result in three figures; those of a rehearsal are marked as such."""
    t = words()
    throughput, accuracy, validity = st.columns(3)
    unit = plain(recorded.throughput_unit)
    throughput.metric(t("charts.throughput", unit=unit), number(recorded.throughput), border=True)
    accuracy.metric(t("board.accuracy"), percent(recorded.accuracy), border=True)
    validity.metric(t("board.validity"), t(f"validity.{recorded.validity}"), border=True)
    if recorded.rehearsal:
        st.caption(t("board.rehearsal"))


def row_of(recorded: RunRow) -> dict[str, str]:
    """The leaderboard's address on which the run has a row, whether or not it is valid."""
    shown = {"region": kind_id(recorded), "show": "runs"}
    return shown if recorded.validity.counts else shown | {"invalid": "1"}


def _facts(row: RunRow, record: RunRecord | None, t: Words) -> Iterable[tuple[str, str]]:
    unit = row.throughput_unit
    yield t.field("workload"), row.workload
    yield t.field("model"), row.model
    yield t.field("framework_version"), f"{row.framework} {row.framework_version}"
    yield t.field("mode"), t(f"mode.{row.mode}") if _tells_mode(row, record) else ""
    yield t("board.size"), nodes_and_cards(row.node_count, row.cards_per_node)
    yield t.field("flavor"), row.flavor
    yield t.field("region"), row.region
    yield t.field("throughput_definition"), row.throughput_definition
    yield t("metric.per_node"), number(row.per_node, unit)
    yield t("metric.per_card"), number(row.per_card, unit)
    yield t("board.duration"), duration(row.duration_s)
    yield t("recorded.began"), when(row.began_at)
    yield t("recorded.ended"), when(row.ended_at)
    yield t("recorded.job"), f"{row.job_name} {row.job_id}"


def _tells_mode(row: RunRow, record: RunRecord | None) -> bool:
    """Old results often do not say whether their nodes worked together."""
    imported = record.imported if record else None
    return "mode" in imported.stated if imported else row.origin is Origin.LAUNCHED


def _block(record: RunRecord) -> Iterable[tuple[str, str]]:
    info = record.result.info if record.result else TrainResultInfo()
    for key in fields(info):
        value = getattr(info, key.name)
        yield key.name, when(value) if isinstance(value, datetime) else number(value, digits=6)


def _table(pairs: Iterable[tuple[str, str]], alt: str, t: Words) -> None:
    rows = [{t("compare.field"): name, t("import.value"): value.strip() or MISSING} for name, value in pairs]
    st.dataframe(rows, hide_index=True, alt=alt, height="content")


def _record(run_id: str) -> RunRecord | None:
    try:
        return core().history.record(run_id)
    except AisbenchError as error:
        show_sentence(error)
        return None


def _show_raw(record: RunRecord, t: Words) -> None:
    if record.result and record.result.raw:
        with st.expander(t("recorded.raw")):
            st.code(clipped(record.result.raw, MOST_RAW), language=None, wrap_lines=True)
    notes = (record.imported.note, *record.imported.told) if record.imported else ()
    for text in filter(None, notes):
        st.caption(plain(text))
