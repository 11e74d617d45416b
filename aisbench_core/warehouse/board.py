"""The leaderboard: runs of the same question on the same hardware and software, with honest statistics."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.model import Mode, Origin
from aisbench_core.warehouse.filters import order, parameters, standings_of
from aisbench_core.warehouse.rows import aware
from aisbench_core.warehouse.sorts import BOARD_SORTS
from aisbench_core.warehouse.values import BoardPage, BoardQuery, BoardRow

T95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Student's t for a two-sided 95 % interval, for 1 to 30 degrees of freedom."""

T95_BEYOND = (1.959964, 2.372271, 2.822498, 2.555851)
"""Beyond 30: the first terms of its series in 1 / degrees of freedom (Abramowitz and Stegun, 26.7.5), right to 2e-6."""


def t95(count: str) -> str:
    """Student's t in SQL for the 95 % interval of so many values; null for fewer than two."""
    beyond = " + ".join(f"{term} / pow({count} - 1, {power})" for power, term in enumerate(T95_BEYOND))
    return f"(case when {count} > {len(T95) + 1} then {beyond} else list_extract({list(T95)}, {count} - 1) end)"


GROUPED = f"""
    groups as (
        select *,
            sd / mean as cv,
            {t95("runs")} * sd / sqrt(runs) as margin,
            mean - coalesce(margin, 0) as low,
            mean + coalesce(margin, 0) as high
        from numbers where {{shown}})
"""  # noqa: S608 (our own words)
"""The standings called `numbers`, as far as they are `shown`, with what follows from their numbers."""

_GROUPS = GROUPED.format(shown="runs > 0 or $include_invalid")

FIELDS = {field.name: field.name for field in fields(BoardRow)} | {
    "ci_low": "mean - margin",
    "ci_high": "mean + margin",
    "reason": "case when runs > 0 then '' else why end",
    # A place is only given among rows that answer the same question, and only as sure as the intervals are.
    "rank_from": """case when runs > 0 then 1 + (select count(*) from groups other
        where other.region = page.region and other.rehearsal = page.rehearsal
        and other.fingerprint = page.fingerprint and other.synthetic_data = page.synthetic_data
        and other.low > page.high) end""",
    "rank_to": """case when runs > 0 then (select count(*) from groups other
        where other.region = page.region and other.rehearsal = page.rehearsal
        and other.fingerprint = page.fingerprint and other.synthetic_data = page.synthetic_data
        and other.high >= page.low) end""",
}


def leaderboard(cur: DuckDBPyConnection, query: BoardQuery) -> BoardPage:
    """One page of groups, sorted, with how many groups there are in all."""
    columns = ", ".join(f"{sql} as {name}" for name, sql in FIELDS.items())
    sorted_by = f"{order(query, BOARD_SORTS)}, model, framework_version, flavor, node_count, fingerprint, latest_run_id"
    chosen = parameters(cur, query)
    cur.execute(
        f"""
        with numbers as (from {standings_of(cur, query)}), {_GROUPS},
        page as (
            select *, count(*) over () as total, row_number() over (order by {sorted_by}) as place
            from groups order by place limit $limit offset $offset)
        select {columns}, total from page order by place
        """,  # noqa: S608 (the sort is one of BOARD_SORTS)
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
