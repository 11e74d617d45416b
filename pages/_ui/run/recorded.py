"""The page of a run that the ledger does not have: as the warehouse has it."""

from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.formats import (
    MISSING,
    clip_text,
    format_duration,
    format_number,
    nodes_and_cards,
)
from aisbench_core.model import JobDetails, Origin, RunRecord, TrainResultInfo
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.cards.job_details import show_job_attempts
from pages._ui.configure.clones import show_clone_button
from pages._ui.run.head import show_recorded_title, show_run_facts
from pages._ui.run.result import show_details, show_figures
from pages._ui.runs.cleaning import show_removals
from pages._ui.runs.reproduce import show_original, show_reproduce_button
from pages._ui.runs.system_form import show_system
from pages._ui.shell import navigation
from pages._ui.shell.core import core
from pages._ui.shell.errors import escape_markdown, show_sentence
from pages._ui.shell.formats import format_time, whole_name
from pages._ui.shell.navigation import link_page
from pages._ui.shell.status import title_tab
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

MAX_RAW = 20_000  # letters of a result's block on the page; `record.json` in the run's folder has all of them


def show_recorded(row: RunRow, title: DeltaGenerator, actions: DeltaGenerator) -> None:
    """The page of a run that is imported, or older than the ledger."""
    name = core().annotations.of(row.run_id).name or _build_name(row)
    title_tab(clip_text(name, 80))
    show_recorded_title(title, clip_text(name, 80), row, whole_name(name, 80))
    record: RunRecord | None = None
    trouble: AisbenchError | None = None
    try:
        record = core().imports.record(row.run_id)
    except AisbenchError as error:
        trouble = error
    with actions:
        show_reproduce_button(row.run_id, is_primary=False)
        link_page(navigation.COMPARE, t("live.go_compare"), {"ids": [row.run_id]})
        with st.popover(t("run.more"), icon=":material/more_horiz:", key="run-more"):
            show_clone_button(row.run_id, key="one")
            if record:
                show_system(record.run)
    if trouble:
        show_sentence(trouble)
    show_run_facts((escape_markdown(row.run_id), *_describe_origin(row)), row.run_id)
    show_removals(row.run_id)
    show_original(row.run_id)
    show_figures(row)
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


def _build_name(row: RunRow) -> str:
    size = nodes_and_cards(row.node_count, row.cards_per_node) if row.card_count else ""
    return " · ".join(filter(None, (row.title or row.workload, row.framework_version, size)))


def _describe_origin(row: RunRow) -> Iterable[str]:
    if row.origin is Origin.IMPORTED:
        yield t(
            "recorded.from",
            source=escape_markdown(row.source),
            at=format_time(row.imported_at),
            who=escape_markdown(row.created_by),
        )


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
    rows = [{"field": name, "value": value.strip() or MISSING} for name, value in pairs]
    show_table(rows, titles, alt, visible=len(rows))  # all of them, in the height that they have before they are there
