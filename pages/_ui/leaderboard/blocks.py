"""The leaderboard by benchmark: a block for each, its best configurations first, and what has changed."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from aisbench_core.formats import MISSING, clipped
from aisbench_core.rulesets.ruleset import DEFAULT
from aisbench_core.warehouse.answers.boards import BenchmarkBoard, BoardRow
from aisbench_core.warehouse.answers.compared import ComparedBy
from aisbench_core.warehouse.answers.histories import TrendVerdict
from aisbench_core.warehouse.values import BoardQuery
from pages._ui.leaderboard import block_columns
from pages._ui.leaderboard.block_columns import framework_of
from pages._ui.leaderboard.board import show_bars, show_links
from pages._ui.runs.validity import show_rules
from pages._ui.shell import url
from pages._ui.shell.core import cached, core
from pages._ui.shell.errors import plain
from pages._ui.shell.formats import whole_name
from pages._ui.shell.listing import page_of, show_pages
from pages._ui.shell.navigation import LEADERBOARD, link
from pages._ui.shell.row_keys import openable
from pages._ui.shell.tables import height_of
from pages._ui.shell.words import t

# What one page shows: every table is a canvas of its own in the browser, and many of them make it slow.
BLOCKS, MOST = 6, 10

READ = "board-trends"  # of the session: for which query it has read verdicts


def show_blocks(query: BoardQuery, names: Sequence[str], trends: Sequence[TrendVerdict]) -> bool:
    """One page of benchmarks with the named columns; returns whether a row is ticked.

    `trends` are verdicts for badges in the rows. Ticked rows of all benchmarks are compared as groups."""
    page = page_of(core().warehouse.benchmarks, query, MOST)
    if not page.rows:
        st.info(t("board.no_match"), icon=":material/search:")
        return False
    rows = tuple(row for block in page.rows for row in block.rows)
    parameters = cached(
        core().warehouse.distinctions,
        query.region,
        tuple(block.rows[0].fingerprint for block in page.rows),
        rehearsal=page.rehearsal,
    )
    newest = cached(core().warehouse.newest_dots, query, rows, block_columns.NEWEST)
    # A switch below all tables would be found by nobody, but above them it would push the first row down.
    draws_bars = st.query_params.get("chart") == "1"
    changes, ticked = block_columns.changes_of(rows, trends), []
    for block in page.rows:
        distinction = parameters.get(block.rows[0].fingerprint, "")
        name = benchmark_name(block, parameters)
        st.markdown(benchmark_title(block, parameters), help=whole_name(distinction, 80))
        ticked += _show_table(block, name, block_columns.block_cells(block.rows, newest, changes), names)
        if block.total > len(block.rows):
            label = t("board.all_configurations", count=f"{block.total:,}")
            link(LEADERBOARD, label, _all_of(block), icon=":material/list:")
        if draws_bars:
            show_bars(query, block.rows, parameters)
    st.caption(f"{t('board.rank_about')} {t('board.ties_about')}")
    show_pages(page.total, query.limit)
    show_rules([rule_id for row in rows for rule_id in row.reason.split(";")], query.ruleset_id or DEFAULT)
    show_links([row.median_run_id or row.latest_run_id for row in ticked], ComparedBy.ROWS)
    url.toggle("chart", t("board.chart"))
    return bool(ticked)


def trends_if_read(query: BoardQuery) -> Sequence[TrendVerdict] | None:
    """Verdicts on all trends of the region, if this session has read them; the first reading may take seconds."""
    read = st.session_state.get(READ)
    return trends_of(query) if read and read[0] == _tested(query) else None


def read_trends(query: BoardQuery) -> None:
    """Read the verdicts and draw the page again with them; the page calls it last, when its rows can be seen."""
    trends_of(query)
    st.session_state[READ] = (_tested(query),)
    st.rerun()


def _tested(query: BoardQuery) -> BoardQuery:
    """All trends, whatever the filters: how large a change has to be follows from how many trends are tested."""
    return BoardQuery(query.region, rehearsal=query.rehearsal, ruleset_id=query.ruleset_id)


def trends_of(query: BoardQuery) -> Sequence[TrendVerdict]:
    """Verdicts on all trends of the query's region."""
    with st.spinner(t("home.reading"), show_time=True):  # after new results, those of a large region take seconds
        return cached(core().warehouse.regressions, _tested(query)).groups


def benchmark_title(block: BenchmarkBoard, parameters: Mapping[str, str]) -> str:
    """The benchmark in one line of Markdown, with the unit of its numbers."""
    return f"**{plain(benchmark_name(block, parameters))}** · {plain(t.unit(block.rows[0].throughput_unit))}"


def benchmark_name(block: BenchmarkBoard, parameters: Mapping[str, str]) -> str:
    """What tells the benchmark from all others, in one line."""
    best = block.rows[0]
    data = t("board.synthetic") if best.synthetic_data else best.dataset
    named = (
        best.model or best.workload,
        data,
        framework_of(block.rows),
        clipped(parameters.get(best.fingerprint, ""), 80),
    )
    return " · ".join(filter(None, named))


def _all_of(block: BenchmarkBoard) -> dict[str, str | Sequence[str]]:
    others = {key: value for key, value in url.parameters().items() if key != "page"}
    return {**others, "show": "groups", "benchmark": block.rows[0].fingerprint}


def _show_table(
    block: BenchmarkBoard, name: str, cells: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> list[BoardRow]:
    """The table with the named columns; returns the ticked rows."""
    best, rows = block.rows[0], block.rows
    table, config = block_columns.titled(cells, names)
    key = f"block-{best.fingerprint}-{best.throughput_unit}-{best.synthetic_data}"
    with openable(key):
        event = st.dataframe(
            table,
            hide_index=True,
            alt=f"{t('board.table')}: {name}",
            key=key,
            on_select="rerun",
            height=height_of(table, MOST),
            column_config=config,
            placeholder=MISSING,
        )
    return [rows[index] for index in event["selection"]["rows"] if index < len(rows)]
