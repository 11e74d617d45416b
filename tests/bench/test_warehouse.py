"""The warehouse against the naive way, in the same run on the same machine; absolute figures are printed."""

import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb
import pytest

from aisbench_core.domain.rulesets.ruleset import get_shipped
from aisbench_core.model import MetricSample, RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.records.rows import rows_of
from aisbench_core.warehouse.validity.evaluation import Evaluator
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a

RUNS = 10_000
RECORDED = 30
BOARD = BoardQuery("cn-north-9")


def median_ms(work: Sequence[Callable[[], object]]) -> float:
    """The median duration of the calls, in milliseconds."""
    durations = []
    for call in work:
        start = time.perf_counter()
        call()
        durations.append((time.perf_counter() - start) * 1000)
    return statistics.median(durations)


def finished(run_id: str) -> RunRecord:
    """A run on 2 nodes with 8 cards each, with ten minutes of samples."""
    samples = tuple(MetricSample(a.T0, node, "npuUtil", 90.0 + minute) for node in range(2) for minute in range(10))
    return a.record(run_id, node_count=2, samples=samples)


def record_row_by_row(file: Path, record: RunRecord) -> None:
    """The naive way: a connection for each statement, a statement for each row, each its own transaction."""
    for table, rows in rows_of(record, Evaluator(get_shipped())).items():
        for row in rows:
            with duckdb.connect(file) as con:
                con.execute(f"insert into {table} values ({', '.join('?' for _ in row)})", list(row))


def group_in_python(warehouse: Warehouse) -> list[tuple[object, ...]]:
    """The naive leaderboard: fetch every run, then group and compute in Python."""
    with warehouse.cursor() as cur:
        cur.execute("select * from runs join results using (run_id)")
        names = [column[0] for column in cur.description or ()]
        runs = [dict(zip(names, row, strict=True)) for row in cur.fetchall()]
    groups: dict[tuple[object, ...], list[float]] = defaultdict(list)
    for run in runs:
        if run["region"] == BOARD.region and run["validity"] == "valid" and not run["rehearsal"]:
            json.loads(run["checks"])
            key = tuple(run[name] for name in ("fingerprint", "framework_version", "flavor", "node_count"))
            groups[key].append(run["throughput_cluster"])
    ranked = [
        (*key, statistics.median(found), max(found), statistics.mean(found), statistics.stdev(found), len(found))
        for key, found in groups.items()
    ]
    return sorted(ranked, key=lambda row: -float(str(row[4])))[: BOARD.limit]


def test_recording_one_run_is_cheap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    warehouse, peer = Warehouse(tmp_path / "ours.duckdb"), tmp_path / "peer.duckdb"
    records = [finished(f"run-{number}") for number in range(RECORDED)]
    warehouse.record(finished("warm"))
    Warehouse(peer).record(finished("warm"))

    naive = median_ms([partial(record_row_by_row, peer, record) for record in records[:5]])
    ours = median_ms([partial(warehouse.record, record) for record in records])
    opened = statistics.median(seconds_open(warehouse, finished(f"open-{number}")) for number in range(RECORDED)) * 1000

    with capsys.disabled():
        print(f"\nrecord one run (16 cards, 20 samples): {ours:.1f} ms with open and close (goal 30), ", end="")
        print(f"{opened:.1f} ms with the file open (goal 10); row by row {naive:.0f} ms, {naive / ours:.0f} x")
    assert naive / ours >= 10


def seconds_open(warehouse: Warehouse, record: RunRecord) -> float:
    """How long recording takes while somebody else has the file open."""
    with warehouse.cursor():
        start = time.perf_counter()
        warehouse.record(record)
        return time.perf_counter() - start


def test_the_leaderboard_of_ten_thousand_runs_is_made_in_sql(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.rebuild(many_runs())

    ours = median_ms([lambda: warehouse.board.list_rows(BOARD)] * 9)
    listed = median_ms([lambda: warehouse.runs.list_rows(replace(BOARD, sort="created_at"))] * 9)
    naive = median_ms([lambda: group_in_python(warehouse)] * 3)

    page = warehouse.board.list_rows(BOARD)
    with capsys.disabled():
        print(
            f"\nleaderboard of {RUNS:,} runs in {page.total} rows: {ours:.1f} ms, a page of runs {listed:.1f} ms; ",
            end="",
        )
        print(f"grouping in Python {naive:.0f} ms, {naive / ours:.0f} x")
    assert [row.throughput for row in page.rows] == [row[4] for row in group_in_python(warehouse)]
    assert naive / ours >= 3


def many_runs() -> list[RunRecord]:
    """Runs of 5 framework versions on 4 flavors and 5 node counts: 100 rows of 100 runs."""
    plain = [
        a.record(
            f"base-{index}", framework_version=f"r{index % 5}", flavor=f"f{index // 5 % 4}", node_count=index // 20 + 1
        )
        for index in range(100)
    ]
    return [
        replace(plain[number % 100], run=replace(plain[number % 100].run, run_id=f"run-{number}"))
        for number in range(RUNS)
    ]
