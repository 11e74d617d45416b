"""Stores one run at a time, as each run that ends is stored, with as few queries as possible."""

from dataclasses import dataclass
from typing import cast

from duckdb import DuckDBPyConnection

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.queries.group_statistics import (
    add_groups,
    is_too_many,
    is_turn,
    settle_groups,
    settle_if_too_many,
)
from aisbench_core.warehouse.records.record import replace_runs
from aisbench_core.warehouse.records.rows import Rows, rows_of
from aisbench_core.warehouse.tables.schema import RUNS, TABLES, insert_rows, parse_once
from aisbench_core.warehouse.tables.store import Store
from aisbench_core.warehouse.validity.evaluation import Evaluator

_RECORDED = "select 1 from runs where run_id = ?"
_ANNOTATED = "select 1 from annotations where run_id = ?"

_STATE = """
    select 'begun', group_id from group_statistics where group_id = ?
    union all select 'due', group_id from group_statistics_due
    union all select 'annotated', 0 from (select 1 from annotations limit 1)"""


@dataclass(slots=True)
class _State:
    """The state in the edition with this number: groups that have a row, all that are due, and whether any run has
    annotations."""

    edition: int
    begun: set[int]
    due: set[int]
    annotated: bool


class Recorder:
    """Remembers the state after its own write, as long as nobody else can have written: reading it again costs as much
    as storing the run."""

    def __init__(self, store: Store, evaluator: Evaluator) -> None:
        self._store = store
        self._evaluator = evaluator
        self._state = _State(-1, set(), set(), annotated=True)

    def record(self, run_record: RunRecord) -> None:
        """Store a run, in place of what was stored of it before."""
        rows = rows_of(run_record, self._evaluator)
        self._store.write(lambda cur: self._replace_record(cur, run_record, rows))

    def _replace_record(self, cur: DuckDBPyConnection, run_record: RunRecord, rows: Rows) -> None:
        run = dict(zip(RUNS, rows["runs"][0], strict=True))
        run_id, group_id = run_record.run.run_id, cast("int", run["group_id"])
        state = self._read_state(cur, group_id)
        query, parameters = _RECORDED, [run_id]
        if state.annotated:
            query, parameters = f"{_RECORDED} union all {_ANNOTATED}", [run_id, run_id]
        if cur.execute(parse_once(cur, query), parameters).fetchall():
            replace_runs(cur, [run_record], rows, self._evaluator)
            settle_if_too_many(cur)
            return
        is_due = group_id in state.due
        state.due.add(group_id)
        settles = is_too_many(state.due) or is_turn(run_id)
        if not settles:
            cur.execute(parse_once(cur, "pragma disable_optimizer"))  # rows of constants take a quarter longer with it
        for table in TABLES:
            insert_rows(cur, table, rows[table])
        if not is_due:
            cur.execute(parse_once(cur, "insert into group_statistics_due values (?)"), [group_id])
        if group_id not in state.begun:
            add_groups(cur, [run])
            state.begun.add(group_id)
        state.annotated = state.annotated or bool(rows["annotations"])
        if settles:
            settle_groups(cur)
            state.due.clear()
        self._state = state

    def _read_state(self, cur: DuckDBPyConnection, group_id: int) -> _State:
        edition, last = self._store.edition, self._state
        if last.edition == edition - 1 and group_id in last.begun:
            return _State(edition, last.begun, last.due, last.annotated)
        rows = cur.execute(parse_once(cur, _STATE), [group_id]).fetchall()
        begun, due, annotated = (
            {group for kind, group in rows if kind == name} for name in ("begun", "due", "annotated")
        )
        return _State(edition, begun, due, bool(annotated))
