"""The table of saved views."""

import json
from dataclasses import replace

from duckdb import DuckDBPyConnection

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.domain.access import permitted_for
from aisbench_core.domain.access.changes import log_change, note_values
from aisbench_core.model import Actor, canonical_json
from aisbench_core.warehouse.tables.store import Store
from aisbench_core.warehouse.tables.times import to_aware, to_naive_utc
from aisbench_core.warehouse.values.saved import Address, SavedView, view_error


def _saved_by(self: "SavedViews", page: str, name: str, **_: object) -> str | None:
    return next((view.saved_by for view in self.on(page) if view.name == name), None)


class SavedViews:
    """The saved views of one warehouse; every method raises WarehouseError, as the warehouse's own do."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def on(self, page: str = "") -> list[SavedView]:
        """The views of a page (empty: of all), by page and name."""
        with self._store.cursor() as cur:
            return select(cur, page)

    @permitted_for(lambda self, view, **_: _saved_by(self, view.page, view.name))
    def save(self, view: SavedView, actor: Actor, *, overwrite: bool = False) -> None:
        """Save a view. Raises SpecError if its name is invalid, or taken and `overwrite` is not set."""
        log_change(actor, f"save view {view.name!r} of {view.page}")
        _check_view(view.name, view.address)
        self._store.write(lambda cur: _save_view(cur, view, overwrite=overwrite))

    @permitted_for(_saved_by)
    def rename(self, page: str, name: str, new: str, actor: Actor) -> None:
        """Rename a view. Raises SpecError if there is none of that name, or the new one is invalid or taken."""
        log_change(actor, f"rename view {name!r} of {page} to {new!r}")
        note_values(name, new)
        _check_view(new, {})

        def work(cur: DuckDBPyConnection) -> None:
            view = _find_view(cur, page, name)
            if view is None:
                raise SpecError(Message("the view"), [Problem("name", Message("is not there any more"), repr(name))])
            if new != name:
                _save_view(cur, replace(view, name=new), overwrite=False)
                _delete_view(cur, page, name)

        self._store.write(work)

    @permitted_for(_saved_by)
    def delete(self, page: str, name: str, actor: Actor) -> bool:
        """Delete a view; says whether there was one."""
        log_change(actor, f"delete view {name!r} of {page}")
        return self._store.write(lambda cur: _delete_view(cur, page, name))


def select(cur: DuckDBPyConnection, page: str = "") -> list[SavedView]:
    """The views of a page (empty: of all), by page and name."""
    cur.execute("select * from saved_views where ? in ('', page) order by page, name", [page])
    return [
        SavedView(page, name, {key: tuple(values) for key, values in json.loads(address).items()}, who, to_aware(at))
        for page, name, address, who, at in cur.fetchall()
    ]


def copy(source: Store, target: Store) -> None:
    """Copy every view of which the target has none of that name, or an older one."""
    with source.cursor() as cur:
        views = select(cur)

    def work(cur: DuckDBPyConnection) -> None:
        for view in views:
            existing = _find_view(cur, view.page, view.name)
            if existing is None or existing.saved_at < view.saved_at:
                _save_view(cur, view, overwrite=True)

    if views:
        target.write(work)


def _check_view(name: str, address: Address) -> None:
    if problem := view_error(name, address):
        raise SpecError(Message("the view"), [Problem("name", problem, repr(name)[:80])])


def _save_view(cur: DuckDBPyConnection, view: SavedView, *, overwrite: bool) -> None:
    existing = _find_view(cur, view.page, view.name)
    if existing and not overwrite:
        problem = Message("is taken: saved by {saved_by}", saved_by=existing.saved_by)
        hint = Message("choose another name, or replace it")
        raise SpecError(Message("the view"), [Problem("name", problem, repr(view.name))], hint)
    _delete_view(cur, view.page, view.name)
    values = [view.page, view.name, canonical_json(view.address), view.saved_by, to_naive_utc(view.saved_at)]
    cur.execute("insert into saved_views values (?, ?, ?, ?, ?)", values)


def _delete_view(cur: DuckDBPyConnection, page: str, name: str) -> bool:
    existed = _find_view(cur, page, name) is not None
    cur.execute("delete from saved_views where page = ? and name = ?", [page, name])
    return existed


def _find_view(cur: DuckDBPyConnection, page: str, name: str) -> SavedView | None:
    return next((view for view in select(cur, page) if view.name == name), None)
