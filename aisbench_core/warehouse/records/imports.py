"""Imports: which there are, and forgetting one that was a mistake, with all that hangs on its runs."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.errors import RunNotFound
from aisbench_core.messages import Message
from aisbench_core.model import RunRecord
from aisbench_core.warehouse.answers import baselines
from aisbench_core.warehouse.answers.group_statistics import settle
from aisbench_core.warehouse.records.annotations import utc
from aisbench_core.warehouse.records.imported import ID, Import
from aisbench_core.warehouse.records.record import forget, record_new
from aisbench_core.warehouse.records.rows import aware, rows_of
from aisbench_core.warehouse.store.connection import Connection
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.store.schema import RESULTS
from aisbench_core.warehouse.validity.judging import Judge, Verdict

_OF_ONE = "origin = 'imported' and imported_at = ?"
_LISTED = f"""
    select imported_at, count(*), min(source), max(source), list_sort(list_distinct(list(region))),
        count(*) filter (where run_id in (select run_id from remarks)), count(*) over ()
    from runs where origin = 'imported' and imported_at is not null and starts_with(strftime(imported_at, '{ID}'), ?)
    group by imported_at order by imported_at desc limit ? offset ?
"""
_READ_FROM = """
    select source, raw, run_id from runs join results using (run_id)
    where origin = 'imported' and source in (select unnest(?::VARCHAR[]))
"""
_PLACE = re.compile(r" \(\d+\)$")
"""Where in its file a result stood."""


class Imports:
    """The imports of one warehouse; every method raises as the warehouse's own do."""

    def __init__(self, connection: Connection | Lake, judge: Judge) -> None:
        self._connection = connection
        self._judge = judge

    def add(self, records: Sequence[RunRecord]) -> frozenset[str]:
        """Store the runs that nobody has stored, another machine neither; returns their ids."""
        return record_new(self._connection, records, self._judge)

    def judged(self, record: RunRecord) -> Verdict:
        """What the verdict on a result would be; nothing is stored."""
        [result] = rows_of(record, self._judge)["results"]
        cells = dict(zip(RESULTS, result, strict=True))
        return Verdict._make(str(cells[name]) for name in Verdict._fields)

    def page(self, limit: int = 20, offset: int = 0) -> tuple[list[Import], int]:
        """Imports, newest first, and how many there are in all."""
        with self._connection.cursor() as cur:
            found = cur.execute(_LISTED, ["", limit, offset]).fetchall()
        total = found[0][-1] if found else self.page(1)[1] if offset else 0
        return [_import(row) for row in found], total

    def get(self, import_id: str) -> Import:
        """One import, by its id or by a beginning of it that no other shares. Raises RunNotFound."""
        with self._connection.cursor() as cur:
            found = cur.execute(_LISTED, [import_id, 2, 0]).fetchall() if import_id else []
        if len(found) == 1:
            return _import(found[0])
        if found:
            raise RunNotFound(
                Message("several imports start with {import_id!r}", import_id=import_id), Message("give more of the id")
            )
        raise RunNotFound(
            Message("there is no import {import_id!r}", import_id=import_id),
            Message("`aisbench imports list` lists them"),
        )

    def run_ids(self, at: datetime) -> list[str]:
        """The runs of an import."""
        with self._connection.cursor() as cur:
            return _ids(cur, at)

    def read_from(self, sources: Sequence[str]) -> Mapping[tuple[str, str], str]:
        """The imported runs that were read from these places, by the place and the text that was read there."""
        with self._connection.cursor() as cur:
            cur.execute(_READ_FROM, [list(sources)])
            return {(source, raw): run_id for source, raw, run_id in cur.fetchall()}

    def forget(self, at: datetime, *, keep_remarks: bool) -> int:
        """Remove an import's runs with their results, cards, events and baselines, all or nothing; says how many.

        Launched runs are never touched. `keep_remarks`: tags and notes wait for the same results to be imported again.
        Can be repeated."""
        return self._connection.write(_forgetting(at, keep_remarks))


def _forgetting(at: datetime, keep_remarks: bool) -> Callable[[DuckDBPyConnection], int]:
    def work(cur: DuckDBPyConnection) -> int:
        run_ids = _ids(cur, at)
        if run_ids:
            forget(cur, run_ids, keep=("remarks",) if keep_remarks else ())
            baselines.without(cur, run_ids)
            settle(cur)
        return len(run_ids)

    return work


def _ids(cur: DuckDBPyConnection, at: datetime) -> list[str]:
    cur.execute(f"select run_id from runs where {_OF_ONE} order by run_id", [utc(at)])
    return [run_id for (run_id,) in cur.fetchall()]


def _import(row: Sequence[Any]) -> Import:
    at, runs, first, last, regions, remarked, _ = row
    return Import(aware(at), runs, _PLACE.sub("", first), _PLACE.sub("", last), tuple(regions), remarked)
