"""Runs with a passport in the warehouse: columns, rows of the leaderboard, comparisons, nodes and checks."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.model import NodeDifference, Passport, RunRecord
from aisbench_core.model.columns import by_field
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.compared import Comparability
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.stores.test_warehouse_nodes import NOW, on_hosts

FACTS = {"accelerator.model": "910B4", "host.cpu": "Kunpeng-920", "config.config": "sha256:1", "package.x": "1"}


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


def captured(run_id: str, differences: tuple[NodeDifference, ...] = (), **facts: str) -> RunRecord:
    changed = {**FACTS, **{name.replace("_", ".", 1): value for name, value in facts.items()}}
    return replace(a.record(run_id, region="beijing"), passport=Passport(1, 1, changed, differences))


def fill(warehouse: Warehouse, *records: RunRecord) -> None:
    for record in records:
        warehouse.record(record)


def rows(warehouse: Warehouse, sql: str) -> list[tuple[object, ...]]:
    with warehouse.cursor() as cur:
        return cur.execute(sql).fetchall()


def test_columns_say_on_how_many_nodes_it_was_captured_and_which_differ(warehouse: Warehouse) -> None:
    odd = tuple(NodeDifference(node, "h", "host.cpu", "x", "y") for node in (3, 7))
    fill(warehouse, captured("new", odd), a.record("old", region="beijing"))

    sql = [by_field()[name].value for name in ("captured_nodes", "differing_nodes", "passport")]
    found = rows(warehouse, f"select {', '.join(sql)} from runs order by run_id")

    assert found[0][:2] == (1, "3;7")
    assert json.loads(str(found[0][2]))["facts"] == FACTS
    assert found[1] == (None, "", None)
    assert warehouse.check([]).damages == ()


def test_a_changed_passport_is_a_damage(warehouse: Warehouse) -> None:
    fill(warehouse, captured("new"))
    rows(warehouse, "update runs set passport = replace(passport, '910B4', '910B3')")

    assert any("record_sha256" in damage.sentence for damage in warehouse.check([]).damages)


def test_runs_whose_files_differ_are_two_benchmarks_and_not_comparable(warehouse: Warehouse) -> None:
    fill(warehouse, captured("one"), captured("two"), captured("three", config_config="sha256:2", package_x="2"))

    benchmarks = rows(warehouse, "select count(*) from runs group by fingerprint order by 1")
    comparison = warehouse.runs.compare(["one", "two", "three"])

    assert benchmarks == [(1,), (2,)]
    assert [one.verdict for one in comparison.verdicts] == [
        Comparability.COMPARABLE,
        Comparability.COMPARABLE,
        Comparability.NOT_COMPARABLE,
    ]
    assert comparison.reasons == ("config.config",)
    assert [field.field for field in comparison.captured] == ["config.config", "package.x"]
    assert comparison.captured[1].values == ("1", "1", "2")


def test_packages_and_hardware_split_no_benchmark(warehouse: Warehouse) -> None:
    fill(warehouse, captured("one"), captured("two", accelerator_model="910B3", package_x="3"))

    assert len(warehouse.board.list_rows(BoardQuery("beijing")).rows) == 1
    assert warehouse.runs.compare(["one", "two"]).verdict is Comparability.COMPARABLE


def test_a_run_without_a_passport_keeps_its_fingerprint_and_its_hash(warehouse: Warehouse) -> None:
    old = a.record("old", region="beijing")
    fill(warehouse, old, captured("plain"), replace(captured("plain"), passport=None))

    found = rows(warehouse, "select run_id, fingerprint, record_sha256 from runs order by run_id")

    assert found[0][1] == found[1][1]


def test_a_node_that_differs_is_listed_though_none_of_its_cards_is_slow(warehouse: Warehouse) -> None:
    record = on_hosts(1, "n-1", "n-2")
    odd = NodeDifference(1, "n-2", "accelerator.firmware", "7.1", "7.5")
    fill(warehouse, replace(record, passport=Passport(2, 2, {"accelerator.firmware": "7.5"}, (odd,))))

    [node] = warehouse.cards.list_slow_nodes(record.region, rehearsal=False, now=NOW)

    assert (node.host, node.slow, node.differs) == ("n-2", 0, "accelerator.firmware 7.1 (7.5)")
