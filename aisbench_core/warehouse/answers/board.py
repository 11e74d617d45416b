"""The leaderboard: runs of the same question on the same hardware and software, with honest statistics."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.model import Mode, Origin
from aisbench_core.statistics.student import T95, T95_BEYOND
from aisbench_core.warehouse.answers.boards import ASPECTS, BoardPage, BoardRow
from aisbench_core.warehouse.answers.filters import order, parameters, standings_of
from aisbench_core.warehouse.answers.group_statistics import KEYS
from aisbench_core.warehouse.answers.sorts import BOARD_SORTS
from aisbench_core.warehouse.records.rows import aware
from aisbench_core.warehouse.values import BoardQuery


def t95(count: str) -> str:
    """Student's t in SQL for the 95 % interval of so many values; null for fewer than two."""
    beyond = " + ".join(f"{term} / pow({count} - 1, {power})" for power, term in enumerate(T95_BEYOND))
    return f"(case when {count} > {len(T95) + 1} then {beyond} else list_extract({list(T95)}, {count} - 1) end)"


_OTHERS = ", ".join(
    f"min({field}) over alike <> max({field}) over alike as other_{name}" for name, field in ASPECTS.items()
)

GROUPED = f"""
    groups as (
        select *,
            sd / mean as cv,
            {t95("runs")} * sd / sqrt(runs) as margin,
            mean - coalesce(margin, 0) as low,
            mean + coalesce(margin, 0) as high,
            {_OTHERS}
        from numbers where {{shown}}
        window alike as (partition by {", ".join(name for name in KEYS if name not in ASPECTS.values())}))
"""
"""The standings called `numbers`, as far as they are `shown`, with what follows from their numbers."""

_GROUPS = GROUPED.format(shown="runs > 0 or $include_invalid")

_BENCHMARK = ("region", "rehearsal", "fingerprint", "throughput_unit", "synthetic_data")
"""Rows that are equal in these are one benchmark in one unit: only those have ranks among each other."""

_RIVALS = " and ".join(f"other.{name} = page.{name}" for name in _BENCHMARK)


def _rank(before: str, demand: str) -> str:
    """What somebody claims of runs elsewhere neither has a rank nor takes one."""
    others = f"select count(*) from groups other where {_RIVALS} and other.origin = 'launched' and {demand}"
    return f"case when runs > 0 and origin = 'launched' then {before}({others}) end"


_RATES = frozenset({"throughput", "best", "olympic_mean", "per_node", "per_card"})
"""Sorts by numbers in the row's own unit: rows of one unit stand together, as numbers of two units have no order."""

_DIFFERING = [f"case when other_{name} then '{name}' end" for name in ASPECTS]

FIELDS = {field.name: field.name for field in fields(BoardRow)} | {
    "ci_low": "mean - margin",
    "ci_high": "mean + margin",
    "reason": "case when runs > 0 then '' else why end",
    "differs_in": f"concat_ws(';', {', '.join(_DIFFERING)})",
    # As sure as the intervals are.
    "rank_from": _rank("1 + ", "other.low > page.high"),
    "rank_to": _rank("", "other.high >= page.low"),
}


def leaderboard(cur: DuckDBPyConnection, query: BoardQuery) -> BoardPage:
    """One page of groups, sorted, with how many groups there are in all."""
    columns = ", ".join(f"{sql} as {name}" for name, sql in FIELDS.items())
    units = "throughput_unit, " if query.sort in _RATES else ""
    sorted_by = (
        f"{units}{order(query, BOARD_SORTS)}, model, framework_version, flavor, node_count, fingerprint, latest_run_id"
    )
    chosen = parameters(cur, query)
    cur.execute(
        f"""
        with numbers as (from {standings_of(cur, query)}), {_GROUPS},
        page as (
            select *, count(*) over () as total, row_number() over (order by {sorted_by}) as place
            from groups order by place limit $limit offset $offset)
        select {columns}, total from page order by place
        """,
        chosen
        | {
            "include_invalid": query.include_invalid,
            "limit": query.limit,
            "offset": query.offset,
        },
    )
    found = cur.fetchall()
    rows = tuple(_row(values[:-1]) for values in found)
    total = found[0][-1] if found else _total(cur, query)
    return BoardPage(rows, total, rehearsal=bool(chosen["rehearsal"]))


_MADE: Mapping[str, Callable[[Any], object]] = {
    "mode": Mode,
    "origin": Origin,
    "best_at": lambda at: aware(at) if at else None,
    "latest_at": lambda at: aware(at) if at else None,
}
_MAKING = tuple((index, _MADE[name]) for index, name in enumerate(FIELDS) if name in _MADE)


def _row(values: Sequence[Any]) -> BoardRow:
    cells = list(values)
    for index, made in _MAKING:
        cells[index] = made(cells[index])
    return BoardRow(*cells)


def _total(cur: DuckDBPyConnection, query: BoardQuery) -> int:
    """How many groups there are when the page lies behind the last of them."""
    return leaderboard(cur, replace(query, offset=0, limit=1)).total if query.offset else 0
