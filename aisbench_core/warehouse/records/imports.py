"""Lists imports, and undoes them with everything that belongs to their runs."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from duckdb import DuckDBPyConnection

from aisbench_core.base.errors import RunNotFound
from aisbench_core.base.messages import Message
from aisbench_core.model import RunRecord
from aisbench_core.warehouse.queries.group_statistics import settle_groups
from aisbench_core.warehouse.records import baselines
from aisbench_core.warehouse.records.record import delete_runs, record_new
from aisbench_core.warehouse.records.rows import rows_of
from aisbench_core.warehouse.tables.schema import RESULTS, RUNS
from aisbench_core.warehouse.tables.store import Store
from aisbench_core.warehouse.tables.times import to_aware, to_naive_utc
from aisbench_core.warehouse.validity.evaluation import Evaluator, stored_checks
from aisbench_core.warehouse.validity.facts import facts_of
from aisbench_core.warehouse.validity.run_checks import list_missing
from aisbench_core.warehouse.values.imported import ID, Import
from aisbench_core.warehouse.values.runs import Check, CheckLevel, Validity

_LISTED = f"""
    select imported_at, count(*), min(source), max(source), list_sort(list_distinct(list(region))),
        count(*) filter (where run_id in (select run_id from annotations)), bool_and(rehearsal), count(*) over ()
    from runs where origin = 'imported' and imported_at is not null and starts_with(strftime(imported_at, '{ID}'), ?)
    group by imported_at order by imported_at desc limit ? offset ?
"""
# The position of a result in its file, at the end of its source.
_POSITION = re.compile(r" \(\d+\)$")


class Verdict(NamedTuple):
    """What the ruleset says about a result; `missing`: the required fields that it does not have."""

    validity: Validity
    failed: tuple[Check, ...]
    missing: tuple[str, ...]


class Imports:
    """The imports of one warehouse; every method raises as the warehouse's own do."""

    def __init__(self, store: Store, evaluator: Evaluator) -> None:
        self._store = store
        self._evaluator = evaluator

    def add(self, records: Sequence[RunRecord]) -> frozenset[str]:
        """Store the runs that are not stored yet, by any machine; returns their ids."""
        return record_new(self._store, records, self._evaluator)

    def evaluate(self, record: RunRecord) -> Verdict:
        """The verdict on a result that is not stored."""
        rows, share = rows_of(record, self._evaluator), self._evaluator.straggler_share
        [run], [result] = rows["runs"], rows["results"]
        run_cells, cells = dict(zip(RUNS, run, strict=True)), dict(zip(RESULTS, result, strict=True))
        failed = [check for check in stored_checks(str(cells["checks"])) if check.level is CheckLevel.FAIL]
        facts = facts_of(run_cells, cells, rows["rank_results"], rows["server_results"], share)
        rule = self._evaluator.ruleset.run.V01
        return Verdict(
            Validity(str(cells["validity"])), tuple(failed), tuple(list_missing(facts, rule)) if rule else ()
        )

    def page(self, limit: int = 20, offset: int = 0) -> tuple[list[Import], int]:
        """Imports, newest first, and how many there are in all."""
        with self._store.cursor() as cur:
            rows = cur.execute(_LISTED, ["", limit, offset]).fetchall()
        total = rows[0][-1] if rows else self.page(1)[1] if offset else 0
        return [_to_import(row) for row in rows], total

    def get(self, import_id: str) -> Import:
        """One import, by its id or a prefix that no other id shares. Raises RunNotFound."""
        with self._store.cursor() as cur:
            rows = cur.execute(_LISTED, [import_id, 2, 0]).fetchall() if import_id else []
        if len(rows) == 1:
            return _to_import(rows[0])
        if rows:
            raise RunNotFound(
                Message("several imports start with {import_id!r}", import_id=import_id),
                Message("enter more characters of the id"),
            )
        raise RunNotFound(
            Message("there is no import {import_id!r}", import_id=import_id),
            Message("`aisbench imports list` lists them"),
        )

    def run_ids(self, at: datetime) -> list[str]:
        """The runs of an import."""
        with self._store.cursor() as cur:
            return _list_ids(cur, at)

    def read_from(self, sources: Sequence[str]) -> Mapping[tuple[str, str], str]:
        """The imported runs with these sources, by source and the text that was read there."""
        with self._store.cursor() as cur:
            cur.execute(
                """select source, raw, run_id from runs join results using (run_id)
                where origin = 'imported' and source in (select unnest(?::VARCHAR[]))""",
                [list(sources)],
            )
            return {(source, raw): run_id for source, raw, run_id in cur.fetchall()}

    def forget(self, at: datetime, *, keep_annotations: bool) -> int:
        """Delete an import's runs with their results, cards, events and baselines, all or nothing; returns how many.

        Launched runs are never deleted. `keep_annotations`: tags and notes wait for the same results to be imported
        again. Can be repeated."""

        def work(cur: DuckDBPyConnection) -> int:
            run_ids = _list_ids(cur, at)
            if run_ids:
                delete_runs(cur, run_ids, keep=("annotations",) if keep_annotations else ())
                baselines.remove_runs(cur, run_ids)
                settle_groups(cur)
            return len(run_ids)

        return self._store.write(work)


def _list_ids(cur: DuckDBPyConnection, at: datetime) -> list[str]:
    cur.execute(
        "select run_id from runs where origin = 'imported' and imported_at = ? order by run_id", [to_naive_utc(at)]
    )
    return [run_id for (run_id,) in cur.fetchall()]


def _to_import(row: Sequence[Any]) -> Import:
    at, runs, first, last, regions, annotated, rehearsal, _ = row
    first, last = (_POSITION.sub("", name) for name in (first, last))
    return Import(to_aware(at), runs, first, last, tuple(regions), annotated, rehearsal)
