"""The leaderboard's parts: filters, chart and tables."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import streamlit as st

from aisbench_core.base.formats import MISSING
from aisbench_core.domain.rulesets.ruleset import DEFAULT
from aisbench_core.model import Origin
from aisbench_core.warehouse.measures.sorts import BOARD_SORTS, RUN_SORTS
from aisbench_core.warehouse.values.boards import BoardRow
from aisbench_core.warehouse.values.compared import MAX_COMPARED, MIN_COMPARED, ComparedBy
from aisbench_core.warehouse.values.conditions import parse_condition
from aisbench_core.warehouse.values.runs import BoardQuery, RegionFacts, Validity
from aisbench_core.warehouse.values.trend_verdicts import TrendVerdict
from pages._ui.configure.clones import show_clone_button
from pages._ui.grid.action_bar import create_action_bar
from pages._ui.grid.column_choice import choose_columns
from pages._ui.grid.sorting import read_sorting
from pages._ui.grid.table import show_grid
from pages._ui.grid.values import GridCell, GridColumn, GridRow
from pages._ui.leaderboard import chart
from pages._ui.leaderboard.block_columns import build_list, choose_block_columns
from pages._ui.leaderboard.changes import change_text, known_changes, link_to_others
from pages._ui.leaderboard.columns import (
    GROUP_COLUMNS,
    Cells,
    find_list_title,
    list_titles,
    read_cells,
    system_text,
)
from pages._ui.leaderboard.single_runs import SINGLE_RUN_COLUMNS
from pages._ui.runs.conditions import choose_conditions
from pages._ui.runs.run_rows import choose_run_columns
from pages._ui.runs.validity import choose_ruleset, show_rules
from pages._ui.shell import charts, navigation, url
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.filters import FACETS, choose_facets, choose_ranking_metric, filter_by
from pages._ui.shell.listing import choose_sorting, choose_text, page_of, show_pages
from pages._ui.shell.navigation import COMPARE, ICONS, LEADERBOARD, RUN_COLUMNS, link_page
from pages._ui.shell.words import t

PARAMETER = "parameter"  # of the URL, and the key of its column

MAX_BARS, MAX_DOTS = 25, 40  # how many rows are drawn as bars, and how many single runs of each at most


# Parameters of the URL that filter what the leaderboard shows.
FILTERS = (*FACETS, "origin", "tag", "ruleset", "invalid", "worth", "benchmark", "metric")


def choose_view() -> str:
    """`blocks`: a table for each benchmark; `groups`: all configurations in one table; `runs`: each by itself."""
    views = {"blocks": t("board.show_blocks"), "groups": t("board.show_groups"), "runs": t("board.show_runs")}
    # A link that names an order or a size is of one list: benchmarks have their best first, always.
    default = "groups" if {"sort", "order", "size"} & set(st.query_params) else "blocks"
    return url.choose_option(
        st.selectbox,
        "show",
        t("board.show"),
        views,
        views.__getitem__,
        default=default,
        resets=["page", "sort", "order", "size"],
        width=150,
        label_visibility="collapsed",
    )


def choose_board_columns(view: str, query: BoardQuery) -> list[str]:
    """The columns that the URL names of this view's table."""
    if view == "groups":
        return choose_columns(GROUP_COLUMNS, GROUP_COLUMNS, find_list_title, navigation.GROUP_COLUMNS)
    return choose_block_columns(query) if view == "blocks" else choose_run_columns(SINGLE_RUN_COLUMNS, RUN_COLUMNS)


def choose_board_query(region: RegionFacts, view: str) -> BoardQuery:
    """The search, and behind buttons all filters and, of a list, its sort and the size of a page."""
    text = choose_text(t("listing.search"), t("board.search_in"), width=170, label_visibility="collapsed")
    with st.popover(t("board.filters"), icon=":material/filter_alt:"):
        query = replace(_choose_filters(region, view), text=text)
    if view == "blocks":
        return query
    with st.popover(t("listing.sort"), icon=":material/sort:"):
        return choose_sorting(query, *((RUN_SORTS, "created_at") if view == "runs" else (BOARD_SORTS, "throughput")))


def _choose_filters(region: RegionFacts, view: str) -> BoardQuery:
    query = choose_ranking_metric(choose_facets(region, *FACETS, stacked=True))
    tags = run_cached(core().warehouse.facets.fetch_values, region.region, region.rehearsal).tags
    origin = url.choose_option(
        st.radio,
        "origin",
        t("board.origin"),
        [None, *Origin],
        lambda origin: t(f"origin.{origin or 'every'}"),
        resets=["page"],
        horizontal=True,
    )
    # Without a tagged run there is nothing to choose, but a link may still name a tag.
    chosen = filter_by("tag", tags, t("board.tag_help")) if tags or "tag" in st.query_params else ()
    suggested = run_cached(core().warehouse.facets.suggest_conditions, region.region, region.rehearsal)
    where = choose_conditions(suggested)
    parameter = _choose_parameter(suggested) if view == "groups" else ""
    ruleset_id = choose_ruleset()
    invalid = url.input_switch("invalid", t("board.invalid"), resets=["page"], help=t("board.invalid_help"))
    query = replace(
        query,
        origin=origin,
        include_invalid=invalid,
        ruleset_id=ruleset_id,
        tags=chosen,
        where=where,
        by_parameter=parameter,
        fingerprint=st.query_params.get("benchmark", ""),
    )
    if _is_validity_choosable(view, query):
        return _choose_validity(query)
    url.note_missing("worth", [*Validity], st.query_params.get_all("worth")[-1:])
    return query


def list_filters(view: str, query: BoardQuery) -> list[str]:
    """The parameters of the URL that filter this view."""
    return [name for name in FILTERS if name != "worth" or _is_validity_choosable(view, query)]


def _is_validity_choosable(view: str, query: BoardQuery) -> bool:
    """One validity can be chosen among single runs, once those that are not valid are shown, too."""
    return view == "runs" and query.include_invalid


def _choose_validity(query: BoardQuery) -> BoardQuery:
    """Only the runs of one validity."""
    validity = url.choose_option(
        st.radio,
        "worth",
        t("board.validity"),
        [None, *Validity],
        lambda validity: t(f"validity.{validity or 'every'}"),
        resets=["page"],
        horizontal=True,
    )
    return replace(query, validity=validity)


def show_groups(query: BoardQuery, names: Collection[str]) -> bool:
    """Runs of equal configuration as one row each, the fastest first, with the columns of these names."""
    page = page_of(core().warehouse.board.list_rows, query)
    if not page.rows:
        st.info(t("board.no_match"), icon=":material/search:")
        return False
    if query.fingerprint:
        rest = {key: value for key, value in url.read_parameters().items() if key not in ("benchmark", "show", "page")}
        link_page(LEADERBOARD, t("board.all_benchmarks"), rest, icon=":material/arrow_back:")
    fingerprints = tuple(row.fingerprint for row in page.rows)
    parameters = run_cached(
        core().warehouse.board.find_distinctions, query.region, fingerprints, rehearsal=page.rehearsal
    )
    texts = [", ".join(filter(None, (parameters.get(row.fingerprint), system_text(row)))) for row in page.rows]
    changes = known_changes(query, page.rows)
    cells = [_group_cells(row, text, changes) for row, text in zip(page.rows, texts, strict=True)]
    columns, table = build_list(page.rows, cells, list_titles(cells, names, page.rows))
    if query.by_parameter:
        columns, table = _add_parameter(query.by_parameter, page.rows, columns, table)
    sorting = read_sorting(BOARD_SORTS, "throughput")
    ids = show_grid(columns, table, t("board.table"), key="groups", is_tickable=True, sorting=sorting)
    st.caption(t("board.rank_about"))
    show_pages(page.total, query.limit)
    show_rules([rule_id for row in page.rows for rule_id in row.reason.split(";")], query.ruleset_id or DEFAULT)
    link_to_others(query, page.rows)
    if url.input_switch("chart", t("board.chart")):
        show_bars(query, page.rows, parameters)
    typical = {row.latest_run_id: row.median_run_id or row.latest_run_id for row in page.rows}
    run_ids = [typical[run_id] for run_id in ids]
    show_row_actions(["groups"], run_ids)
    return bool(ids)


def _add_parameter(
    name: str, rows: Sequence[BoardRow], columns: Sequence[GridColumn], table: Sequence[GridRow]
) -> tuple[list[GridColumn], list[GridRow]]:
    """The value of the parameter that the rows are grouped by, before all others."""
    specs = run_cached(core().warehouse.runs.find_specs, tuple(row.latest_run_id for row in rows))
    values = {run_id: (stored.speed_parameters or {}).get(name) for run_id, stored in specs.items()}
    cells = [GridCell(MISSING if values.get(row.id) is None else str(values[row.id]), is_strong=True) for row in table]
    grouped = [replace(row, cells={**row.cells, PARAMETER: cell}) for row, cell in zip(table, cells, strict=True)]
    return [GridColumn(PARAMETER, name, width=160), *columns], grouped


def _choose_parameter(suggested: Sequence[str]) -> str:
    """The parameter by whose values the table is grouped; empty: none."""
    named = (parse_condition(text).parameter for text in suggested)
    names = sorted({*filter(None, named)})
    return url.choose_option(
        st.selectbox, PARAMETER, t("board.by_parameter"), ["", *names], lambda name: name or t("board.not_grouped"),
        resets=["page"],
    )  # fmt: skip


def _group_cells(row: BoardRow, parameters: str, changes: Mapping[str, TrendVerdict]) -> Cells:
    found = changes.get(row.latest_run_id)
    added = {"change": [change_text(found)] if found else []} if changes else {}
    note = {} if row.is_scattered else {"note": ""}  # that it missed its target is said by a column of its own
    return read_cells(row, GROUP_COLUMNS, {"parameters": parameters, **added, **note})


def show_bars(query: BoardQuery, rows: Sequence[BoardRow], parameters: Mapping[str, str]) -> None:
    """The first rows as bars, with their single runs as dots."""
    drawn = [row for row in rows if row.throughput is not None][:MAX_BARS]
    if not drawn:
        return
    dots = run_cached(core().warehouse.board.list_dots, query, tuple(drawn), MAX_DOTS)
    for group in _by_benchmark(drawn):
        charts.draw_chart(chart.draw_bars(group, dots, parameters), text=t("charts.board"))
    hidden = sum(row.runs - len(dots[row.latest_run_id]) for row in drawn)
    notes = [t("charts.board_legend")]
    notes += [t("charts.first_bars", bars=MAX_BARS)] if len(rows) > MAX_BARS else []
    notes += [t("charts.sampled", hidden=f"{hidden:,}", most=MAX_DOTS)] if hidden else []
    st.caption(" ".join(notes))


def _by_benchmark(rows: Sequence[BoardRow]) -> Collection[list[BoardRow]]:
    """The rows of each benchmark, in their order: two benchmarks do not share an axis."""
    groups: dict[tuple[object, ...], list[BoardRow]] = {}
    for row in rows:
        benchmark = (
            row.fingerprint, row.throughput_definition, row.throughput_unit, row.synthetic_data, row.dataset_sha256,
        )  # fmt: skip
        groups.setdefault(benchmark, []).append(row)
    return groups.values()


def show_row_actions(keys: Sequence[str], run_ids: Sequence[str]) -> None:
    """What can be done with the ticked rows of these tables: several are compared, groups as groups."""
    if not run_ids:
        return
    with create_action_bar(keys, len(run_ids)):
        if MIN_COMPARED <= len(run_ids) <= MAX_COMPARED:
            link_page(COMPARE, t("run_actions.compare"), {"ids": list(run_ids), "by": ComparedBy.ROWS.value})
        else:
            hint, icon = t("board.compare_hint"), ICONS[COMPARE]
            st.button(t("run_actions.compare"), key="compare-ticked", disabled=True, help=hint, icon=icon)
        if len(run_ids) == 1:
            show_clone_button(run_ids[0], key="ticked")
