"""A million runs: boards, lists, size and pages, beside the naive way; docs/performance.md tells."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from aisbench_core.domain.rulesets.ruleset import get_shipped
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.queries.filters import CHOSEN, build_parameters
from aisbench_core.warehouse.queries.group_statistics import build_statistics_sql
from aisbench_core.warehouse.records.rows import rows_of
from aisbench_core.warehouse.tables.schema import insert_rows
from aisbench_core.warehouse.validity.evaluation import Evaluator
from aisbench_core.warehouse.values.runs import BoardQuery
from tests.bench.figures import put, put_page
from tests.bench.many_runs import GROUPS, REGION, many_runs
from tests.bench.page_rerun import Reruns
from tests.bench.warehouses import BOARD, FILTERED, folder_of, launch_as_many, median_ms

RUNS = 1_000_000
NEW = 20_000
NAIVE = 200
FILE = "warehouse.duckdb"
T = TypeVar("T")
MOST_SENT, MOST_MEMORY = 150_000, 500_000_000
"""Bytes of one rerun, and bytes that the console's process may hold at most."""


@pytest.fixture(scope="module")
def folder() -> Path:
    return folder_of(RUNS)


@pytest.fixture(scope="module")
def warehouse(folder: Path) -> Warehouse:
    return Warehouse(folder / "warehouse.duckdb")


def counted_anew(warehouse: Warehouse) -> int:
    """The naive board: group the runs that are chosen."""
    with warehouse.cursor() as cur:
        return len(cur.execute(build_statistics_sql(CHOSEN), build_parameters(cur, BOARD)).fetchall())


def joined(warehouse: Warehouse) -> int:
    """The naive list: join, filter and sort all runs."""
    with warehouse.cursor() as cur:
        asked = f"select * from runs join results using (run_id) where {CHOSEN} order by throughput_cluster desc"
        return len(cur.execute(f"{asked} limit 50", build_parameters(cur, FILTERED)).fetchall())


def test_a_board_of_a_million_runs_is_there_at_once(warehouse: Warehouse) -> None:
    naive = median_ms(lambda: counted_anew(warehouse), 1)
    listed = median_ms(lambda: joined(warehouse), 1)

    whole = median_ms(lambda: warehouse.board.list_rows(BOARD))
    top = median_ms(lambda: warehouse.board.list_rows(FILTERED))
    newest = median_ms(lambda: warehouse.runs.list_rows(replace(FILTERED, sort="created_at")))
    fastest = median_ms(lambda: warehouse.runs.list_rows(FILTERED), 3)

    assert 0.9 * GROUPS < warehouse.board.list_rows(BOARD).total <= GROUPS
    put(
        "Whole leaderboard, 1,000,000 runs",
        f"{whole:.0f} ms",
        "150 ms",
        f"counting all runs: {naive:.0f} ms",
        naive / whole,
    )
    put(
        "Leaderboard, 3 filters, top 50", f"{top:.0f} ms", "30 ms", f"join, filter, sort: {listed:.0f} ms", listed / top
    )
    put("Newest 50 runs, 3 filters", f"{newest:.0f} ms", "", f"join, filter, sort: {listed:.0f} ms", listed / newest)
    put("Fastest 50 runs, 3 filters", f"{fastest:.0f} ms", "", f"join, filter, sort: {listed:.0f} ms", listed / fastest)
    assert naive / whole >= 3
    assert listed / top >= 2


def test_a_run_takes_little_room(folder: Path, warehouse: Warehouse) -> None:
    size = (folder / "warehouse.duckdb").stat().st_size / RUNS
    with warehouse.cursor() as cur:
        [(text,)] = cur.execute(
            "select avg(strlen(spec) + strlen(raw) + strlen(checks) + strlen(system)) "
            "from runs join results using (run_id) where created_at < '2026-04-01'"
        ).fetchall()

    put("Database per run", f"{size:.0f} B", "1,000 B", f"its texts only: {text:.0f} B", text / size)
    assert text / size >= 1
    assert size <= 1000


def test_many_runs_are_moved_and_recorded_quickly(warehouse: Warehouse, tmp_path: Path) -> None:
    records = list(many_runs(NEW))
    ours, naive, other = (Warehouse(tmp_path / f"{name}.duckdb") for name in ("ours", "naive", "other"))
    for each in (ours, other):
        each.record(replace(records[0], run=replace(records[0].run, run_id="here before", job_id="another")))
    judge = Evaluator(get_shipped())

    moved, copying = timed(lambda: warehouse.move_to(other, silent))
    _, recording = timed(lambda: ours.record_many(records))
    start = time.perf_counter()
    for record in records[:NAIVE]:
        with naive.cursor() as cur:
            for table, rows in rows_of(record, judge).items():
                for row in rows:
                    insert_rows(cur, table, [row])
    one_by_one = NAIVE / (time.perf_counter() - start)

    beside = f"row by row: {one_by_one:,.0f} runs/s"
    for figure, goal, rate in (
        ("`aisbench warehouse move`, and both compared", "", RUNS / copying),
        ("Records of folders, validated and stored", "", NEW / recording),
    ):
        put(figure, f"{rate:,.0f} runs/s", goal, beside, rate / one_by_one)
    assert moved.runs == RUNS
    assert NEW / recording / one_by_one >= 10


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What it gives, and its seconds."""
    start = time.perf_counter()
    given = work()
    return given, time.perf_counter() - start


def silent(_done: int, _of: int) -> None:
    """Nobody watches."""


def pages(warehouse: Warehouse) -> Iterator[tuple[str, str, dict[str, str | list[str]]]]:
    """Every page that shows what is stored, and the address that makes it show most."""
    newest = [row.run_id for row in warehouse.runs.list_rows(BoardQuery(REGION, sort="created_at", limit=8)).rows]
    yield "Home", "home", {"region": REGION}
    yield "Leaderboard", "leaderboard", {"region": REGION}
    yield "Leaderboard, 100 rows", "leaderboard", {"region": REGION, "size": "100"}
    yield "Leaderboard, single runs", "leaderboard", {"region": REGION, "show": "runs", "invalid": "1"}
    yield "History", "history", {"region": REGION}
    yield "Scaling", "scaling", {"region": REGION}
    yield "Compare, 8 runs", "compare", {"ids": newest}
    yield "Run page", "live", {"run": newest[0]}
    yield "Runs", "runs", {}
    yield "Series", "series", {}
    yield "Import results", "import", {}
    yield "Health", "health", {}
    yield "New run", "configure", {}


def test_pages_before_a_million_runs_are_quick_and_small(folder: Path, warehouse: Warehouse) -> None:
    launch_as_many(folder)
    too_much = []
    for name, page, query in pages(warehouse):
        with Reruns.of(folder) as console:
            found = console.page(page, query)

        anew, again = f"{found.anew_ms:.0f} ms", f"{found.again_ms:.0f} ms"
        sent, memory = f"{found.sent / 1000:.0f} kB", f"{found.memory / 1e6:.0f} MB"
        put_page(name, {"rerun after a change": anew, "rerun": again, "sent": sent, "memory": memory})
        if found.sent > MOST_SENT or found.memory > MOST_MEMORY:
            too_much.append(name)
    assert too_much == []
