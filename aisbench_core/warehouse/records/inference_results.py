"""The table of results of inference, which no query about runs reads."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, fields
from datetime import datetime

from duckdb import DuckDBPyConnection
from pydantic import TypeAdapter

from aisbench_core.base.formats import csv_cell
from aisbench_core.domain.access import permitted_for
from aisbench_core.domain.access.changes import log_change
from aisbench_core.model import Actor, canonical_json
from aisbench_core.warehouse.tables.schema import build_in_condition
from aisbench_core.warehouse.tables.store import Store
from aisbench_core.warehouse.tables.times import to_aware, to_naive_utc
from aisbench_core.warehouse.values.inference import InferenceResult, StoredInference, rank_results

_RESULT = TypeAdapter(InferenceResult)


def _stored_by(self: "InferenceResults", result_id: str, **_: object) -> str | None:
    return next((one.stored_by for one in self.list_ranked() if one.result_id == result_id), None)


class InferenceResults:
    """The results of inference of one warehouse; every method raises WarehouseError."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def list_ranked(self) -> Sequence[StoredInference]:
        """Every result, by benchmark and rank."""
        with self._store.cursor() as cur:
            return rank_results(select(cur))

    def add(self, results: Sequence[InferenceResult], who: str, at: datetime) -> int:
        """Store those that are not stored yet; returns their number."""
        rows = [StoredInference(result.result_id, at, who, None, result) for result in results]
        return self._store.write(lambda cur: _insert_new(cur, rows))

    @permitted_for(_stored_by)
    def remove(self, result_id: str, actor: Actor) -> bool:
        """Remove a result; says whether there was one."""
        log_change(actor, f"remove result {result_id} of inference")

        def work(cur: DuckDBPyConnection) -> bool:
            is_there = any(one.result_id == result_id for one in select(cur))
            cur.execute("delete from inference_results where result_id = ?", [result_id])
            return is_there

        return self._store.write(work)


def select(cur: DuckDBPyConnection) -> list[StoredInference]:
    """Every result, in no order."""
    cur.execute("select * from inference_results")
    return [
        StoredInference(result_id, to_aware(at), who, None, _RESULT.validate_json(text))
        for result_id, at, who, text in cur.fetchall()
    ]


def copy(source: Store, target: Store) -> None:
    """Copy every result that the target has not."""
    with source.cursor() as cur:
        results = select(cur)
    if results:
        target.write(lambda cur: _insert_new(cur, results))


def _insert_new(cur: DuckDBPyConnection, results: Sequence[StoredInference]) -> int:
    ids = {one.result_id: one for one in results}
    if not ids:
        return 0
    condition, parameters = build_in_condition("result_id", [*ids])
    cur.execute(f"select result_id from inference_results where {condition}", parameters)
    for (known,) in cur.fetchall():
        del ids[known]
    rows = [
        [one.result_id, to_naive_utc(one.stored_at), one.stored_by, canonical_json(asdict(one.result))]
        for one in ids.values()
    ]
    if rows:
        cur.executemany("insert into inference_results values (?, ?, ?, ?)", rows)
    return len(rows)


def csv_text(results: Sequence[StoredInference]) -> str:
    """The results as CSV: every field of them, with its unit in its name."""
    text = io.StringIO()
    lines = csv.writer(text)
    names = [field.name for field in fields(InferenceResult)]
    lines.writerow(["kind", "result_id", "rank", *names, "stored_at", "stored_by"])
    for one in results:
        values = [one.result_id, one.rank, *(getattr(one.result, name) for name in names)]
        lines.writerow(["inference", *map(_format_cell, [*values, one.stored_at.isoformat(), one.stored_by])])
    return text.getvalue()


def _format_cell(value: object) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else csv_cell(value)
