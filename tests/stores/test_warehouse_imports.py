"""Imports in the warehouse: listed as they were made, and forgotten with all that hangs on their runs."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from aisbench_core.base.errors import RunNotFound
from aisbench_core.model import AnnotationChange, AnnotationKind, RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.tables.schema import TABLES
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.actors import named

FIRST, SECOND = a.T0, a.T0 + timedelta(days=1)
ALL = BoardQuery("imported", include_invalid=True)


def come(run_id: str, source: str, at: datetime, **changes: object) -> RunRecord:
    record = a.imported(run_id, cards_heard=True, **changes)  # type: ignore[arg-type]  # a test names the fields it means
    assert record.imported
    return replace(record, imported=replace(record.imported, source=source, imported_at=at))


@pytest.fixture
def filled(warehouse: Warehouse) -> Warehouse:
    """Two imports, and a launched run that shares a group's question with them."""
    warehouse.record_many(
        [
            come("i-1", "old/a.log (1)", FIRST),
            come("i-2", "old/a.log (2)", FIRST),
            come("i-3", "old/b.log (1)", FIRST, node_count=2),
            come("i-4", "table.csv (7)", SECOND, reported=15_000.0),
            a.record("launched"),
        ]
    )
    return warehouse


def rows_left(warehouse: Warehouse) -> Sequence[str]:
    with warehouse.cursor() as cur:
        asked = " union ".join(f"select run_id from {table}" for table in TABLES)
        return sorted(run_id for (run_id,) in cur.execute(asked).fetchall())


@pytest.mark.every_store
def test_an_import_is_what_was_stored_at_one_moment(filled: Warehouse) -> None:
    found, total = filled.imports.page()
    later, _ = filled.imports.page(1, 1)

    assert [(each.at, each.runs, each.files) for each in found] == [
        (SECOND, 1, "table.csv"),
        (FIRST, 3, "old/a.log … old/b.log"),
    ]
    assert (total, later, filled.imports.page(5, 9)) == (2, found[1:], ([], 2))
    assert filled.imports.get("20260302").at == SECOND
    for unknown in ("", "2026030", "nothing", "' or 1=1 --"):
        with pytest.raises(RunNotFound):
            filled.imports.get(unknown)


@pytest.mark.every_store
def test_a_forgotten_import_leaves_nothing_but_the_others_and_its_standings_are_counted_anew(filled: Warehouse) -> None:
    filled.annotations.add("i-2", [AnnotationChange(a.T0, "ann", AnnotationKind.NOTE, "odd")], None)
    before = filled.board.list_rows(ALL)

    gone = filled.imports.forget(FIRST, keep_annotations=False)
    again = filled.imports.forget(FIRST, keep_annotations=False)

    assert (gone, again) == (3, 0)
    assert rows_left(filled) == ["i-4", "launched"]
    assert (before.total, [row.runs + row.invalid for row in filled.board.list_rows(ALL).rows]) == (2, [1])
    assert filled.check([]).damages == ()


@pytest.mark.every_store
def test_remarks_that_are_kept_come_back_with_the_same_result(filled: Warehouse) -> None:
    filled.annotations.add("i-1", [AnnotationChange(a.T0, "ann", AnnotationKind.TAG, "golden")], None)

    filled.imports.forget(FIRST, keep_annotations=True)
    clean = filled.check([]).damages
    filled.record(come("i-1", "old/a.log (1)", SECOND))

    assert clean == ()
    row = filled.runs.find_row("i-1")
    assert row
    assert row.tags == ("golden",)


@pytest.mark.every_store
def test_baselines_lose_the_runs_and_go_when_nothing_is_left(filled: Warehouse) -> None:
    filled.mark_baseline(["i-1", "i-4"], None, named("ann"), a.T0)
    filled.mark_baseline(["i-3"], None, named("ann"), a.T0)

    filled.imports.forget(FIRST, keep_annotations=False)

    assert [each.names for each in filled.trends.list_baselines()] == [("i-4",)]


def test_a_launched_run_is_never_forgotten(filled: Warehouse) -> None:
    with filled.cursor() as cur:
        cur.execute("update runs set imported_at = ? where run_id = 'launched'", [FIRST.replace(tzinfo=None)])

    filled.imports.forget(FIRST, keep_annotations=False)

    assert filled.runs.find_row("launched")
