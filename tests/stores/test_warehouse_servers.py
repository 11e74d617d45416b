"""Single-server runs in the warehouse: each server by itself, their spread, and never a ratio to a cluster."""

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from aisbench_core.maintenance.upgrading.warehouse_tables import upgrade_tables
from aisbench_core.model import Mode, RunRecord, ServerResult
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.compared import Comparability
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.stored_schemas import unpack_file

SINGLE = {"mode": "single_server", "node_count": 3, "cards_per_node": 2}
CARDS = [100.0, 110.0, 100.0, 120.0, 100.0, 130.0]
RESULTS = (ServerResult(0, 210.0, 0.75), ServerResult(1, 220.0, 0.76), ServerResult(2, 230.0, 0.77))


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


def servers_run(run_id: str = "alone", *, synthetic_data: bool = False) -> RunRecord:
    """A run of three servers of two cards, each of which trains alone."""
    record = a.record(run_id, throughputs=CARDS, synthetic_data=synthetic_data, **SINGLE)  # type: ignore[arg-type]
    assert record.result
    return replace(record, result=replace(record.result, server_results=RESULTS))


def test_every_server_is_kept_with_mean_and_spread(warehouse: Warehouse) -> None:
    warehouse.record(servers_run())

    found = warehouse.cards.find_servers("alone")

    assert found is not None
    assert found.results == RESULTS
    assert found.throughput is not None
    told = found.throughput.summary
    assert told.count == 3
    assert [told.mean, told.sd] == pytest.approx([220, 10])
    assert told.cv == pytest.approx(10 / 220)
    assert (found.throughput.lowest, found.throughput.highest) == (210, 230)
    assert found.accuracy is not None
    assert found.accuracy.summary.mean == pytest.approx(0.76)
    run = warehouse.runs.find_row("alone")
    assert run is not None
    assert run.throughput == pytest.approx(told.mean)


def test_what_was_not_measured_stays_empty(warehouse: Warehouse) -> None:
    record = servers_run()
    assert record.result
    results = (ServerResult(0, None, None), ServerResult(1, 220.0, None), ServerResult(2, None, None))
    warehouse.record(replace(record, result=replace(record.result, server_results=results)))

    found = warehouse.cards.find_servers("alone")

    assert found is not None
    assert found.results == results
    assert found.throughput is not None
    assert (found.throughput.summary.count, found.throughput.summary.sd) == (1, None)
    assert found.accuracy is None


def test_accuracy_on_synthetic_data_is_no_measurement(warehouse: Warehouse) -> None:
    warehouse.record(servers_run(synthetic_data=True))

    found = warehouse.cards.find_servers("alone")

    assert found is not None
    assert found.accuracy is None
    assert found.throughput is not None


def test_a_cluster_and_a_run_without_result_have_no_servers(warehouse: Warehouse) -> None:
    warehouse.rebuild([a.record("cluster"), a.record("failed", with_result=False, **SINGLE)])  # type: ignore[arg-type]

    assert warehouse.cards.find_servers("cluster") is None
    assert warehouse.cards.find_servers("failed") is None
    assert warehouse.cards.find_servers("nobody") is None


def test_records_of_before_have_the_sums_of_their_cards(warehouse: Warehouse) -> None:
    warehouse.record(a.record("old", throughputs=CARDS, **SINGLE))  # type: ignore[arg-type]

    found = warehouse.cards.find_servers("old")

    assert found is not None
    assert found.results == tuple(replace(each, accuracy=None) for each in RESULTS)


def test_warehouses_of_before_get_the_sums_of_their_cards(tmp_path: Path) -> None:
    with duckdb.connect(unpack_file(3, tmp_path / "old.duckdb")) as con:
        con.execute("delete from runs; delete from rank_results")
        con.execute("insert into runs (run_id, mode, cards_per_node) values ('a', 'single_server', 2)")
        con.execute("insert into runs (run_id, mode, cards_per_node) values ('b', 'cluster', 2)")
        con.execute("insert into rank_results values ('a', 0, 0, 1.5), ('a', 0, 1, 2.0), ('a', 1, 0, 1.0)")
        con.execute("insert into rank_results values ('b', 0, 0, 1.5), ('b', 0, 1, 2.0)")

        upgrade_tables(con, tmp_path / "old.duckdb")

        found = con.execute("select * from server_results order by server").fetchall()
    assert found == [("a", 0, 3.5, None), ("a", 1, None, None)]


# --- never mixed with clusters ------------------------------------------------------------------------


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("nodes", [1, 3])
def test_single_servers_never_get_a_ratio_against_a_cluster(warehouse: Warehouse, turned: bool, nodes: int) -> None:
    cluster = a.record("cluster", node_count=nodes, cards_per_node=2)
    ids = ["cluster", "alone"] if turned else ["alone", "cluster"]
    warehouse.rebuild([cluster, servers_run()])

    comparison = warehouse.runs.compare(ids)

    assert comparison.verdict is Comparability.NOT_COMPARABLE
    assert "mode" in comparison.reasons
    cells = [cell for metric in comparison.metrics for cell in metric.values[1:]]
    assert all((cell.ratio, cell.difference) == (None, None) for cell in cells)
    assert not any(metric.decides for metric in comparison.metrics)
    assert list(comparison.servers) == ["alone"]


def test_an_imported_result_that_does_not_tell_its_mode_gets_no_ratio_against_single_servers(
    warehouse: Warehouse,
) -> None:
    silent = a.imported("silent", stated=("framework_version", "node_count", "cards_per_node"), cards_per_node=2)
    known = replace(servers_run(), region="imported")
    warehouse.rebuild([silent, known])

    comparison = warehouse.runs.compare(["alone", "silent"])

    assert comparison.verdict is Comparability.NOT_COMPARABLE
    assert "mode" in comparison.reasons


def test_single_servers_of_different_number_are_compared_as_they_are(warehouse: Warehouse) -> None:
    fewer = a.record("fewer", throughputs=[100.0, 110.0], **(SINGLE | {"node_count": 1}))  # type: ignore[arg-type]
    warehouse.rebuild([servers_run(), fewer])

    comparison = warehouse.runs.compare(["fewer", "alone"])

    assert comparison.verdict is Comparability.COMPARABLE
    assert next(metric for metric in comparison.metrics if metric.decides).values[1].ratio == pytest.approx(220 / 210)


def test_single_servers_have_rows_of_their_own_on_the_leaderboard_and_scale_nowhere(warehouse: Warehouse) -> None:
    cluster = a.record("cluster", node_count=3, cards_per_node=2)
    warehouse.rebuild([cluster, servers_run()])

    rows = warehouse.board.list_rows(BoardQuery(region="cn-north-9")).rows

    assert {row.mode: row.latest_run_id for row in rows} == {Mode.CLUSTER: "cluster", Mode.SINGLE_SERVER: "alone"}
    assert len({row.fingerprint for row in rows}) == 2
    assert warehouse.scaling.find_curve("alone").points == ()


def test_packages_and_levels_are_shown_where_they_differ(warehouse: Warehouse) -> None:
    name = "Ascend-cann-nnae_5.0.2.1_linux-aarch64.run"
    one = a.record("one", update={"cann": f"/home/ann/{name}"}, log_levels={"cann": "error"})
    same = a.record("same", update={"cann": f"/home/bob/{name}"}, log_levels={"cann": "error"})
    plain = a.record("plain")
    warehouse.rebuild([one, same, plain])

    fields = {field.field: field.values for field in warehouse.runs.compare(["one", "same", "plain"]).differences}

    assert fields == {"log_levels.cann": ("error", "error", None), "update.cann": (name, name, None)}
