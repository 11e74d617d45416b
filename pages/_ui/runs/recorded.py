"""A run as the warehouse has it: its result, and, where the ledger does not have the run, the whole page."""

from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.formats import (
    MISSING,
    clip_text,
    format_duration,
    format_number,
    format_percent,
    nodes_and_cards,
)
from aisbench_core.model import JobDetails, Origin, RunRecord, TrainResultInfo
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow
from pages._ui.cards.job_details import show_job_attempts
from pages._ui.configure.clones import show_clone_button
from pages._ui.runs.annotations import show_annotations
from pages._ui.runs.cleaning import show_removals
from pages._ui.runs.ranks import show_ranks_of
from pages._ui.runs.reproduce import show_original, show_reproduce_button, show_result
from pages._ui.runs.servers import show_servers_of
from pages._ui.runs.system_form import show_system
from pages._ui.runs.target import show_target, target_badge
from pages._ui.runs.validity import show_validity_badge, show_verdict_of
from pages._ui.shell import navigation
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.errors import escape_markdown, show_sentence
from pages._ui.shell.filters import region_key
from pages._ui.shell.formats import format_time, whole_name
from pages._ui.shell.navigation import link_page
from pages._ui.shell.status import create_heading, title_tab
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

MAX_RAW = 20_000  # letters of a result's block on the page; `record.json` in the run's folder has all of them


def show_recorded(row: RunRow) -> None:
    """The page of a run that is imported, or older than the ledger."""
    name = core().annotations.of(row.run_id).name or row.title
    title_tab(clip_text(name, 80))
    title = f"{escape_markdown(clip_text(name, 80))} · {escape_markdown(row.run_id)}"
    create_heading().title(title, help=whole_name(name, 80))
    record: RunRecord | None = None
    try:
        record = core().imports.record(row.run_id)
    except AisbenchError as error:
        show_sentence(error)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(t(f"origin.{row.origin}"), icon=":material/history:", color="violet")
        show_validity_badge(row.validity)
        target_badge(row)
        link_page(navigation.LEADERBOARD, t("live.go_leaderboard"), board_selection(row))
        link_page(navigation.COMPARE, t("live.go_compare"), {"ids": [row.run_id]})
        show_clone_button(row.run_id, key="one")
        show_reproduce_button(row.run_id)
        if record:
            show_system(record.run)
    if row.origin is Origin.IMPORTED:
        st.caption(
            t(
                "recorded.from",
                source=escape_markdown(row.source),
                at=format_time(row.imported_at),
                who=escape_markdown(row.created_by),
            )
        )
    show_removals(row.run_id)
    show_annotations(row.run_id)
    show_original(row.run_id)
    show_measured(row)
    show_details(row)
    if record:
        show_job_attempts(JobDetails(attempts=record.attempts))
    left, right = st.columns(2, gap="large")
    with left:
        st.header(t("recorded.facts"))
        _show_pairs(_list_facts(row, record), t("recorded.facts"))
    if record is None:
        return
    with right:
        st.header(t("recorded.block"))
        _show_pairs(_list_result_fields(record), t("recorded.block"))
        st.caption(t("recorded.block_help"))
    if record.result and record.result.raw:
        with st.expander(t("recorded.raw")):
            st.code(clip_text(record.result.raw, MAX_RAW), language=None, wrap_lines=True)
    notes = (record.imported.note, *record.imported.details) if record.imported else ()
    for note in filter(None, notes):
        st.caption(escape_markdown(note))


def show_measured(row: RunRow) -> None:
    """The result in three figures; those of a rehearsal are marked as such."""
    throughput, accuracy, validity = st.columns(3)
    unit = escape_markdown(row.throughput_unit)
    throughput.metric(t("charts.throughput", unit=unit), format_number(row.throughput), border=True)
    accuracy.metric(t("board.accuracy"), format_percent(row.accuracy), border=True)
    validity.metric(t("board.validity"), t(f"validity.{row.validity}"), border=True)
    show_target(row)
    if row.rehearsal:
        st.caption(t("board.rehearsal"))


def show_details(row: RunRow) -> None:
    """Behind the figures: a reproduction's comparison, the verdict, and single servers and cards."""
    show_result(row)
    show_verdict_of(row)
    show_servers_of(row)
    show_ranks_of(row)


def board_selection(row: RunRow) -> dict[str, str]:
    """The parameters of a leaderboard that has a row for the run, whether or not it is valid, and however many others
    there are: the run alone, unless it is among the newest."""
    is_counted = row.validity.counts
    newest = BoardQuery(row.region, rehearsal=row.rehearsal, include_invalid=not is_counted, sort="created_at")
    is_on_first_page = any(one.run_id == row.run_id for one in run_cached(core().warehouse.runs.list_rows, newest).rows)
    return {
        "region": region_key(row),
        "show": "runs",
        **({} if is_counted else {"invalid": "1"}),
        **({} if is_on_first_page else {"q": row.run_id}),
    }


def _list_facts(row: RunRow, record: RunRecord | None) -> Iterable[tuple[str, str]]:
    # Old results often do not say whether their nodes worked together.
    imported = record.imported if record else None
    has_mode = "mode" in imported.stated if imported else row.origin is Origin.LAUNCHED
    yield t.field("workload"), row.workload
    yield t.field("model"), row.model
    yield t.field("framework_version"), f"{row.framework} {row.framework_version}"
    yield t.field("mode"), t(f"mode.{row.mode}") if has_mode else ""
    yield t("board.size"), nodes_and_cards(row.node_count, row.cards_per_node)
    yield t.field("flavor"), row.flavor
    yield t.field("region"), row.region
    yield t.field("throughput_definition"), row.throughput_definition
    yield t("metric.per_node"), format_number(row.per_node, row.throughput_unit)
    yield t("metric.per_card"), format_number(row.per_card, row.throughput_unit)
    yield t("board.duration"), format_duration(row.duration_s)
    yield t("recorded.began"), format_time(row.began_at)
    yield t("recorded.ended"), format_time(row.ended_at)
    yield t("recorded.job"), f"{row.job_name} {row.job_id}"


def _list_result_fields(record: RunRecord) -> Iterable[tuple[str, str]]:
    info = record.result.info if record.result else TrainResultInfo()
    for key in fields(info):
        value = getattr(info, key.name)
        yield key.name, format_time(value) if isinstance(value, datetime) else format_number(value, digits=6)


def _show_pairs(pairs: Iterable[tuple[str, str]], alt: str) -> None:
    titles = {"field": t("compare.field"), "value": t("import.value")}
    show_table([{"field": name, "value": value.strip() or MISSING} for name, value in pairs], titles, alt)
