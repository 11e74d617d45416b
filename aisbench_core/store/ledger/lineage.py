"""Where runs came from, in the ledger's file: stored in the transaction that stores a run, and never changed."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from aisbench_core.model import Run
from aisbench_core.store.ledger.database.connection import LedgerConnection
from aisbench_core.store.ledger.database.rows import insert_new

if TYPE_CHECKING:
    from aisbench_core.store.ledger.ledger import Ledger

DEEPEST = 100  # steps from a run to those that came from it, so that no query is without end

_CHILDREN = """
    with recursive below (run_id, parent, kind, depth) as (
        select run_id, parent, kind, 1 from parents where parent = ?
        union
        select parents.run_id, parents.parent, parents.kind, depth + 1
        from parents join below on parents.parent = below.run_id where depth < ?)
    select run_id, parent, kind from below order by depth, run_id, kind limit ?
"""


class ParentKind(StrEnum):
    """What a run is to the one that it came from."""

    RESUME = "resume"
    RETRY = "retry"
    REPRODUCTION = "reproduction"
    CLONE = "clone"


@dataclass(frozen=True, slots=True)
class Parent:
    """The run that another one came from; it may be one that only the warehouse has."""

    run_id: str
    kind: ParentKind


def add_parents(con: LedgerConnection, run: Run, parents: Iterable[Parent] = ()) -> None:
    """Store where a run came from, within the transaction that stores it; what its spec resumes is one of them."""
    resumed = [Parent(run.spec.resume_from, ParentKind.RESUME)] if run.spec.resume_from else []
    for parent in (*parents, *resumed):
        insert_new(con, "parents", {"run_id": run.run_id, "parent": parent.run_id, "kind": parent.kind})


class LineageLedger:
    """Parents by run. Threads and processes may share it."""

    def __init__(self, ledger: "Ledger") -> None:
        self._ledger = ledger

    def list_parents(self, run_id: str) -> list[Parent]:
        """Where a run came from."""
        rows = self._ledger.rows("select parent, kind from parents where run_id = ?", [run_id])
        return [Parent(row["parent"], ParentKind(row["kind"])) for row in rows]

    def list_below(self, run_id: str, limit: int) -> list[tuple[str, Parent]]:
        """Runs that came from a run, step by step, those nearest first, each with what it came from."""
        rows = self._ledger.rows(_CHILDREN, [run_id, DEEPEST, limit])
        return [(row["run_id"], Parent(row["parent"], ParentKind(row["kind"]))) for row in rows]
