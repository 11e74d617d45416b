"""The interval of a mean is Student's on a log scale, however many runs there are, the same wherever it is shown."""

from dataclasses import replace

import pytest

from aisbench_core.domain.statistics.summary import summarize_values
from aisbench_core.warehouse.answers import views
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a


@pytest.mark.parametrize("warehouse", ["file"], indirect=True)  # the same SQL, and its sums do not know where rows lie
@pytest.mark.parametrize("count", [2, 31, 61, 62, 120])
def test_the_interval_is_that_of_students_t_for_any_number_of_runs(warehouse: Warehouse, count: int) -> None:
    totals = [8000.0 + 37 * (index % 11) for index in range(count)]
    warehouse.rebuild(a.records(totals))
    expected = summarize_values(totals)

    (row,) = warehouse.board.list_rows(BoardQuery("cn-north-9")).rows

    assert expected
    assert (row.ci_low, row.ci_high) == pytest.approx((expected.ci_low, expected.ci_high), rel=1e-9)


@pytest.mark.parametrize("warehouse", ["file"], indirect=True)
def test_two_runs_that_are_far_apart_have_the_same_interval_above_zero_everywhere(warehouse: Warehouse) -> None:
    totals = [32_000.0, 46_000.0]
    warehouse.rebuild(a.records(totals))
    expected = summarize_values(totals)
    assert expected
    interval = pytest.approx((expected.ci_low, expected.ci_high), rel=1e-9)

    (row,) = warehouse.board.list_rows(BoardQuery("cn-north-9")).rows
    run = warehouse.runs.find_row("run-0")
    assert run
    [point] = warehouse.scaling.fetch_curve(run).points
    with warehouse.cursor() as cur:
        views.create(cur)
        [group] = cur.execute("select ci_low, ci_high from v_groups").fetchall()
    [exported] = warehouse.fetch_reported(["run-0", "run-1"], a.T0, "").groups
    compared = warehouse.runs.compare(["run-0", "run-1"]).peers[0].summary

    assert expected.ci_low is not None
    assert 0 < expected.ci_low < 39_000 < 100_000 < (expected.ci_high or 0)
    assert (row.ci_low, row.ci_high) == interval
    assert (point.ci_low, point.ci_high) == interval
    assert group == interval
    assert (exported["ci95_low"], exported["ci95_high"]) == interval
    assert compared == expected


@pytest.mark.parametrize("warehouse", ["file"], indirect=True)
def test_the_statistics_of_a_series_have_it_too(warehouse: Warehouse) -> None:
    totals = [32_000.0, 46_000.0]
    records = [replace(record, run=replace(record.run, series_id="s-1")) for record in a.records(totals)]
    warehouse.rebuild(records)
    expected = summarize_values(totals)

    with warehouse.cursor() as cur:
        views.create(cur)
        [found] = cur.execute("select ci_low, ci_high from v_series").fetchall()

    assert expected
    assert found == pytest.approx((expected.ci_low, expected.ci_high), rel=1e-9)
