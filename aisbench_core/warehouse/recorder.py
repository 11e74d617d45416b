"""Stores one run, as often as one ends: with few questions, and without those whose answer is known already."""

from dataclasses import dataclass, field
from typing import cast

from duckdb import DuckDBPyConnection

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.connection import Connection
from aisbench_core.warehouse.judging import Judge
from aisbench_core.warehouse.lake import Lake
from aisbench_core.warehouse.record import replace
from aisbench_core.warehouse.rows import Rows, rows_of
from aisbench_core.warehouse.schema import RUNS, TABLES, insert, parsed
from aisbench_core.warehouse.standings import begin, is_much, is_turn, settle, settle_many

_STORED = """
    select 'stored', 0::BIGINT from runs where run_id = ? union all select 'stored', 0 from remarks where run_id = ?"""

_GROUPS = """
    union all select 'begun', group_id from standings where group_id = ?
    union all select 'due', group_id from standings_due"""


@dataclass(slots=True)
class _Groups:
    """Groups that have a row in the edition with this number, and all those that are due in it."""

    edition: int
    begun: set[int] = field(default_factory=set)
    due: set[int] = field(default_factory=set)


class Recorder:
    """Remembers from one run to the next what nobody else can have changed meanwhile: what is asked costs as much as
    what is stored, and most runs are new, and of a group that is known."""

    def __init__(self, connection: Connection | Lake, judge: Judge) -> None:
        self._connection = connection
        self._judge = judge
        self._groups = _Groups(-1)

    def record(self, run_record: RunRecord) -> None:
        """Store a run, in place of what was stored of it before."""
        rows = rows_of(run_record, self._judge)
        self._connection.write(lambda cur: self._store(cur, run_record, rows))

    def _store(self, cur: DuckDBPyConnection, run_record: RunRecord, rows: Rows) -> None:
        run = dict(zip(RUNS, rows["runs"][0], strict=True))
        run_id, group_id = run_record.run.run_id, cast("int", run["group_id"])
        is_stored, groups = self._known(cur, run_id, group_id)
        if is_stored:
            replace(cur, [run_record], rows, self._judge)
            settle_many(cur)
            return
        is_due = group_id in groups.due
        groups.due.add(group_id)
        much = is_much(groups.due) or is_turn(run_id)
        if not much:
            cur.execute(parsed(cur, "pragma disable_optimizer"))  # rows of constants take a quarter longer with it
        for table in TABLES:
            insert(cur, table, rows[table])
        if not is_due:
            cur.execute(parsed(cur, "insert into standings_due values (?)"), [group_id])
        if group_id not in groups.begun:
            begin(cur, [run])
            groups.begun.add(group_id)
        if much:
            settle(cur)
            groups.due.clear()
        self._groups = groups

    def _known(self, cur: DuckDBPyConnection, run_id: str, group_id: int) -> tuple[bool, _Groups]:
        """Whether anything is stored of the run, and what is known of groups."""
        edition, kept = self._connection.edition, self._groups
        if kept.edition == edition - 1 and group_id in kept.begun:
            found = cur.execute(parsed(cur, _STORED), [run_id, run_id]).fetchall()
            return bool(found), _Groups(edition, kept.begun, kept.due)
        found = cur.execute(parsed(cur, _STORED + _GROUPS), [run_id, run_id, group_id]).fetchall()
        told = {what: {group for kind, group in found if kind == what} for what in ("stored", "begun", "due")}
        return bool(told["stored"]), _Groups(edition, told["begun"], told["due"])
