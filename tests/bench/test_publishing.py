"""Publishing a hundred thousand runs, beside asking for each page of them; docs/performance.md tells."""

import time
from datetime import UTC, datetime
from pathlib import Path

from aisbench_core.exchange.publishing.columns import DEFAULT_COLUMNS
from aisbench_core.exchange.publishing.publishing import PAGE_ROWS, Publishing
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests.bench.figures import put
from tests.bench.many_runs import REGION
from tests.bench.warehouses import folder_of, median_ms

RUNS = 100_000
PAGES = 10


def ask_page(warehouse: Warehouse, number: int) -> None:
    """The naive way to write pages: a query for each."""
    query = BoardQuery(REGION, sort="created_at", limit=PAGE_ROWS, offset=number * PAGE_ROWS)
    assert len(warehouse.runs.list_rows(query).rows) == PAGE_ROWS


def test_a_hundred_thousand_runs_are_published_in_less_time_than_their_pages_take_one_by_one(tmp_path: Path) -> None:
    warehouse = Warehouse(folder_of(RUNS) / "warehouse.duckdb")
    pages = iter(range(PAGES * RUNS))
    naive_s = median_ms(lambda: ask_page(warehouse, next(pages)), PAGES) / 1000 * RUNS / PAGE_ROWS

    started = time.perf_counter()
    publishing = Publishing(warehouse, lambda: datetime.now(UTC))
    published = publishing.publish(BoardQuery(REGION), tmp_path / "site", DEFAULT_COLUMNS)
    seconds = time.perf_counter() - started

    beside = f"{RUNS // PAGE_ROWS} pages, each by a query: {naive_s:.1f} s, from {PAGES} of them"
    put("Publish 100,000 runs", f"{seconds:.1f} s", "60 s", beside, naive_s / seconds)
    assert published.runs > 0.9 * RUNS
    assert seconds < naive_s
