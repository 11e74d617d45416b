"""The leaderboard by benchmark: a block for each, its best configurations first, beside them what has changed."""

from collections.abc import Mapping, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from aisbench_core.formats import MISSING, clipped, nodes_and_cards, signed
from aisbench_core.model import Origin
from aisbench_core.rulesets.ruleset import DEFAULT
from aisbench_core.warehouse.answers.boards import BenchmarkBoard, BoardRow
from aisbench_core.warehouse.answers.compared import ComparedBy, RunDot
from aisbench_core.warehouse.answers.histories import Outcome, TrendVerdict
from aisbench_core.warehouse.values import BoardQuery, RegionFacts
from pages._ui.home.changes import BADGES
from pages._ui.leaderboard import block_columns
from pages._ui.leaderboard.block_columns import framework_of
from pages._ui.leaderboard.board import show_bars, show_links
from pages._ui.runs.validity import name_of, ruleset_of, show_rules
from pages._ui.shell import url
from pages._ui.shell.core import cached, core
from pages._ui.shell.errors import plain
from pages._ui.shell.filters import region_key
from pages._ui.shell.formats import whole_name
from pages._ui.shell.listing import page_of, show_pages
from pages._ui.shell.navigation import HISTORY, LEADERBOARD, link
from pages._ui.shell.row_keys import openable
from pages._ui.shell.tables import height_of
from pages._ui.shell.words import t

# What one page shows: every table is a canvas of its own in the browser, and many of them make it slow.
BLOCKS, MOST = 6, 10
CHANGES = 3  # links to changed trends below a block; History has all


Badges = Sequence[tuple[BenchmarkBoard, DeltaGenerator]]
"""Benchmarks, each with the place of its verdicts."""


def show_blocks(query: BoardQuery, names: Sequence[str]) -> tuple[bool, Badges]:
    """One page of benchmarks: whether a row is ticked, and where `show_badges` puts each one's verdicts.

    `names` are those of the columns to show. Ticked rows of all of them are compared as groups."""
    page = page_of(core().warehouse.benchmarks, query, MOST)
    if not page.rows:
        st.info(t("board.no_match"), icon=":material/search:")
        return False, ()
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
    badges, ticked = [], []
    for block in page.rows:
        distinction = parameters.get(block.rows[0].fingerprint, "")
        st.markdown(benchmark_title(block, parameters), help=whole_name(distinction, 80))
        ticked += _show_table(block, newest, names)
        badges.append(st.container(horizontal=True, vertical_alignment="center", gap="small"))
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
    return bool(ticked), tuple(zip(page.rows, badges, strict=True))


def show_badges(badges: Badges, query: BoardQuery, region: RegionFacts) -> None:
    """What changed in each benchmark; the page calls it last, as the first visitor of a large region waits for it."""
    if not badges or query.origin is Origin.IMPORTED:
        return
    # Of all trends, filtered afterwards: how large a change has to be follows from how many trends are tested.
    tested = BoardQuery(region.region, rehearsal=region.rehearsal, ruleset_id=query.ruleset_id)
    trends = [found for found in cached(core().warehouse.regressions, tested).groups if _is_listed(found, query)]
    for block, container in badges:
        with container:
            _show_changes(block, trends, query, region)


def _is_listed(found: TrendVerdict, query: BoardQuery) -> bool:
    """Whether the page's filters leave rows of this trend, which spans versions."""
    trend = found.row.group
    hardware = not query.flavors or trend.flavor in query.flavors
    return hardware and (not query.node_counts or trend.node_count in query.node_counts)


def benchmark_title(block: BenchmarkBoard, parameters: Mapping[str, str]) -> str:
    """The benchmark in one line of Markdown, with the unit of its numbers."""
    best = block.rows[0]
    data = t("board.synthetic") if best.synthetic_data else best.dataset
    named = (
        best.model or best.workload,
        data,
        framework_of(block.rows),
        clipped(parameters.get(best.fingerprint, ""), 80),
    )
    return f"**{plain(' · '.join(filter(None, named)))}** · {plain(t.unit(best.throughput_unit))}"


def _all_of(block: BenchmarkBoard) -> dict[str, str | Sequence[str]]:
    others = {key: value for key, value in url.parameters().items() if key != "page"}
    return {**others, "show": "groups", "benchmark": block.rows[0].fingerprint}


def _show_table(block: BenchmarkBoard, newest: Mapping[str, Sequence[RunDot]], names: Sequence[str]) -> list[BoardRow]:
    """The table with the named columns; returns the ticked rows."""
    best, rows = block.rows[0], block.rows
    table, config = block_columns.titled(block_columns.block_cells(rows, newest), names)
    key = f"block-{best.fingerprint}-{best.throughput_unit}-{best.synthetic_data}"
    with openable(key):
        event = st.dataframe(
            table,
            hide_index=True,
            alt=f"{t('board.table')}: {best.model}",
            key=key,
            on_select="rerun",
            height=height_of(table, MOST),
            column_config=config,
            placeholder=MISSING,
        )
    return [rows[index] for index in event["selection"]["rows"] if index < len(rows)]


def _show_changes(
    block: BenchmarkBoard, trends: Sequence[TrendVerdict], query: BoardQuery, region: RegionFacts
) -> None:
    """A badge for each outcome of the benchmark's trends that is news, and links to the trends."""
    best = block.rows[0]
    key = (best.fingerprint, best.throughput_unit, best.synthetic_data)
    changed = [
        found
        for found in trends
        if (trend := found.row.group).origin is Origin.LAUNCHED
        and (trend.fingerprint, trend.throughput_unit, trend.synthetic_data) == key
        and found.verdict.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT)
    ]
    ruleset = name_of(ruleset_of(query.ruleset_id), query.ruleset_id) if query.ruleset_id else t("validity.as_stored")
    for found in changed[:CHANGES]:
        trend, metric, outcome = found.row.group, found.verdict.decisive, found.verdict.outcome
        colour, icon = BADGES[outcome]
        change = signed(metric.difference.change, 1) if metric and metric.difference else ""
        label = f"{t(f'outcome.{outcome.name.lower()}')} {change}"
        st.badge(label, color=colour, icon=icon, help=plain(t("board.badge_help", ruleset=ruleset)))
        size = nodes_and_cards(trend.node_count, trend.cards_per_node)
        label = plain(f"{trend.flavor or trend.pool_id} · {size}")
        link(HISTORY, label, {"region": region_key(region), "group": trend.id})
    if len(changed) > CHANGES:
        st.caption(t("board.more_changes", count=len(changed) - CHANGES))
