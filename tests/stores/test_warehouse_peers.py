"""The groups behind compared runs: who counts, how sure their ratio is, and when there is none."""

import pytest

from aisbench_core.warehouse.facade import Warehouse
from tests import records as a

OLD, NEW = [8_000.0, 8_040.0, 7_960.0, 8_020.0], [8_400.0, 8_440.0, 8_360.0, 8_420.0]


def test_a_ratio_of_groups_has_an_interval(warehouse: Warehouse) -> None:
    bad = a.record("bad", framework_version="r2.0", accuracy=7.0)
    warehouse.rebuild([*a.records(OLD, "old"), *a.records(NEW, "new", framework_version="r2.0"), bad])

    one, other = warehouse.runs.compare(["old-0", "new-3"]).peers

    assert one.summary
    assert other.summary
    assert (one.summary.count, other.summary.count, other.summary.mean) == (4, 4, 8_405)
    assert (one.is_baselines, one.difference, other.is_baselines) == (True, None, False)
    assert other.difference
    assert other.difference.ci_low < 8_405 / 8_005 - 1 < other.difference.ci_high
    assert sorted(dot.run_id for dot in other.dots) == ["new-0", "new-1", "new-2", "new-3"]


def test_runs_on_other_node_counts_are_compared_by_node(warehouse: Warehouse) -> None:
    warehouse.rebuild([*a.records(OLD, "one"), *a.records([2 * value for value in NEW], "two", node_count=2)])

    _, two = warehouse.runs.compare(["one-0", "two-0"]).peers

    assert two.summary
    assert two.summary.mean == pytest.approx(8_405)
    assert two.difference
    assert two.difference.change == pytest.approx(8_405 / 8_005 - 1)


@pytest.mark.every_store
def test_there_is_no_ratio_within_a_group_of_single_runs_or_of_other_questions(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [
            *a.records(OLD, "old"),
            a.record("single", framework_version="r2.0"),
            *a.records(NEW, "made-up", synthetic_data=True),
            a.record("broken", framework_version="r3.0", throughputs=[1.0] * 3),
        ]
    )

    peers = warehouse.runs.compare(["old-0", "old-1", "single", "made-up-0", "broken"]).peers

    assert [each.difference for each in peers] == [None] * 5
    assert [each.is_baselines for each in peers] == [True, True, False, False, False]
    assert peers[4].summary is None


def test_a_group_of_which_something_decisive_is_not_known_has_a_mean_but_no_interval(warehouse: Warehouse) -> None:
    tagged = a.records(NEW, "tagged", framework_version="r2.0", image_url="org/image:latest")
    warehouse.rebuild([*a.records(OLD, "old"), *tagged])

    known, mixed = warehouse.runs.compare(["old-0", "tagged-0"]).peers

    assert known.summary
    assert mixed.summary
    assert known.summary.ci_low is not None
    assert (mixed.summary.mean, mixed.summary.ci_low, mixed.summary.ci_high) == (8_405, None, None)
    assert mixed.difference is None
