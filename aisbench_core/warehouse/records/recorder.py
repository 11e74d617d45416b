"""Stores one run, as often as one ends: with few questions, and without those whose answer is known already."""

from dataclasses import dataclass
from typing import cast

from duckdb import DuckDBPyConnection

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.answers.group_statistics import begin, is_much, is_turn, settle, settle_many
from aisbench_core.warehouse.records.record import replace
from aisbench_core.warehouse.records.rows import Rows, rows_of
from aisbench_core.warehouse.store.connection import Connection
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.store.schema import RUNS, TABLES, insert, parsed
from aisbench_core.warehouse.validity.judging import Judge

_RECORDED = "select 1 from runs where run_id = ?"
_REMARKED_ON = "select 1 from remarks where run_id = ?"

_KNOWN = """
    select 'begun', group_id from standings where group_id = ? union all select 'due', group_id from standings_due
    union all select 'remarked', 0 from (select 1 from remarks limit 1)"""


@dataclass(slots=True)
class _Known:
    """What is known in the edition with this number: groups that have a row, all that are due, and whether anybody has
    remarked on any run."""

    edition: int
    begun: set[int]
    due: set[int]
    remarked: bool


class Recorder:
    """Remembers from one run to the next what nobody else can have changed meanwhile: what is asked costs as much as
    what is stored, and most runs are new, and of a group that is known."""

    def __init__(self, connection: Connection | Lake, judge: Judge) -> None:
        self._connection = connection
        self._judge = judge
        self._known = _Known(-1, set(), set(), remarked=True)

    def record(self, run_record: RunRecord) -> None:
        """Store a run, in place of what was stored of it before."""
        rows = rows_of(run_record, self._judge)
        self._connection.write(lambda cur: self._store(cur, run_record, rows))

    def _store(self, cur: DuckDBPyConnection, run_record: RunRecord, rows: Rows) -> None:
        run = dict(zip(RUNS, rows["runs"][0], strict=True))
        run_id, group_id = run_record.run.run_id, cast("int", run["group_id"])
        known = self._know(cur, group_id)
        if _is_stored(cur, run_id, known):
            replace(cur, [run_record], rows, self._judge)
            settle_many(cur)
            return
        is_due = group_id in known.due
        known.due.add(group_id)
        much = is_much(known.due) or is_turn(run_id)
        if not much:
            cur.execute(parsed(cur, "pragma disable_optimizer"))  # rows of constants take a quarter longer with it
        for table in TABLES:
            insert(cur, table, rows[table])
        if not is_due:
            cur.execute(parsed(cur, "insert into standings_due values (?)"), [group_id])
        if group_id not in known.begun:
            begin(cur, [run])
            known.begun.add(group_id)
        known.remarked = known.remarked or bool(rows["remarks"])
        if much:
            settle(cur)
            known.due.clear()
        self._known = known

    def _know(self, cur: DuckDBPyConnection, group_id: int) -> _Known:
        edition, known = self._connection.edition, self._known
        if known.edition == edition - 1 and group_id in known.begun:
            return _Known(edition, known.begun, known.due, known.remarked)
        found = cur.execute(parsed(cur, _KNOWN), [group_id]).fetchall()
        begun, due, remarked = (
            {group for kind, group in found if kind == what} for what in ("begun", "due", "remarked")
        )
        return _Known(edition, begun, due, bool(remarked))


def _is_stored(cur: DuckDBPyConnection, run_id: str, known: _Known) -> bool:
    """Whether anything is stored of the run."""
    if not known.remarked:
        return bool(cur.execute(parsed(cur, _RECORDED), [run_id]).fetchall())
    return bool(cur.execute(parsed(cur, f"{_RECORDED} union all {_REMARKED_ON}"), [run_id, run_id]).fetchall())
