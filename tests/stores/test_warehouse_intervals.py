"""The interval of a row of the leaderboard is Student's, however many runs it holds."""

import pytest

from aisbench_core.statistics.summary import summary
from aisbench_core.warehouse import BoardQuery, Warehouse
from tests import records as a


@pytest.mark.parametrize("warehouse", ["file"], indirect=True)  # the same SQL, and its sums do not know where rows lie
@pytest.mark.parametrize("count", [2, 31, 61, 62, 120])
def test_the_interval_is_that_of_students_t_for_any_number_of_runs(warehouse: Warehouse, count: int) -> None:
    totals = [8000.0 + 37 * (index % 11) for index in range(count)]
    warehouse.rebuild(a.records(totals))
    expected = summary(totals)

    (row,) = warehouse.leaderboard(BoardQuery("cn-north-9")).rows

    assert expected
    assert (row.ci_low, row.ci_high) == pytest.approx((expected.ci_low, expected.ci_high), rel=1e-9)
