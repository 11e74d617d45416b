"""What runs cost: at the price of their launch, whatever the profile says later; unknown is not zero."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest
import yaml

from aisbench_core.domain.results.record import read_record, write_record
from aisbench_core.model import Run, RunRecord, RunSpec, RunState
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.records.hashed_cells import select_hashed
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.actors import named
from tests.series_bench import PROFILE, SPEC, SeriesBench

HERE = BoardQuery("cn-north-9")


@pytest.fixture
def bench(tmp_path: Path) -> SeriesBench:
    return SeriesBench.on(tmp_path / "data")


def profile(bench: SeriesBench, **changes: object) -> None:
    values = yaml.safe_load(PROFILE) | {"rehearsal": False} | changes
    (bench.core.settings.data_dir / "profiles" / "quiet.yaml").write_text(yaml.safe_dump(values), "utf-8")


def launch(bench: SeriesBench, spec: RunSpec = SPEC) -> Run:
    return bench.core.runs.launch(spec, "quiet", named("ann"))


def priced(run_id: str, price: float | None, currency: str = "CNY", **changes: object) -> RunRecord:
    """A run of 10 minutes on one node that did 8,000 samples/s, unless told otherwise."""
    record = a.record(run_id)
    return replace(record, run=replace(record.run, price_per_node_hour=price, currency=currency, **changes))  # type: ignore[arg-type]  # a test names the fields it means


def test_a_run_keeps_the_price_of_its_launch(bench: SeriesBench) -> None:
    profile(bench, price_per_node_hour={"sandbox.cpu.2cards": 12.5}, currency="USD")
    run = bench.end(launch(bench), hours=2)
    profile(bench, price_per_node_hour={"sandbox.cpu.2cards": 99.0}, currency="CNY")

    overview = bench.core.snapshots.of(run, None).overview
    bench.core.warehouse.record(replace(a.record(run.run_id), run=run))
    recorded = bench.core.warehouse.runs.find_row(run.run_id)

    assert (run.price_per_node_hour, run.currency) == (12.5, "USD")
    assert overview.cost == {"USD": 25.0}
    assert recorded
    assert (recorded.price_per_node_hour, recorded.currency, recorded.cost) == (12.5, "USD", 25.0)


def test_what_turns_out_to_be_a_rehearsal_costs_nothing(warehouse: Warehouse) -> None:
    warehouse.record(replace(priced("one", 12.0), rehearsal=True))

    row = warehouse.runs.find_row("one")

    assert row
    assert (row.price_per_node_hour, row.currency, row.cost) == (None, "", None)


@pytest.mark.parametrize(
    "changes",
    [
        {"price_per_node_hour": {}},
        {"price_per_node_hour": {"another.flavor": 3.0}},
        {"rehearsal": True, "price_per_node_hour": {"sandbox.cpu.2cards": 3.0}},
        {"flavor": "", "pool_id": "pool-1", "price_per_node_hour": {"": 3.0}},
    ],
)
def test_without_a_price_of_the_flavor_a_run_has_no_cost_rather_than_zero(
    bench: SeriesBench, changes: dict[str, object]
) -> None:
    profile(bench, **changes)

    run = bench.end(launch(bench), hours=2)

    assert (run.price_per_node_hour, run.currency) == (None, "")
    assert bench.core.snapshots.of(run, None).overview.cost == {}
    recorded = bench.core.warehouse.runs.find_row(run.run_id)
    assert recorded
    assert (recorded.cost, recorded.cost_per_million_samples, recorded.currency) == (None, None, "")


def test_a_price_of_zero_is_a_price(bench: SeriesBench) -> None:
    profile(bench, price_per_node_hour={"sandbox.cpu.2cards": 0})

    run = bench.end(launch(bench), hours=2)

    assert run.money(run.node_hours(bench.clock())) == {"CNY": 0.0}


@pytest.mark.parametrize("state", [RunState.COMPLETED, RunState.FAILED, RunState.STOPPED])
def test_failed_and_stopped_runs_cost_what_they_ran(warehouse: Warehouse, state: RunState) -> None:
    warehouse.record(priced("one", 12.0, state=state))

    row = warehouse.runs.find_row("one")

    assert row
    assert row.cost == pytest.approx(2.0)


def test_without_a_duration_of_the_platform_start_and_end_count(warehouse: Warehouse) -> None:
    hour_later = a.T0 + timedelta(hours=1)
    warehouse.record(priced("one", 12.0, duration_s=None, started_at=a.T0, ended_at=hour_later))
    warehouse.record(priced("never", 12.0, duration_s=None, started_at=None, ended_at=hour_later))

    rows = {name: warehouse.runs.find_row(name) for name in ("one", "never")}

    assert {name: row and row.cost for name, row in rows.items()} == {"one": 12.0, "never": None}


def test_a_million_samples_cost_the_same_on_any_number_of_nodes(warehouse: Warehouse) -> None:
    for nodes, mode in ((1, "cluster"), (4, "cluster"), (4, "single_server")):
        record = a.record(f"{mode}-{nodes}", node_count=nodes, mode=mode)
        warehouse.record(replace(record, run=replace(record.run, price_per_node_hour=28.8, currency="CNY")))

    rows = [warehouse.runs.find_row(name) for name in ("cluster-1", "cluster-4", "single_server-4")]

    # 28.8 CNY an hour are 0.008 CNY a second, in which a node does 8,000 samples.
    assert [row and row.cost_per_million_samples for row in rows] == pytest.approx([1.0] * 3)
    assert [row and row.cost for row in rows] == pytest.approx([4.8, 19.2, 19.2])


def test_the_leaderboard_has_medians_of_costs_in_one_currency_only(warehouse: Warehouse) -> None:
    warehouse.record_many([priced("one", 12.0), priced("two", 18.0), priced("old", None, "")])
    [row] = warehouse.board.list_rows(HERE).rows
    assert row.cost == pytest.approx(2.5)
    assert row.currency == "CNY"

    warehouse.record(priced("three", 6.0, "USD"))

    [mixed] = warehouse.board.list_rows(replace(HERE, sort="cost")).rows
    assert (mixed.cost, mixed.cost_per_million_samples, mixed.currency, mixed.runs) == (None, None, "", 4)


@pytest.mark.every_store
def test_activity_and_rows_sum_costs_by_currency(warehouse: Warehouse) -> None:
    warehouse.record_many(
        [priced("one", 12.0), priced("two", 18.0), priced("usd", 6.0, "USD"), priced("old", None, "")]
    )

    activity = warehouse.board.summarize_activity(HERE, a.T0)
    row = warehouse.board.find_row("one")

    assert activity.costs == pytest.approx({"CNY": 5.0, "USD": 1.0})
    assert row
    assert row.costs == pytest.approx(activity.costs)
    assert row.node_hours == pytest.approx(4 / 6)


def test_a_record_keeps_its_price_and_its_hash_covers_it(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    record = priced("one", 12.5, "USD")
    files = [tmp_path / name for name in ("record.json", "metrics.jsonl", "events.jsonl")]
    write_record(record, *files)
    warehouse.record_many([record, priced("old", None, "")])
    assert warehouse.check([]).damages == ()

    with duckdb.connect(tmp_path / "warehouse.duckdb") as con:
        con.execute("update runs set price_per_node_hour = 1 where run_id = 'one'")

    assert read_record(*files).run == record.run
    assert "runs, run one" in {damage.where for damage in warehouse.check([]).damages}


def test_a_run_without_a_price_keeps_the_hash_of_a_version_without_prices() -> None:
    before = {"run_id": "one"}
    priced_now = {"price_per_node_hour": 2.5, "currency": "CNY"}

    assert select_hashed(before | {"price_per_node_hour": None, "currency": ""}) == before
    assert select_hashed(before | priced_now) == before | priced_now
