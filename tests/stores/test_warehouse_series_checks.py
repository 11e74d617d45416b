"""Rules about series: repeats that count as one measurement, and those that do not."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.model import AnnotationChange, AnnotationKind, CollectedResult, Run, RunRecord, RunState, stated_of
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery, CheckLevel, SeriesEvaluation
from tests import records as a

ALL = BoardQuery("cn-north-9", include_invalid=True)
CLOSED = stated_of({"division": "closed"})


def repeats(count: int = 5, **changes: object) -> list[RunRecord]:
    """Runs of one series, an hour apart, each with a seed and numbers of its own."""
    return [
        member(
            f"run-{number}",
            number + 1,
            throughputs=[1000.0 + number] * 8,
            created_at=a.T0 + timedelta(hours=number),
            parameters={"epoch_size": 90, "seed": number},
            **changes,
        )
        for number in range(count)
    ]


def member(run_id: str, index: int, **changes: object) -> RunRecord:
    record = a.record(run_id, **changes)  # type: ignore[arg-type]  # a test names the fields it means
    assert record.result is not None
    run = replace(record.run, series_id="s-1", series_index=index)
    return replace(record, run=run, result=replace(record.result, dataset_sha256="da7a"), described=CLOSED)


def judged(warehouse: Warehouse, records: Sequence[RunRecord]) -> SeriesEvaluation:
    warehouse.record_many(records)
    (found,) = warehouse.series.among(ALL)
    return found


def wrong(found: SeriesEvaluation) -> dict[str, CheckLevel]:
    return {check.id: check.level for check in found.checks if check.level is not CheckLevel.OK}


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


def opened(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The same runs in the open division."""
    return [replace(one, described=stated_of({"division": "open"})) for one in records]


def test_a_row_without_a_valid_run_does_not_count(warehouse: Warehouse) -> None:
    found = judged(warehouse, opened([replace(one, result=None) for one in repeats(2)]))

    assert (found.runs, found.valid, found.counts) == (2, 0, False)


def test_five_good_repeats_count(warehouse: Warehouse) -> None:
    found = judged(warehouse, opened(repeats()))

    assert (found.series_id, found.node_count, found.runs, found.valid) == ("s-1", 1, 5, 5)
    assert wrong(found) == {}
    assert found.counts


@pytest.mark.parametrize(
    ("rule", "spoil"),
    [
        ("V08", lambda runs: runs[:4]),
        ("V09", lambda runs: [replace(one, result=_missing_target(one)) for one in runs]),
        ("V11", lambda runs: [*runs[:4], replace(runs[4], run=replace(runs[4].run, code_sha256="other"))]),
        ("V14", lambda runs: [replace(one, result=replace(one.result, dataset_sha256="")) for one in runs]),
        ("V22", lambda runs: [*runs[:4], _throughput(runs[4], 1100.0)]),
        ("V27", lambda runs: [*runs[:4], _throughput(runs[4], 1100.0)]),
        ("V29", lambda runs: [*runs[:4], replace(runs[4], run=_later(runs[4], days=31))]),
        ("V30", lambda runs: [*runs[:4], replace(runs[4], result=runs[3].result)]),
    ],
)
def test_what_spoils_a_series_is_named(warehouse: Warehouse, rule: str, spoil: object) -> None:
    found = judged(warehouse, spoil(opened(repeats())))  # type: ignore[operator]  # a function of the runs

    assert rule in wrong(found)


def test_the_closed_division_asks_for_seeds_and_for_one_run_after_another(warehouse: Warehouse) -> None:
    same_seed = [replace(one, run=replace(one.run, spec=a.spec(parameters={"seed": 7}))) for one in repeats()]
    together = [replace(one, run=replace(one.run, started_at=a.T0)) for one in same_seed]

    found = judged(warehouse, together)

    assert wrong(found)["V12"] is CheckLevel.FAIL
    assert wrong(found)["V28"] is CheckLevel.WARN
    assert not found.counts


def test_each_node_count_is_judged_by_itself_and_runs_without_a_series_are_not(warehouse: Warehouse) -> None:
    two = [member(f"two-{number}", number, node_count=2) for number in range(2)]
    warehouse.record_many([*repeats(), *two, a.record("alone")])

    found = warehouse.series.among(ALL)

    assert [(each.node_count, each.runs) for each in found] == [(1, 5), (2, 2)]


def test_each_version_and_image_is_judged_by_itself(warehouse: Warehouse) -> None:
    newer = [member(f"new-{number}", number, framework_version="r1.11") for number in range(2)]
    built = [member(f"built-{number}", number, image_url="lab/own:1") for number in range(3)]
    warehouse.record_many([*repeats(), *newer, *built])

    found = warehouse.series.evaluations(["s-1"])

    assert [(each.framework_version, each.runs) for each in found] == [("r1.10", 3), ("r1.10", 5), ("r1.11", 2)]
    assert found[0].image == "lab/own:1"
    assert "V11" not in {*wrong(found[0]), *wrong(found[1])}
    assert warehouse.series.evaluations(["another"]) == ()


def test_an_attempt_that_failed_early_spoils_nothing(warehouse: Warehouse) -> None:
    good = opened(repeats())
    lost = a.record("lost", state=RunState.FAILED, with_result=False)
    early = replace(lost, run=replace(lost.run, series_id="s-1", code_sha256=""))

    found = judged(warehouse, [*good, early])

    assert (found.runs, found.valid) == (6, 5)
    assert found.counts
    assert not {"V11", "V14"} & {*wrong(found)}


def test_runs_that_missed_the_target_count_also_where_they_are_not_valid(warehouse: Warehouse) -> None:
    missed = [replace(one, result=_missing_target(one)) for one in repeats(15)[5:]]

    found = judged(warehouse, [*repeats(), *missed])

    (check,) = (check for check in found.checks if check.id == "V09")
    assert (found.runs, found.valid, found.counts) == (15, 0, False)
    assert (check.level, check.found) == (CheckLevel.FAIL, "10 of 15 runs with an accuracy")
    assert check.evidence == "; ".join(f"run-{number}" for number in range(5, 15))


def test_runs_set_aside_stay_in_the_count_of_those_that_missed_the_target(warehouse: Warehouse) -> None:
    missed = [replace(one, result=_missing_target(one)) for one in opened(repeats(7))[5:]]
    warehouse.record_many([*opened(repeats()), *missed])

    for one in missed:
        change = AnnotationChange(a.T0, "ann", AnnotationKind.SET_ASIDE, "looks bad")
        warehouse.annotations.add(one.run.run_id, [change], None)

    (found,) = warehouse.series.among(ALL)
    (check,) = (check for check in found.checks if check.id == "V09")
    assert (found.runs, found.valid) == (7, 5)
    assert check.found == "2 of 7 runs with an accuracy"


def test_the_same_throughput_on_every_card_is_a_copy_whatever_its_times(warehouse: Warehouse) -> None:
    runs = opened(repeats())
    copied = replace(runs[4], result=replace(_result(runs[4]), rank_results=_result(runs[3]).rank_results, raw="later"))

    found = judged(warehouse, [*runs[:4], copied])

    (check,) = (check for check in found.checks if check.id == "V30")
    assert (check.level, check.found, check.evidence) == (CheckLevel.FAIL, "2 identical", "run-3; run-4")
    assert not found.counts


@pytest.mark.parametrize(
    "ruleset_id", ["aisbench/1", "gbt-45087-2024", "gbt-46346-2025", "ieee-2937-2022", "t-cesa-1169-2021"]
)
def test_five_good_runs_beside_ten_that_missed_the_target_do_not_count_in_the_open_division_either(
    warehouse: Warehouse, ruleset_id: str
) -> None:
    every = opened(repeats(15))
    warehouse.record_many([*every[:5], *(replace(one, result=_missing_target(one)) for one in every[5:])])

    (found,) = warehouse.series.among(replace(ALL, ruleset_id=ruleset_id))

    (check,) = (check for check in found.checks if check.id == "V09")
    assert (check.level, check.found) == (CheckLevel.FAIL, "10 of 15 runs with an accuracy")
    assert not found.counts


def test_a_copy_of_an_earlier_run_is_found_in_other_rows_and_series_too(warehouse: Warehouse) -> None:
    """The one that was there first is no copy; what was imported proves nothing against what was launched."""
    runs = opened(repeats())
    alone = replace(
        runs[2], run=replace(runs[2].run, run_id="alone", series_id="", created_at=a.T0 - timedelta(days=1))
    )
    other = replace(runs[0], run=replace(_later(runs[0], days=2), run_id="other-0", series_id="s-2"))
    claimed = a.imported("claimed", reported=1.0, cards_heard=True)
    claimed = replace(
        claimed, result=runs[1].result, workload=runs[1].workload,
        run=replace(claimed.run, spec=runs[1].run.spec, created_at=a.T0 - timedelta(days=1)),
    )  # fmt: skip

    warehouse.record_many([*runs, alone, other, claimed])
    first, second = warehouse.series.among(ALL)

    assert {each.series_id: copies(each) for each in (first, second)} == {
        first.series_id: "run-2 (as alone)",
        "s-2": "other-0 (as run-0)",
    }
    assert not first.counts


def copies(found: SeriesEvaluation) -> str:
    """The runs that V30 names."""
    return next(check.evidence for check in found.checks if check.id == "V30")


def test_the_spread_of_all_runs_that_measured_is_named_with_its_value(warehouse: Warehouse) -> None:
    runs = opened(repeats())
    slow = [_throughput(one, 500.0 + number) for number, one in enumerate(opened(repeats(10)[5:]))]
    invalid = [replace(one, result=_with_accuracy(one, 7.0)) for one in slow]

    found = judged(warehouse, [*runs, *invalid])

    (check,) = (check for check in found.checks if check.id == "V27")
    assert (found.valid, check.level) == (5, CheckLevel.WARN)
    assert check.found == "CV 0.16 % of 5 valid runs; CV 35.04 % of all 10 runs with a throughput"


def test_a_standards_limit_on_the_spread_is_said_to_be_inferred(warehouse: Warehouse) -> None:
    warehouse.record_many(opened(repeats()))

    (found,) = warehouse.series.among(replace(ALL, ruleset_id="ieee-2937-2022"))

    (check,) = (check for check in found.checks if check.id == "V27")
    assert check.expected == "CV at most 2.00 % (inferred: no limit of the standard is known)"


def _result(record: RunRecord) -> CollectedResult:
    assert record.result is not None
    return record.result


def _with_accuracy(record: RunRecord, accuracy: float) -> CollectedResult:
    found = _result(record)
    return replace(found, info=replace(found.info, accuracy=accuracy))


def _missing_target(record: RunRecord) -> CollectedResult:
    return _with_accuracy(record, 0.5)


def _throughput(record: RunRecord, value: float) -> RunRecord:
    assert record.result is not None
    cards = a.cards(record.run.spec, [value] * 8)
    return replace(record, result=replace(record.result, rank_results=cards))


def _later(record: RunRecord, days: int) -> Run:
    late = timedelta(days=days)
    run = record.run
    assert run.submitted_at is not None
    assert run.started_at is not None
    assert run.ended_at is not None
    return replace(
        run,
        created_at=run.created_at + late,
        submitted_at=run.submitted_at + late,
        started_at=run.started_at + late,
        ended_at=run.ended_at + late,
    )
