"""The newest runs of a group are found among all of them, however many do not count or began at once."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest
from duckdb import DuckDBPyConnection

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.answers import history
from aisbench_core.warehouse.answers.history import MAX_RUNS
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a

RUNS = 640
NEWEST = BoardQuery("cn-north-9", sort="moment", limit=30)


def in_sevens(failed: int) -> list[RunRecord]:
    """Seven runs begin at once, and the last of all failed."""
    return [
        a.record(
            f"run-{number:03}",
            created_at=a.T0 + timedelta(minutes=number // 7),
            accuracy=7.0 if number >= RUNS - failed else 0.76,
        )
        for number in range(RUNS)
    ]


@pytest.mark.parametrize("failed", [3, 300])
def test_pages_and_history_begin_with_the_newest_runs_that_count(warehouse: Warehouse, failed: int) -> None:
    warehouse.rebuild(in_sevens(failed))
    valid = [f"run-{number:03}" for number in reversed(range(RUNS - failed))]
    (row,) = warehouse.trends.list_rows(BoardQuery("cn-north-9")).rows

    pages = [warehouse.trends.list_runs(replace(NEWEST, offset=offset), row.group) for offset in (0, 30, 300, RUNS)]
    every = warehouse.trends.list_runs(replace(NEWEST, include_invalid=True, offset=15), row.group)
    whole = warehouse.trends.fetch_history(row)

    assert [[run.run_id for run in page.rows] for page in pages] == [
        valid[offset : offset + 30] for offset in (0, 30, 300, RUNS)
    ]
    assert {page.total for page in pages} == {RUNS - failed}
    assert [run.run_id for run in every.rows] == [f"run-{number:03}" for number in range(RUNS - 16, RUNS - 46, -1)]
    assert every.total == RUNS
    assert [run.run_id for run in whole.runs] == valid[:MAX_RUNS][::-1]


def test_the_count_is_of_this_moment_whatever_is_kept(warehouse: Warehouse) -> None:
    warehouse.rebuild(in_sevens(3)[-5:])
    (row,) = warehouse.trends.list_rows(BoardQuery("cn-north-9")).rows
    warehouse.record(a.record("later", created_at=a.T0 + timedelta(days=1)))

    page = warehouse.trends.list_runs(replace(NEWEST, limit=2), row.group)

    assert ([run.run_id for run in page.rows], page.total) == (["later", "run-636"], 3)


class Overheard:
    """A cursor that notes how many row ids each statement gets."""

    def __init__(self, cur: DuckDBPyConnection) -> None:
        self._cur = cur
        self.row_ids: list[int] = []

    def execute(self, asked: str, values: Any = None) -> DuckDBPyConnection:
        self.row_ids.append(len((values or {}).get("row_ids", ())))
        return self._cur.execute(asked, values)


@pytest.mark.every_store
def test_a_page_far_down_passes_no_row_ids_of_all_the_runs_above_it(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "MAX_ROW_IDS", 100)
    warehouse.rebuild(in_sevens(3))
    (row,) = warehouse.trends.list_rows(BoardQuery("cn-north-9")).rows

    with warehouse.cursor() as cur:
        overheard = Overheard(cur)
        pages = [
            history.fetch_runs(cast("DuckDBPyConnection", overheard), replace(NEWEST, offset=offset), row.group)
            for offset in (60, 300)
        ]

    assert [(page.rows[0].run_id, len(page.rows), page.total) for page in pages] == [
        ("run-576", 30, RUNS - 3),
        ("run-336", 30, RUNS - 3),
    ]
    assert 90 <= max(overheard.row_ids) < 125
