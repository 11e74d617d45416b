"""The plans of series, for everybody who shares the warehouse."""

from collections.abc import Sequence
from datetime import datetime

from duckdb import DuckDBPyConnection
from pydantic import TypeAdapter

from aisbench_core.model import Series, SeriesPlan, SeriesRow
from aisbench_core.warehouse.tables.schema import build_in_condition
from aisbench_core.warehouse.tables.store import Store
from aisbench_core.warehouse.tables.times import to_aware, to_naive_utc

_ROWS = TypeAdapter(tuple[SeriesRow, ...])
_COLUMNS = "series_id, plan, cells, profile, created_at, created_by"


def list_plans(cur: DuckDBPyConnection) -> list[tuple[datetime, str]]:
    """When each series was launched, and its id."""
    cur.execute("select created_at, series_id from series")
    return [(to_aware(at), series_id) for at, series_id in cur.fetchall()]


def get_plans(cur: DuckDBPyConnection, series_ids: Sequence[str]) -> list[Series]:
    """Those of the series that are stored."""
    if not series_ids:
        return []
    condition, parameters = build_in_condition("series_id", series_ids)
    return _select_plans(cur, f"where {condition}", parameters)


def starting_with(cur: DuckDBPyConnection, start: str) -> list[Series]:
    """At most two series whose ids have this prefix; one whose id it is comes first."""
    return _select_plans(cur, "where starts_with(series_id, ?) order by series_id limit 2", [start])


def keep(store: Store, series: Sequence[Series]) -> None:
    """Store the plans that are not stored yet; a plan never changes, but trials of a search get their values later."""
    with store.cursor() as cur:
        missing = _find_missing(cur, series)
    if missing:
        store.write(lambda cur: _insert_plans(cur, _find_missing(cur, missing)))


def copy(source: Store, target: Store) -> None:
    """Copy every plan that the target does not have."""
    with source.cursor() as cur:
        series = _select_plans(cur, "", [])
    keep(target, series)


def _find_missing(cur: DuckDBPyConnection, series: Sequence[Series]) -> list[Series]:
    stored = {plan.series_id: plan.rows for plan in get_plans(cur, [one.series_id for one in series])}
    return [
        one for one in series if one.series_id not in stored or (one.plan.search and one.rows != stored[one.series_id])
    ]


def _insert_plans(cur: DuckDBPyConnection, series: Sequence[Series]) -> None:
    for one in series:
        plan, cells = one.plan.model_dump_json(), _ROWS.dump_json(one.rows).decode()
        cur.execute("delete from series where series_id = ?", [one.series_id])
        values = [one.series_id, plan, cells, one.profile, to_naive_utc(one.created_at), one.created_by]
        cur.execute(f"insert into series ({_COLUMNS}) values (?, ?, ?, ?, ?, ?)", values)


def _select_plans(cur: DuckDBPyConnection, condition: str, parameters: list[object]) -> list[Series]:
    cur.execute(f"select {_COLUMNS} from series {condition}", parameters)
    return [
        Series(series_id, plan, _ROWS.validate_json(cells), profile, to_aware(at), created_by, plan.budget)
        for series_id, text, cells, profile, at, created_by in cur.fetchall()
        for plan in [SeriesPlan.model_validate_json(text)]
    ]
