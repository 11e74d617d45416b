"""The leaderboard by benchmark: a block for each, its best configurations first, and what has changed."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from aisbench_core.base.formats import MISSING, clip_text, format_number
from aisbench_core.domain.rulesets.ruleset import DEFAULT
from aisbench_core.warehouse.values.boards import BenchmarkBoard, BoardRow, abbreviate_value
from aisbench_core.warehouse.values.compared import ComparedBy
from aisbench_core.warehouse.values.histories import TrendVerdict
from aisbench_core.warehouse.values.runs import BoardQuery
from pages._ui.leaderboard import block_columns
from pages._ui.leaderboard.block_columns import framework_of
from pages._ui.leaderboard.board import show_bars, show_links
from pages._ui.leaderboard.changes import TwiceDrawn, link_to_others
from pages._ui.leaderboard.columns import Cells
from pages._ui.runs.validity import show_rules
from pages._ui.shell import url
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import to_percent, whole_name
from pages._ui.shell.listing import page_of, show_pages
from pages._ui.shell.navigation import LEADERBOARD, link_page
from pages._ui.shell.row_keys import create_openable
from pages._ui.shell.tables import height_of
from pages._ui.shell.words import t

# What one page shows: every table is a canvas of its own in the browser, and many of them make it slow.
BLOCKS, MOST = 6, 10


def show_blocks(query: BoardQuery, names: Sequence[str]) -> bool:
    """One page of benchmarks with the named columns; returns whether a row is ticked.

    Ticked rows of all benchmarks are compared as groups."""
    page = page_of(core().warehouse.board.list_benchmarks, query, MOST)
    if not page.rows:
        st.info(t("board.no_match"), icon=":material/search:")
        return False
    rows = tuple(row for block in page.rows for row in block.rows)
    parameters = run_cached(
        core().warehouse.board.find_distinctions,
        query.region,
        tuple(block.rows[0].fingerprint for block in page.rows),
        rehearsal=page.rehearsal,
    )
    newest = run_cached(core().warehouse.board.list_newest_dots, query, rows, block_columns.NEWEST)
    # A switch below all tables would be found by nobody, but above them it would push the first row down.
    draws_bars = st.query_params.get("chart") == "1"
    drawing, slots = TwiceDrawn.of(query), []
    for block in page.rows:
        distinction = parameters.get(block.rows[0].fingerprint, "")
        st.markdown(benchmark_title(block, parameters), help=whole_name(distinction, 80))
        slots.append(drawing.slot())
        if block.total > len(block.rows):
            label = t("board.all_configurations", count=f"{block.total:,}")
            link_page(LEADERBOARD, label, _all_of(block), icon=":material/list:")
        if draws_bars:
            show_bars(query, block.rows, parameters)
    st.caption(f"{t('board.rank_about')} {t('board.ties_about')}")
    show_pages(page.total, query.limit, "board.benchmarks_total")
    show_rules([rule_id for row in rows for rule_id in row.reason.split(";")], query.ruleset_id or DEFAULT)
    links = st.container()
    url.input_switch("chart", t("board.chart"))

    def show_tables(changes: Mapping[str, TrendVerdict], *, tickable: bool) -> list[BoardRow]:
        ticked = []
        for block, slot in zip(page.rows, slots, strict=True):
            cells = block_columns.block_cells(block.rows, newest, changes)
            with slot():
                ticked += _show_table(block, benchmark_name(block, parameters), cells, names, tickable=tickable)
        return ticked

    ticked = drawing.show(rows, show_tables)
    with links:
        link_to_others(query, rows)
        show_links([row.median_run_id or row.latest_run_id for row in ticked], ComparedBy.ROWS)
    return bool(ticked)


def benchmark_title(block: BenchmarkBoard, parameters: Mapping[str, str]) -> str:
    """The benchmark in one line of Markdown, with the unit of its numbers and the accuracy to reach."""
    unit = escape_markdown(t.unit(block.rows[0].throughput_unit))
    return f"**{escape_markdown(benchmark_name(block, parameters))}** · {unit} · {_target_of(block)}"


def _target_of(block: BenchmarkBoard) -> str:
    targets = sorted({row.accuracy_target for row in block.rows if row.accuracy_target is not None})
    named = " / ".join(format_number(to_percent(target)) for target in targets)
    return t("target.of", target=named) if named else t("target.not_stated")


def benchmark_name(block: BenchmarkBoard, parameters: Mapping[str, str]) -> str:
    """What tells the benchmark from all others, in one line."""
    best = block.rows[0]
    data = t("board.synthetic") if best.synthetic_data else best.dataset
    if "data" in best.differs_in.split(";"):  # another block may be the same on other data
        data = f"{data} {abbreviate_value(best.dataset_sha256)}"
    parts = (
        best.model or best.workload,
        data,
        framework_of(block.rows),
        clip_text(parameters.get(best.fingerprint, ""), 80),
    )
    return " · ".join(filter(None, parts))


def _all_of(block: BenchmarkBoard) -> dict[str, str | Sequence[str]]:
    others = {key: value for key, value in url.read_parameters().items() if key != "page"}
    return {**others, "show": "groups", "benchmark": block.rows[0].fingerprint}


def _show_table(
    block: BenchmarkBoard, name: str, cells: Sequence[Cells], names: Sequence[str], *, tickable: bool
) -> list[BoardRow]:
    """The table with the named columns; returns the ticked rows."""
    best, rows = block.rows[0], block.rows
    table, config = block_columns.build_titled_cells(cells, names)
    key = f"block-{best.fingerprint}-{best.throughput_unit}-{best.synthetic_data}-{best.dataset_sha256}"
    options: Any = {
        "hide_index": True,
        "alt": f"{t('board.table')}: {name}",
        "height": height_of(table, MOST),
        "column_config": config,
        "placeholder": MISSING,
    }
    if not tickable:
        st.dataframe(table, **options)
        return []
    with create_openable(key):
        event = st.dataframe(table, key=key, on_select="rerun", **options)
    return [rows[index] for index in event["selection"]["rows"] if index < len(rows)]
