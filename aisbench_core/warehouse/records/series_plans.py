"""The plans of series as rows: what was to be measured, for everybody who shares the warehouse."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from duckdb import DuckDBPyConnection
from pydantic import TypeAdapter

from aisbench_core.model import Series, SeriesPlan, SeriesRow
from aisbench_core.warehouse.records.annotations import utc
from aisbench_core.warehouse.records.rows import aware
from aisbench_core.warehouse.store.connection import Connection
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.store.schema import among

_ROWS = TypeAdapter(tuple[SeriesRow, ...])
_COLUMNS = "series_id, plan, cells, profile, created_at, created_by"


def listed(cur: DuckDBPyConnection) -> list[tuple[datetime, str]]:
    """When each series was launched, and its id."""
    cur.execute("select created_at, series_id from series")
    return [(aware(at), series_id) for at, series_id in cur.fetchall()]


def of(cur: DuckDBPyConnection, series_ids: Sequence[str]) -> list[Series]:
    """These series, as far as they are here."""
    if not series_ids:
        return []
    chosen, values = among("series_id", series_ids)
    return [_series(row) for row in cur.execute(f"select {_COLUMNS} from series where {chosen}", values).fetchall()]


def starting_with(cur: DuckDBPyConnection, start: str) -> list[Series]:
    """At most two series whose ids begin so; one that is called so stands first."""
    asked = f"select {_COLUMNS} from series where starts_with(series_id, ?) order by series_id limit 2"
    return [_series(row) for row in cur.execute(asked, [start]).fetchall()]


def keep(store: Connection | Lake, series: Sequence[Series]) -> None:
    """Write plans down that are not here; a plan never changes."""
    with store.cursor() as cur:
        missing = _missing(cur, series)
    if missing:
        store.write(lambda cur: _insert(cur, _missing(cur, missing)))


def copy(source: Connection | Lake, target: Connection | Lake) -> None:
    """Every plan of the source that the target does not hold."""
    with source.cursor() as cur:
        found = of(cur, [series_id for _, series_id in listed(cur)])
    keep(target, found)


def _missing(cur: DuckDBPyConnection, series: Sequence[Series]) -> list[Series]:
    known = {each.series_id for each in of(cur, [each.series_id for each in series])}
    return [each for each in series if each.series_id not in known]


def _insert(cur: DuckDBPyConnection, series: Sequence[Series]) -> None:
    for each in series:
        plan, cells = each.plan.model_dump_json(), _ROWS.dump_json(each.rows).decode()
        values = [each.series_id, plan, cells, each.profile, utc(each.created_at), each.created_by]
        cur.execute(f"insert into series ({_COLUMNS}) values (?, ?, ?, ?, ?, ?)", values)


def _series(row: Sequence[Any]) -> Series:
    series_id, plan, cells, profile, at, who = row
    asked = SeriesPlan.model_validate(json.loads(plan))
    return Series(series_id, asked, _ROWS.validate_json(cells), profile, aware(at), who, asked.budget)
