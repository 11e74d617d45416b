"""Saved views as rows."""

import json
from collections.abc import Sequence
from dataclasses import replace

from duckdb import DuckDBPyConnection

from aisbench_core.errors import Problem, SpecError
from aisbench_core.messages import Message
from aisbench_core.model import canonical_json
from aisbench_core.warehouse.records.annotations import utc
from aisbench_core.warehouse.records.rows import aware
from aisbench_core.warehouse.records.saved import SavedView, view_complaint
from aisbench_core.warehouse.store.connection import Connection
from aisbench_core.warehouse.store.lake import Lake


def of_page(cur: DuckDBPyConnection, page: str = "") -> list[SavedView]:
    """The views of a page (empty: of all), by page and name."""
    cur.execute(
        "select page, name, address, saved_by, saved_at from saved_views where ? in ('', page) order by page, name",
        [page],
    )
    return [
        SavedView(where, name, {key: tuple(values) for key, values in json.loads(address).items()}, who, aware(at))
        for where, name, address, who, at in cur.fetchall()
    ]


def save(connection: Connection | Lake, view: SavedView, *, instead: bool) -> None:
    """Keep a view. Raises SpecError on a name that cannot be, and unless `instead` on one that is taken."""
    complaint = view_complaint(view.name, view.address)
    if complaint:
        raise SpecError(Message("the view"), [Problem("name", complaint, repr(view.name)[:80])])
    connection.write(lambda cur: _save(cur, view, instead))


def rename(connection: Connection | Lake, page: str, name: str, new: str) -> None:
    """Give a view another name. Raises SpecError when there is none of that name, or the new one cannot be."""
    complaint = view_complaint(new, {})
    if complaint:
        raise SpecError(Message("the view"), [Problem("name", complaint, repr(new)[:80])])
    connection.write(lambda cur: _rename(cur, page, name, new))


def delete(connection: Connection | Lake, page: str, name: str) -> bool:
    """Forget a view; says whether there was one."""

    def forget(cur: DuckDBPyConnection) -> bool:
        there = _find(cur, page, name) is not None
        cur.execute("delete from saved_views where page = ? and name = ?", [page, name])
        return there

    return connection.write(forget)


def copy(source: Connection | Lake, target: Connection | Lake) -> None:
    """Every view of the source, unless the target has a newer one of that name."""
    with source.cursor() as cur:
        views = of_page(cur)
    if views:
        target.write(lambda cur: _save_newer(cur, views))


def _save_newer(cur: DuckDBPyConnection, views: Sequence[SavedView]) -> None:
    for view in views:
        there = _find(cur, view.page, view.name)
        if there is None or there.saved_at < view.saved_at:
            _save(cur, view, instead=True)


def _save(cur: DuckDBPyConnection, view: SavedView, instead: bool) -> None:
    there = _find(cur, view.page, view.name)
    if there and not instead:
        problem = Problem("name", Message("is taken: saved by {saved_by}", saved_by=there.saved_by), repr(view.name))
        raise SpecError(Message("the view"), [problem], Message("choose another name, or replace it"))
    cur.execute("delete from saved_views where page = ? and name = ?", [view.page, view.name])
    values = [view.page, view.name, canonical_json(view.address), view.saved_by, utc(view.saved_at)]
    cur.execute("insert into saved_views values (?, ?, ?, ?, ?)", values)


def _rename(cur: DuckDBPyConnection, page: str, name: str, new: str) -> None:
    view = _find(cur, page, name)
    if view is None:
        raise SpecError(Message("the view"), [Problem("name", Message("is not there any more"), repr(name))])
    if new != name:
        _save(cur, replace(view, name=new), instead=False)
        cur.execute("delete from saved_views where page = ? and name = ?", [page, name])


def _find(cur: DuckDBPyConnection, page: str, name: str) -> SavedView | None:
    return next((each for each in of_page(cur, page) if each.name == name), None)
