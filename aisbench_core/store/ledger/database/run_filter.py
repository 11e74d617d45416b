"""Which runs a list has, and in which order, as SQL."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from aisbench_core.model import RunSort, RunState
from aisbench_core.model.annotation import PINNED
from aisbench_core.store.ledger.database.rows import make_marks

IS_TAGGED = "run_id in (select run_id from tags where tag = ?)"
IS_DELETED = "run_id in (select run_id from deletions)"


@dataclass(frozen=True, slots=True)
class RunFilter:
    """What is empty, or None, filters nothing; `since`: the launch, as it is stored."""

    states: Collection[RunState] | None = None
    text: str = ""
    workload: str = ""
    people: Collection[str] = ()
    since: str = ""
    run_ids: Collection[str] | None = None
    tags: Collection[str] = ()
    """Runs that have one of them."""
    pinned: bool | None = None
    """Only those that somebody pinned, or only the others."""
    deleted: bool = False
    """Only those that somebody deleted, or only the others."""

    def build_newest(self, most: int) -> tuple[str, list[Any]]:
        """SQL for the ids of the newest runs, without its limit.

        One query per state, since for several at once SQLite sorts the whole history; ids only, which an index
        covers."""
        single = [self] if self.states is None else [replace(self, states=(state,)) for state in self.states]
        filters = [each.build_where() for each in single]
        order = build_order(RunSort.LAUNCHED, descending=True)
        parts = [
            f"select * from (select run_id, created_at from runs where {where} {order} limit ?) as newest"  # noqa: S608  # `where` holds only ? marks
            for where, _ in filters
        ]
        values = [value for _, values in filters for value in (*values, most)]
        return f"select run_id from ({' union all '.join(parts)}) as found {order}", values  # noqa: S608  # only ? marks

    def build_where(self) -> tuple[str, list[Any]]:
        """A condition on `runs`, and the values of its ? marks."""
        where, values = [IS_DELETED if self.deleted else f"not {IS_DELETED}"], list[Any]()
        if self.states is not None:
            where.append(f"state in {make_marks(self.states)}")
            values += sorted(self.states)
        if self.workload:
            where.append("workload = ?")
            values.append(self.workload)
        if self.people:
            where.append(f"created_by in {make_marks(self.people)}")
            values += self.people
        if self.since:
            where.append("created_at >= ?")
            values.append(self.since)
        if self.run_ids is not None:
            where.append(f"run_id in {make_marks(self.run_ids)}" if self.run_ids else "1 = 0")
            values += self.run_ids
        if self.tags:
            where.append(f"run_id in (select run_id from tags where tag in {make_marks(self.tags)})")  # noqa: S608  # only ? marks
            values += self.tags
        if self.pinned is not None:
            where.append(IS_TAGGED if self.pinned else f"not {IS_TAGGED}")
            values.append(PINNED)
        if self.text:
            where.append(
                "(instr(lower(run_id || ' ' || job_name || ' ' || workload || ' ' || created_by || ' ' || profile"
                " || ' ' || detail), lower(?)) > 0"
                " or run_id in (select run_id from names where instr(lower(name), lower(?)) > 0)"
                " or run_id in (select run_id from tags where instr(lower(tag), lower(?)) > 0))"
            )
            values += [self.text] * 3
        return " and ".join(where), values


def build_order(sort: RunSort, descending: bool) -> str:
    """Rows without a value come last."""
    if sort is RunSort.LAUNCHED and descending:
        return "order by created_at desc, run_id desc"
    return f"order by {sort} {'desc' if descending else 'asc'} nulls last, created_at desc, run_id desc"
