"""The leaderboard: groups of runs with equal configuration, hardware and software, and their statistics."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.domain.statistics.student import T95, T95_BEYOND
from aisbench_core.domain.statistics.summary import MAX_EXPONENT
from aisbench_core.model import Mode, Origin
from aisbench_core.model.columns import CURRENCY, GROUP_KEYS, KNOWN, UNIT, list_medians
from aisbench_core.model.columns.statistics import IS_LOWER_BETTER, STATISTICS
from aisbench_core.warehouse.measures.sorts import BOARD_SORTS
from aisbench_core.warehouse.queries.filters import build_order_sql, build_parameters, statistics_of
from aisbench_core.warehouse.queries.group_statistics import homes_of, with_early_failures
from aisbench_core.warehouse.tables.times import to_aware
from aisbench_core.warehouse.values.boards import ASPECTS, BenchmarkBoard, BenchmarkPage, BoardPage, BoardRow
from aisbench_core.warehouse.values.conditions import require_parameter_name
from aisbench_core.warehouse.values.runs import BoardQuery


def build_t95_sql(count: str) -> str:
    """Student's t in SQL for the 95 % interval of so many values; null for fewer than two."""
    beyond = " + ".join(f"{term} / pow({count} - 1, {power})" for power, term in enumerate(T95_BEYOND))
    return f"(case when {count} > {len(T95) + 1} then {beyond} else list_extract({list(T95)}, {count} - 1) end)"


def mean_interval_sql(mean: str, sd: str, count: str) -> tuple[str, str]:
    """SQL of the ends of a mean's 95 % interval, null for fewer than two values: `statistics.summary.mean_interval`."""
    margin = f"({build_t95_sql(count)} * {sd} / sqrt({count}))"
    factor = f"exp(least({margin} / {mean}, {MAX_EXPONENT}))"
    return (
        f"case when {count} < 2 then null when {mean} > 0 then {mean} / {factor} else {mean} - {margin} end",
        f"case when {count} < 2 then null when {mean} > 0 then {mean} * {factor} else {mean} + {margin} end",
    )


def derived_sql(mean: str, sd: str, count: str, known: str) -> dict[str, str]:
    """SQL of the statistics that follow from others; the interval only of runs that are `known` to be repeats."""
    low, high = mean_interval_sql(mean, sd, count)
    interval = {"ci_low": f"case when {known} then {low} end", "ci_high": f"case when {known} then {high} end"}
    return {"cv": f"{sd} / {mean}", **interval}


_DERIVED = ", ".join(f"{sql} as {name}" for name, sql in derived_sql("mean", "sd", "runs", KNOWN).items())

_DIFFERENCES = ", ".join(
    f"min({field}) over alike <> max({field}) over alike as other_{name}" for name, field in ASPECTS.items()
)

# The statistics in the relation `numbers`, as far as they are `shown`, with what follows from them.
_GROUPED = f"""
    homes as ({{homes}}),
    groups as (
        select *,
            {_DERIVED},
            {IS_LOWER_BETTER} as is_lower_better,
            coalesce(ci_low, mean){{ranked_per}} as low,
            coalesce(ci_high, mean){{ranked_per}} as high,
            {_DIFFERENCES}
        from ({{counted}}) where {{shown}}
        window alike as (partition by {", ".join(name for name in GROUP_KEYS if name not in ASPECTS.values())}))
"""


def build_groups_sql(shown: str, within: str = "", ranked_per: str = "") -> str:
    """SQL of the relation `groups`, made of `numbers`. `within`: a column that splits groups into several rows;
    `ranked_per`: a factor for the interval that ranks follow from."""
    return _GROUPED.format(
        shown=shown,
        homes=homes_of("numbers", within),
        counted=with_early_failures("numbers", within),
        ranked_per=ranked_per,
    )


_SHOWN = "runs > 0 or $include_invalid"
_GROUPS = build_groups_sql(_SHOWN)
# All runs of a group are on as many cards: one factor leads from its throughput to that of a card.
_GROUPS_PER_CARD = build_groups_sql(_SHOWN, ranked_per=" * per_card / throughput")

# Rows that are equal in these are of one benchmark in one unit by one definition, and ranked among each other.
_BENCHMARK = (
    "region", "rehearsal", "fingerprint", "throughput_definition", "throughput_unit", "synthetic_data",
    "dataset_sha256",
)  # fmt: skip

_SAME_BENCHMARK = " and ".join(f"other.{name} = page.{name}" for name in _BENCHMARK)


def _build_rank(condition: str) -> str:
    """How many rows fulfil a condition. Imported runs, which nobody verified, neither have a rank nor take one; nor do
    rows of which something that decides speed is not known."""
    is_ranked = _build_ranked_condition("other.")
    rivals = f"select count(*) from groups other where {_SAME_BENCHMARK} and {is_ranked} and {condition}"
    return f"case when {_build_ranked_condition('')} then ({rivals}) end"


def _build_ranked_condition(row: str) -> str:
    return f"{row}runs > 0 and {row}origin = 'launched' and {row}{KNOWN} and {row}low is not null"


# Rows whose runs reached their target, or have none, come before those with a run that missed it: fast is what learns.
_BETTER = """(case when (other.missed > 0) <> (page.missed > 0) then page.missed > 0
    when page.is_lower_better then other.high < page.low else other.low > page.high end)"""
_AT_LEAST_EQUAL = """(case when (other.missed > 0) <> (page.missed > 0) then page.missed > 0
    when page.is_lower_better then other.low <= page.high else other.high >= page.low end)"""

# Sorts by numbers in the row's own unit. Rows are sorted by unit first: numbers of two units have no order.
_RATES = frozenset(statistic.name for statistic in STATISTICS if statistic.is_sortable and statistic.unit == UNIT)

_BY_MERIT = {name: f"(case when is_lower_better then -{name} else {name} end)" for name in _RATES}

# The same of currencies.
_AMOUNTS = frozenset(column.name for column in list_medians() if column.unit == CURRENCY)

# Sorts by what a result is worth: one that missed its target is worth less than any that reached it.
_MERITS = _RATES | {column.name for column in list_medians()}

_DIFFERING = [f"case when other_{name} then '{name}' end" for name in ASPECTS]

FIELDS = {field.name: field.name for field in fields(BoardRow)} | {
    "reason": "case when runs > 0 then '' else why end",
    "differs_in": f"concat_ws(';', {', '.join(_DIFFERING)})",
    # Rows whose confidence intervals overlap may be in either order, so that each has a range of ranks.
    "rank_from": "1 + " + _build_rank(_BETTER),
    "rank_to": _build_rank(_AT_LEAST_EQUAL),
}


# All runs of a group have the same parameters, as far as these decide speed.
_GROUPED_BY = """groups left join (
    select group_id, json_extract_string(any_value(speed_parameters), $speed_path) as speed
    from runs group by group_id) using (group_id)"""


def fetch_leaderboard(cur: DuckDBPyConnection, query: BoardQuery) -> BoardPage:
    """One page of groups, sorted, with how many groups there are in all. Raises ValueError if the sort is not in
    BOARD_SORTS."""
    columns = ", ".join(f"{sql} as {name}" for name, sql in FIELDS.items())
    units = "throughput_unit, " if query.sort in _RATES else "currency nulls last, " if query.sort in _AMOUNTS else ""
    first = f"{units}{'missed > 0, ' if query.sort in _MERITS else ''}{build_order_sql(query, BOARD_SORTS, _BY_MERIT)}"
    sorted_by = f"{first}, model, framework_version, flavor, node_count, fingerprint, latest_run_id"
    filters = build_parameters(cur, query)
    groups = "groups"
    if query.by_parameter:
        groups, sorted_by = _GROUPED_BY, f"try_cast(speed as DOUBLE) nulls last, speed nulls last, {sorted_by}"
        filters["speed_path"] = f'$."{require_parameter_name(query.by_parameter)}"'
    # Ranks are computed for the rows of the page only: each of them is compared with all other groups.
    cur.execute(
        f"""
        with numbers as (from {statistics_of(cur, query)}), {_GROUPS},
        page as (
            select *, count(*) over () as total, row_number() over (order by {sorted_by}) as number
            from {groups} order by number limit $limit offset $offset)
        select {columns}, total from page order by number
        """,
        filters | {"include_invalid": query.include_invalid, "limit": query.limit, "offset": query.offset},
    )
    rows = cur.fetchall()
    if not rows and query.offset:  # a page behind the last one still has a total
        return replace(fetch_leaderboard(cur, replace(query, offset=0, limit=1)), rows=())
    total = rows[0][-1] if rows else 0
    return BoardPage(tuple(_to_row(values[:-1]) for values in rows), total, rehearsal=bool(filters["rehearsal"]))


# Benchmarks keep their order from day to day. Within one, configurations without a valid run are last, imported ones,
# which nobody verified, before them; of each, those with a missed target after the others.
_BENCHMARKS = f"model, workload, dataset, {', '.join(_BENCHMARK)}"
_BEST_FIRST = (
    "runs = 0, origin <> 'launched', missed > 0, case when is_lower_better then -{measure} else {measure} end "
    "desc nulls last, framework_version, flavor, latest_run_id"
)


def fetch_benchmarks(cur: DuckDBPyConnection, query: BoardQuery, most: int, *, per_card: bool = False) -> BenchmarkPage:
    """One page of benchmarks, by name, each with its best `most` configurations, ranked by their throughput.

    `per_card`: by that of a card, which compares sizes. The query's sort is ignored."""
    groups, measure = (_GROUPS_PER_CARD, "per_card") if per_card else (_GROUPS, "throughput")
    best_first = _BEST_FIRST.format(measure=measure)
    columns = ", ".join(f"{sql} as {name}" for name, sql in FIELDS.items())
    filters = build_parameters(cur, query)
    cur.execute(
        f"""
        with numbers as (from {statistics_of(cur, query)}), {groups},
        numbered as (select *, dense_rank() over (order by {_BENCHMARKS}) as benchmark from groups),
        placed as (
            select *, count(*) over same as configurations, row_number() over (same order by {best_first}) as place,
                max(benchmark) over () as total
            from numbered window same as (partition by benchmark)),
        page as (from placed where benchmark > $offset and benchmark <= $offset + $limit and place <= $most)
        select {columns}, benchmark, configurations, total from page order by benchmark, place
        """,
        filters
        | {"include_invalid": query.include_invalid, "limit": query.limit, "offset": query.offset, "most": most},
    )
    cells = cur.fetchall()
    if not cells and query.offset:  # a page behind the last one still has a total
        first = fetch_benchmarks(cur, replace(query, offset=0, limit=1), 1)
        return replace(first, rows=())
    boards = []
    for _, group in groupby(cells, key=lambda values: values[-3]):
        same = list(group)
        boards.append(BenchmarkBoard(tuple(_to_row(values[:-3]) for values in same), same[0][-2]))
    return BenchmarkPage(tuple(boards), cells[0][-1] if cells else 0, rehearsal=bool(filters["rehearsal"]))


@dataclass(frozen=True, slots=True)
class GroupedRow:
    """A row of the leaderboard with its group, and the number of its benchmark, from 1."""

    benchmark: int
    group_id: int
    row: BoardRow


def iterate_board(cur: DuckDBPyConnection, query: BoardQuery) -> Iterator[GroupedRow]:
    """Every row of the leaderboard: benchmarks by name, of each the best first. The query's sort is ignored."""
    columns = ", ".join(f"{sql} as {name}" for name, sql in FIELDS.items())
    filters = build_parameters(cur, query)
    cur.execute(
        f"""
        with numbers as (from {statistics_of(cur, query)}), {_GROUPS},
        page as (select *, dense_rank() over (order by {_BENCHMARKS}) as benchmark from groups)
        select {columns}, benchmark, group_id from page
        order by benchmark, {_BEST_FIRST.format(measure="throughput")}, group_id
        """,
        filters | {"include_invalid": query.include_invalid},
    )
    while rows := cur.fetchmany(_FETCHED):
        for *cells, benchmark, group_id in rows:
            yield GroupedRow(benchmark, group_id, _to_row(cells))


_FETCHED = 1_000

_CONVERTERS: Mapping[str, Callable[[Any], object]] = {
    "mode": Mode,
    "origin": Origin,
    "best_at": lambda at: to_aware(at) if at else None,
    "latest_at": lambda at: to_aware(at) if at else None,
    "currency": lambda currency: currency or "",
}
_CONVERTED = tuple((index, _CONVERTERS[name]) for index, name in enumerate(FIELDS) if name in _CONVERTERS)


def _to_row(values: Sequence[Any]) -> BoardRow:
    cells = list(values)
    for index, convert in _CONVERTED:
        cells[index] = convert(cells[index])
    return BoardRow(*cells)
