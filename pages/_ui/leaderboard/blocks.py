"""The leaderboard by benchmark: a block for each, its best configurations first, and what has changed."""

from collections.abc import Mapping, Sequence

import streamlit as st

from aisbench_core.base.formats import clip_text, format_number, nodes_and_cards
from aisbench_core.domain.rulesets.ruleset import DEFAULT
from aisbench_core.model import Origin
from aisbench_core.warehouse.values.boards import BenchmarkBoard, BoardRow, abbreviate_value
from aisbench_core.warehouse.values.runs import BoardQuery
from pages._ui.grid.alignment import align_tables
from pages._ui.grid.table import show_grid
from pages._ui.leaderboard import block_columns
from pages._ui.leaderboard.block_columns import framework_of
from pages._ui.leaderboard.board import show_bars, show_row_actions
from pages._ui.leaderboard.changes import known_changes, link_to_others
from pages._ui.leaderboard.sizes import PARAMETER, SizeTab
from pages._ui.runs.validity import show_rules
from pages._ui.shell import url
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import to_percent, whole_name
from pages._ui.shell.listing import page_of, show_pages
from pages._ui.shell.navigation import COLUMNS, LEADERBOARD, link_page
from pages._ui.shell.words import t

BLOCKS, MOST = 6, 10  # benchmarks on a page, and rows of each: what somebody reads at once
HEAD_EVERY = 12  # rows of equal columns that have one head: it is in the window with them


def show_blocks(query: BoardQuery, names: Sequence[str], tab: SizeTab) -> bool:
    """One page of benchmarks with the named columns; returns whether a row is ticked.

    Ticked rows of all benchmarks are compared as groups."""
    page = page_of(core().warehouse.board.list_benchmarks, query, MOST, per_card=tab.per_card)
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
    changes = known_changes(query, rows)
    ticked: list[BoardRow] = []
    tables = [
        block_columns.build_table(
            block.rows,
            block_columns.block_cells(block.rows, newest, changes, per_card=tab.per_card),
            _without_size(names, block, tab),
            per_card=tab.per_card,
        )
        for block in page.rows
    ]
    head, rows_below = None, 0
    for block, (columns, table) in zip(page.rows, align_tables(tables), strict=True):
        has_head = columns != head or rows_below + len(table) > HEAD_EVERY
        head, rows_below = columns, len(table) + (0 if has_head else rows_below)
        name = benchmark_name(block, parameters)
        with st.container(gap="xsmall"):
            whole = whole_name(parameters.get(block.rows[0].fingerprint, ""), 80)
            st.markdown(benchmark_title(block, name, tab), help=whole)
            alt = f"{t('board.table')}: {name}"
            ids = show_grid(columns, table, alt, key=_key_of(block), is_tickable=True, has_head=has_head)
            if block.total > len(block.rows):
                label = t("board.all_configurations", count=f"{block.total:,}")
                link_page(LEADERBOARD, label, _all_of(block, tab), icon=":material/list:")
            if draws_bars:
                show_bars(query, block.rows, parameters)
        by_id = {row.latest_run_id: row for row in block.rows}
        ticked += [by_id[run_id] for run_id in ids]
    show_pages(page.total, query.limit, "board.benchmarks_total")
    show_rules([rule_id for row in rows for rule_id in row.reason.split(";")], query.ruleset_id or DEFAULT)
    link_to_others(query, rows)
    url.input_switch("chart", t("board.chart"))
    run_ids = [row.median_run_id or row.latest_run_id for row in ticked]
    show_row_actions([_key_of(block) for block in page.rows], run_ids)
    return bool(ticked)


def _key_of(block: BenchmarkBoard) -> str:
    best = block.rows[0]
    return f"block-{best.fingerprint}-{best.throughput_unit}-{best.synthetic_data}-{best.dataset_sha256}"


def _without_size(names: Sequence[str], block: BenchmarkBoard, tab: SizeTab) -> list[str]:
    """The title has the size that all rows share, unless the reader chose the column."""
    is_chosen = COLUMNS in st.query_params
    return [name for name in names if name != "size" or is_chosen or not _shared_size(block, tab)]


def _shared_size(block: BenchmarkBoard, tab: SizeTab) -> str:
    """The nodes and cards of all rows of a tab of one size; empty if cards differ."""
    sizes = {nodes_and_cards(row.node_count, row.cards_per_node) for row in block.rows}
    return sizes.pop() if tab.nodes and len(sizes) == 1 else ""


def benchmark_title(block: BenchmarkBoard, name: str, tab: SizeTab) -> str:
    """The benchmark in one line of Markdown, with the unit of its numbers and the accuracy to reach."""
    is_imported = all(row.origin is Origin.IMPORTED for row in block.rows)
    best = block.rows[0]
    facts = [
        t("board.lower_is_better", metric=best.primary_metric) if best.is_lower_better else best.primary_metric,
        best.throughput_definition if best.primary_metric else "",
        t.unit(best.throughput_unit),
        _shared_size(block, tab),
        _target_of(block),
        t("origin.imported") if is_imported else "",
    ]
    said = escape_markdown(" · ".join(filter(None, facts)))
    return f"**{escape_markdown(name)}** · {said}"


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


def _all_of(block: BenchmarkBoard, tab: SizeTab) -> dict[str, str | Sequence[str]]:
    others = {key: value for key, value in url.read_parameters().items() if key not in ("page", PARAMETER)}
    size = {"nodes": str(tab.nodes)} if tab.nodes else {}
    return {**others, **size, "show": "groups", "benchmark": block.rows[0].fingerprint}
