"""What compared runs come to: who is slower or faster, what is noise, and how many runs are missing for an answer."""

from collections.abc import Iterable

import pytest

from aisbench_core.model import RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.measures.side_verdicts import decide_sides
from aisbench_core.warehouse.values.compared import SideOutcome, SideVerdict
from tests import records as a

OLD = [8_000.0, 8_040.0, 7_960.0, 8_020.0]


def verdicts(warehouse: Warehouse, sides: Iterable[RunRecord], *run_ids: str) -> dict[str, SideVerdict]:
    warehouse.rebuild([*a.records(OLD, "old"), *sides])
    return {verdict.run_id: verdict for verdict in decide_sides(warehouse.runs.compare(["old-0", *run_ids]))}


@pytest.mark.parametrize(
    ("throughputs", "outcome"),
    [
        ([7_500.0, 7_520.0, 7_480.0], SideOutcome.SLOWER),
        ([8_500.0, 8_520.0, 8_480.0], SideOutcome.FASTER),
        ([8_004.0, 8_042.0, 7_962.0, 8_020.0, 8_000.0, 8_010.0], SideOutcome.SIMILAR),
        ([7_000.0, 9_000.0], SideOutcome.UNDECIDED),
        ([8_000.0], SideOutcome.UNDECIDED),
    ],
)
def test_each_side_is_judged_against_the_first(
    warehouse: Warehouse, throughputs: list[float], outcome: SideOutcome
) -> None:
    found = verdicts(warehouse, a.records(throughputs, "new", framework_version="r2.0"), "new-0")["new-0"]

    assert found.outcome is outcome
    assert not found.is_small


def test_a_difference_that_is_sure_but_below_what_is_reported_is_small(warehouse: Warehouse) -> None:
    near = a.records([7_970.0] * 12, "near", framework_version="r2.0")
    warehouse.rebuild([*a.records([8_000.0, 8_001.0, 7_999.0], "old"), *near])

    [found] = decide_sides(warehouse.runs.compare(["old-0", "near-0"]))

    assert (found.outcome, found.is_small) == (SideOutcome.SLOWER, True)


def test_too_few_runs_are_told_how_many_more_would_show_two_per_cent(warehouse: Warehouse) -> None:
    few = a.records([8_000.0], "few", framework_version="r2.0")

    found = verdicts(warehouse, few, "few-0")["few-0"]

    assert (found.visible, found.baseline_missing) == (0.02, 0)
    more = a.records([8_000.0, *OLD[: found.missing]], "few", framework_version="r2.0")
    assert verdicts(warehouse, more, "few-0")["few-0"].outcome is SideOutcome.SIMILAR


def test_of_single_runs_one_more_of_each_is_asked_for(warehouse: Warehouse) -> None:
    warehouse.rebuild([a.record("old"), a.record("new", framework_version="r2.0")])

    [found] = decide_sides(warehouse.runs.compare(["old", "new"]))

    assert (found.outcome, found.baseline_missing, found.missing) == (SideOutcome.UNDECIDED, 1, 1)


def test_runs_that_vary_too_much_are_not_asked_for_hundreds_more(warehouse: Warehouse) -> None:
    wild = a.records([2_000.0, 8_000.0, 30_000.0], "wild", framework_version="r2.0")

    found = verdicts(warehouse, wild, "wild-0")["wild-0"]

    assert (found.outcome, found.baseline_missing, found.missing) == (SideOutcome.UNDECIDED, 0, 0)


def test_beside_runs_that_vary_too_much_a_single_run_still_needs_one_more_for_an_interval(warehouse: Warehouse) -> None:
    wild = a.records([2_000.0, 8_000.0, 30_000.0], "wild")
    warehouse.rebuild([*wild, a.record("one", framework_version="r2.0")])

    [found] = decide_sides(warehouse.runs.compare(["wild-0", "one"]))

    assert (found.outcome, found.visible, found.missing) == (SideOutcome.UNDECIDED, 0.0, 1)


def test_where_there_is_no_verdict_the_reason_is_named(warehouse: Warehouse) -> None:
    sides = [
        *a.records(OLD, "tagged", framework_version="r2.0", image_url="org/image:latest"),
        *a.records(OLD, "made-up", synthetic_data=True),
        a.record("broken", framework_version="r3.0", throughputs=[1.0] * 3),
    ]

    found = verdicts(warehouse, sides, "old-1", "tagged-0", "made-up-0", "broken")

    assert {run_id: verdict.outcome for run_id, verdict in found.items()} == {
        "old-1": SideOutcome.REPEATED,
        "tagged-0": SideOutcome.NOT_KNOWN,
        "made-up-0": SideOutcome.NOT_COMPARABLE,
        "broken": SideOutcome.NOT_MEASURED,
    }


def test_a_run_of_another_question_changes_no_verdict_of_the_others(warehouse: Warehouse) -> None:
    sides = [
        *a.records([2 * value for value in OLD], "two", node_count=2),
        *a.records(OLD, "made-up", synthetic_data=True),
    ]

    mixed = verdicts(warehouse, sides, "two-0", "made-up-0")["two-0"]
    alone = verdicts(warehouse, sides, "two-0")["two-0"]

    assert alone.outcome is SideOutcome.SIMILAR, "per node"
    assert (mixed.outcome, mixed.difference) == (alone.outcome, alone.difference)
    peers = warehouse.runs.compare(["old-0", "two-0", "made-up-0"]).peers
    assert peers[2].difference is None
