"""Nodes that are slow in many runs: found by their names in the cloud, over the last runs only."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.model import JobTask, RunAttempt, RunRecord, RunState
from aisbench_core.warehouse.answers.ranks import LAST_RUNS, WINDOW, NodeHistory
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a

NOW = a.T0 + timedelta(days=30)


def on_hosts(number: int, *hosts: str, slow: str = "", ago: timedelta = timedelta()) -> RunRecord:
    """A run on these nodes of eight cards, of which those of one node are slow."""
    cards = [900.0 if host == slow else 1000.0 for host in hosts for _ in range(8)]
    record = a.record(f"r-{number}", node_count=len(hosts), throughputs=cards)
    tasks = tuple(JobTask(f"worker-{node}", "10.0.0.1", host) for node, host in enumerate(hosts))
    run = replace(record.run, ended_at=NOW - ago - timedelta(hours=100 - number))
    return replace(record, run=run, attempts=(RunAttempt(1, a.T0, tasks=tasks),))


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


def slow_nodes(warehouse: Warehouse, records: list[RunRecord]) -> list[NodeHistory]:
    warehouse.record_many(records)
    return warehouse.cards.list_slow_nodes(records[0].region, rehearsal=records[0].rehearsal, now=NOW)


def test_a_node_that_is_slow_in_many_runs_comes_first(warehouse: Warehouse) -> None:
    hosts = ("h0", "h1", "h2")
    slow = ["", "h1", "h2", "h1", "", "h1", ""]

    found = slow_nodes(warehouse, [on_hosts(number, *hosts, slow=name) for number, name in enumerate(slow)])

    assert [(node.host, node.slow, node.runs) for node in found] == [("h1", 2, LAST_RUNS), ("h2", 1, LAST_RUNS)]
    assert found[0].shares == pytest.approx((1.0, 0.9, 1.0, 0.9, 1.0))
    assert found[0].run_ids[0] == "r-6"


def test_old_runs_failed_ones_and_nodes_without_a_name_do_not_count(warehouse: Warehouse) -> None:
    nameless = replace(on_hosts(3, "h0", "h1", slow="h1"), attempts=())
    failed = on_hosts(4, "h0", "h1", slow="h1")
    failed = replace(failed, run=replace(failed.run, state=RunState.FAILED))
    old = on_hosts(5, "h0", "h1", slow="h1", ago=WINDOW)

    assert slow_nodes(warehouse, [nameless, failed, old, on_hosts(6, "h0", "h1")]) == []


def test_a_run_that_is_recorded_again_counts_once(warehouse: Warehouse) -> None:
    record = on_hosts(1, "h0", "h1", "h2", slow="h2")
    warehouse.record(record)

    [node] = slow_nodes(warehouse, [record])

    assert (node.host, node.slow, node.runs) == ("h2", 1, 1)
