"""The comparison's other parts: which runs, what differs, and, folded, cards, validity and scaling."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import streamlit as st

from aisbench_core.base.formats import format_number, format_percent, nodes_and_cards, shorten_hash
from aisbench_core.model import Origin
from aisbench_core.warehouse.values.compared import MAX_COMPARED, ComparedBy, Comparison, FieldValues
from aisbench_core.warehouse.values.histories import Trend
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow
from aisbench_core.warehouse.values.scalings import Scaling
from pages._ui.compare.groups import group_by_axis
from pages._ui.compare.many import MANY
from pages._ui.compare.names import names_of
from pages._ui.compare.room import keep_room_of_widget
from pages._ui.configure.clones import show_clone_button
from pages._ui.grid.table import show_grid
from pages._ui.grid.values import GridCell, GridColumn, GridRow
from pages._ui.runs.ranks import show_ranks
from pages._ui.runs.servers import show_servers
from pages._ui.runs.validity import show_verdicts
from pages._ui.scaling import curve_charts
from pages._ui.scaling.choice import curve_names, selection_of
from pages._ui.shell import charts, url
from pages._ui.shell.core import core, is_allowed, run_cached
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.filters import region_key
from pages._ui.shell.formats import format_time
from pages._ui.shell.navigation import CONFIGURE, HISTORY, LEADERBOARD, SCALING, link_main_page, link_page
from pages._ui.shell.spec_fields import field_name, field_text
from pages._ui.shell.tables import fits_page, show_table, show_wrapped, text_width
from pages._ui.shell.words import t

BY = "by"  # name of the URL's parameter

# Pixels of the field for runs in a window of 1280: a line, its height, the label with the frame, the edges of a title.
PICKER, LINE, LABEL, TAG = 904, 33, 35, 30
SWITCH = 24

FEW_FIELDS = 5  # so many that differ are shown without a click
RECENT = 50  # how many recorded runs of each region the picker offers


def choose_runs() -> list[str]:
    """The runs to compare, the baseline first."""
    named = tuple(dict.fromkeys(st.query_params.get_all("ids")))
    recorded = run_cached(core().warehouse.runs.select_recorded, named) if named else frozenset()
    known = [run_id for run_id in named if run_id in recorded]
    chosen = {run_id: run_cached(core().warehouse.runs.find_row, run_id) for run_id in known[:MAX_COMPARED]}
    rows = _list_recent_runs() | {run_id: row for run_id, row in chosen.items() if row}
    options = list(dict.fromkeys([*known, *rows]))
    if left_out := len(known) - len(chosen):
        st.info(t("compare.too_many", most=MAX_COMPARED, count=left_out), icon=":material/info:")
    keep_room_of_widget("ids", _height_of_picker([_run_title(row) for row in chosen.values() if row]))
    # As many lines as many runs have would push the table out of view.
    is_folded = len(chosen) >= MANY
    with st.popover(t("compare.runs_of", count=len(chosen)), width=700) if is_folded else st.container():
        return url.choose_options(
            "ids",
            t("compare.runs"),
            options,
            lambda run_id: _run_title(rows[run_id]) if run_id in rows else run_id,
            most=MAX_COMPARED,
            help=t("compare.runs_help"),
            placeholder=t("compare.pick"),
        )


def _height_of_picker(titles: Sequence[str]) -> int:
    """As many lines as these titles take in a window of 1280 pixels."""
    lines, left = 1, 0
    for title in titles:
        width = text_width(title) + TAG
        lines, left = (lines, left - width) if width <= left else (lines + bool(left), PICKER - width)
    return LABEL + LINE * lines


def show_hint() -> None:
    """What to do where too few runs are chosen."""
    has_runs = bool(run_cached(core().warehouse.facets.list_regions))
    st.info(t("compare.too_few" if has_runs else "board.empty"), icon=":material/balance:")
    if has_runs:
        link_main_page(LEADERBOARD, t("menu.leaderboard"), {})
    elif is_allowed("Runs.launch"):
        link_main_page(CONFIGURE, t("menu.configure"), {})


def _list_recent_runs() -> dict[str, RunRow]:
    latest = BoardQuery("", include_invalid=True, sort="created_at", limit=RECENT)
    queries = [
        replace(latest, region=region.region, rehearsal=region.rehearsal)
        for region in run_cached(core().warehouse.facets.list_regions)
    ]
    return {row.run_id: row for query in queries for row in run_cached(core().warehouse.runs.list_rows, query).rows}


def _run_title(row: RunRow) -> str:
    """Two of them beside each other in a window of 1280 pixels. Ids of launched runs begin with their time."""
    size = nodes_and_cards(row.node_count, row.cards_per_node)
    is_imported = row.origin is Origin.IMPORTED
    origin = (t("origin.imported"), format_time(row.created_at, "%m-%d %H:%M")) if is_imported else ()
    return " · ".join(filter(None, (row.run_id, row.model, row.framework_version, size, *origin)))


def read_compared() -> ComparedBy:
    """The runs themselves, or the rows of the leaderboard that they belong to: the field stands below the verdict."""
    named = st.query_params.get(BY)
    return ComparedBy(named) if named in list(ComparedBy) else ComparedBy.RUNS


def choose_compared() -> None:
    """The field for what `read_compared` reads."""
    url.choose_option(
        st.radio,
        BY,
        t("compare.by"),
        ComparedBy,
        lambda by: t(f"compare.by_{by}"),
        horizontal=True,
        label_visibility="collapsed",
        help=t("compare.by_help"),
    )


def show_clones(runs: tuple[RunRow, ...]) -> None:
    if not is_allowed("Runs.launch"):
        return
    with st.popover(t("clone.button"), icon=":material/content_copy:"):
        for run in runs:
            show_clone_button(run.run_id, key=run.run_id, label=escape_markdown(run.run_id))


def show_differences(comparison: Comparison) -> None:
    """The fields of the configuration that differ, those that decide speed first; at a click the equal ones, too."""
    keep_room_of_widget("all", SWITCH)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(t("compare.differences"), width="content")
        every = url.input_switch("all", t("compare.all_fields", count=len(comparison.same)))
    if not comparison.differences:
        st.markdown(t("compare.no_differences"))
    if every:
        rows = [_to_row(comparison, field, "≠") for field in comparison.differences]
        rows += [_to_row(comparison, field, "=") for field in comparison.same]
        titles = {"field": t("compare.field"), "mark": "≠", **names_of(comparison)}
        _show_fields(rows, titles, t("compare.every_field"))
    elif comparison.differences:
        _show_few_fields(comparison)


def _show_few_fields(comparison: Comparison) -> None:
    """What differs, in lines of one height; of many fields those that do not decide are folded."""
    deciding, titles = comparison.deciding, {"field": t("compare.field"), **names_of(comparison)}
    fields = [*deciding, *(field for field in comparison.differences if field not in deciding)]
    count = len(fields) if len(fields) <= FEW_FIELDS else min(len(deciding), FEW_FIELDS) or FEW_FIELDS
    _show_fields([_to_row(comparison, field) for field in fields[:count]], titles, t("compare.differences"))
    if count < len(fields):
        label = t("compare.more_differences", count=len(fields) - count)
        with st.expander(label, icon=":material/difference:"):
            show_wrapped([_to_row(comparison, field) for field in fields[count:]], titles, label)


def _show_fields(rows: Sequence[Mapping[str, str]], titles: Mapping[str, str], name: str) -> None:
    """Lines of one height where everything fits; what is too wide for the page is wrapped."""
    short = _shorten_hashes(rows)
    if not fits_page(short, titles):
        show_wrapped(rows, titles, name)
        return
    cells = [
        GridRow(row["field"], row["field"], {key: GridCell(one[key], title=row[key]) for key in titles})
        for row, one in zip(rows, short, strict=True)
    ]
    show_grid([GridColumn(key, title) for key, title in titles.items()], cells, name, key="fields")


def _shorten_hashes(rows: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    return [{key: shorten_hash(text) for key, text in row.items()} for row in rows]


def _to_row(comparison: Comparison, field: FieldValues, mark: str = "") -> dict[str, str]:
    """The field, and its value of each run by the run's id."""
    values = zip(comparison.runs, field.values, strict=True)
    return {"field": field_name(field.field), "mark": mark} | {run.run_id: field_text(value) for run, value in values}


def show_captured(comparison: Comparison) -> None:
    """What differs between the runs' nodes, as captured in their jobs, folded; a run's page has whole hashes."""
    if comparison.captured:
        label, titles = (
            t("passport.compared", count=len(comparison.captured)),
            {"field": t("compare.field"), **names_of(comparison)},
        )
        with st.expander(label, icon=":material/badge:"):
            show_wrapped(_shorten_hashes(_to_row(comparison, field) for field in comparison.captured), titles, label)


def show_cards(comparison: Comparison) -> None:
    """The throughput of single cards, folded: the label says where some are slow."""
    spreads = run_cached(core().warehouse.cards.fetch_spreads, tuple(run.run_id for run in comparison.runs))
    slow = sum(spread.stragglers for spread in spreads.values())
    label = t("compare.cards") + (f" · {t('compare.stragglers', count=f'{slow:,}')}" if slow else "")
    with st.expander(label, icon=":material/memory:", expanded=bool(st.query_params.get("map"))):
        show_ranks(group_by_axis(comparison), comparison.rank_results)


def show_validity(runs: tuple[RunRow, ...]) -> None:
    """The checks of each run, folded: the label says whether some do not count."""
    left_out = sum(not run.validity.counts for run in runs)
    label = t("validity.title") + (f" · {t('compare.left_out', count=left_out)}" if left_out else "")
    with st.expander(label, icon=":material/rule:"):
        show_verdicts(runs)


def show_single_servers(comparison: Comparison) -> None:
    if comparison.servers:
        with st.expander(t("servers.title"), icon=":material/dns:"):
            show_servers(comparison.servers, {run.run_id: run.throughput_unit for run in comparison.runs})


def show_scaling(run: RunRow, *, is_open: bool = False) -> None:
    """How a run's configuration scales over node counts, where it was measured on several."""
    curve = run_cached(core().warehouse.scaling.fetch_curve, run)
    if len(curve.points) < 2:
        return
    with st.expander(t("compare.scaling"), icon=":material/hub:", expanded=is_open):
        _show_curve(run, curve)


def _show_curve(run: RunRow, curve: Scaling) -> None:
    named = [(curve_names([curve])[curve.query.id], curve)]
    text = t("scaling.chart_throughput", metric=curve_charts.name_measure(curve))
    charts.draw_chart(curve_charts.draw_throughput(named, curve.largest), text=text)
    st.caption(t("scaling.legend"))
    link_page(SCALING, t("scaling.open"), selection_of(run, curve))
    if run.origin is Origin.IMPORTED:
        st.caption(t("compare.unknown", fields=t.field("parameters")))
    rows = [
        {
            "nodes": point.node_count,
            "runs": point.runs,
            "median": format_number(point.throughput),
            "speed_up": format_number(point.speed_up),
            "efficiency": format_percent(point.efficiency),
        }
        for point in curve.points
    ]
    titles = {
        "nodes": t("charts.nodes"),
        "runs": t("board.runs"),
        "median": t("board.median", unit=curve.throughput_unit),
        "speed_up": t("charts.speed_up"),
        "efficiency": t("charts.efficiency"),
    }
    show_table(rows, titles, t("compare.scaling"))


def link_history(run: RunRow) -> None:
    selection = {"region": region_key(run), "group": Trend.of(run).id}
    link_page(HISTORY, t("compare.history"), selection)
