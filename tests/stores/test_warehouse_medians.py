"""What rows of the leaderboard have the median of, beside throughput and accuracy."""

from dataclasses import replace

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.compared import ComparedBy
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a


def with_power(run_id: str, watts: float | None) -> RunRecord:
    record = a.record(run_id)
    assert record.result is not None
    info = replace(record.result.info, average_power=watts)
    return replace(record, result=replace(record.result, info=info))


def test_the_power_of_a_row_is_the_median_of_the_runs_that_tell_it(warehouse: Warehouse) -> None:
    warehouse.record_many(
        [with_power("one", 300.0), with_power("two", 310.0), with_power("three", 350.0), with_power("silent", None)]
    )

    [row] = warehouse.board.list_rows(BoardQuery("cn-north-9", sort="average_power_w")).rows

    assert row.average_power_w == 310.0


def test_powers_are_compared_and_lower_is_better(warehouse: Warehouse) -> None:
    warehouse.record_many([with_power("one", 300.0), with_power("two", 330.0)])

    for by, values in {ComparedBy.RUNS: [300.0, 330.0], ComparedBy.ROWS: [315.0, 315.0]}.items():
        power = next(
            each for each in warehouse.runs.compare(["one", "two"], by).metrics if each.name == "average_power_w"
        )
        assert [each.value for each in power.values] == values
        assert (power.unit, power.higher_is_better) == ("W", False)
