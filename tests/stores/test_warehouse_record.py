"""Recording: what is stored of a run, that storing it again changes nothing, and what its checks say."""

import json
from contextlib import closing
from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aisbench_core.model import Event, Level, MetricSample, Mode, RankResult, RunRecord, RunState, TrainResultInfo
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.open.reading import make_reader
from aisbench_core.warehouse.values.runs import BoardQuery, CheckLevel, RunRow, TargetOutcome, Validity
from tests import records as a
from tests.stored_cards import rank_results_of

EVERYTHING = BoardQuery("cn-north-9", include_invalid=True, sort="run_id", limit=1000)


def stored(warehouse: Warehouse, record: RunRecord) -> RunRow:
    warehouse.record(record)
    row = warehouse.runs.find_row(record.run.run_id)
    assert row is not None
    return row


def content(warehouse: Warehouse) -> dict[str, list[tuple[object, ...]]]:
    tables = ("runs", "results", "rank_results", "metric_samples", "events")
    with warehouse.cursor() as cur:
        return {table: cur.execute(f"from {table} order by all").fetchall() for table in tables}


def levels(row: RunRow) -> dict[str, CheckLevel]:
    return {check.id: check.level for check in row.checks}


def with_info(record: RunRecord, **info: object) -> RunRecord:
    assert record.result is not None
    changed = replace(record.result.info, **info)  # type: ignore[arg-type]  # a test names the keys it means
    return replace(record, result=replace(record.result, info=changed))


def test_a_cluster_run_is_worth_the_sum_of_its_cards(warehouse: Warehouse) -> None:
    row = stored(warehouse, a.record(node_count=2, throughputs=[1000.0] * 8 + [900.0] * 8))

    assert row.throughput == 15_200
    assert row.per_node == 7_600
    assert row.per_card == 950
    assert row.ranks_found == row.ranks_expected == 16
    assert row.validity is Validity.VALID


def test_single_servers_are_worth_the_mean_of_their_sums(warehouse: Warehouse) -> None:
    record = a.record(node_count=2, mode=Mode.SINGLE_SERVER, throughputs=[1000.0] * 8 + [900.0] * 8)

    row = stored(warehouse, record)

    assert row.throughput == row.per_node == 7_600
    assert row.per_card == 950
    assert row.validity is Validity.VALID


@pytest.mark.every_store
def test_times_come_back_as_they_were_whatever_zone_they_had(warehouse: Warehouse) -> None:
    shanghai = timezone(timedelta(hours=8))
    record = a.record(created_at=a.T0.astimezone(shanghai))

    row = stored(warehouse, record)

    assert row.created_at == a.T0
    assert row.created_at.utcoffset() == timedelta(0)
    assert row.queue_s == 10


def test_recording_twice_changes_nothing(warehouse: Warehouse) -> None:
    sample = MetricSample(a.T0, 0, "npuUtil", 91.5)
    event = Event("run-1", a.T0, "follower", Level.INFO, "completed", "ann")
    record = a.record(samples=(sample,), events=(event,))
    warehouse.record(record)
    once = content(warehouse)

    warehouse.record(record)

    assert content(warehouse) == once
    assert [len(rows) for rows in once.values()] == [1, 1, 8, 1, 1]


@pytest.mark.every_store
def test_recording_again_replaces_what_was_known_before(warehouse: Warehouse) -> None:
    warehouse.record(a.record(throughputs=[1.0] * 8))

    row = stored(warehouse, a.record(throughputs=[2.0] * 8))

    assert row.throughput == 16
    assert len(rank_results_of(warehouse, "run-1")) == 8


def test_a_record_is_known_by_a_hash_that_follows_its_content(warehouse: Warehouse) -> None:
    first = stored(warehouse, a.record()).record_sha256

    assert stored(warehouse, a.record()).record_sha256 == first
    assert stored(warehouse, a.record(throughputs=[999.0] * 8)).record_sha256 != first


@pytest.mark.every_store
def test_the_raw_block_is_kept_byte_for_byte(warehouse: Warehouse) -> None:
    record = a.record()
    assert record.result is not None
    raw = '{\n   "average_power" : 0,\r\n "note": "é, 训练, \'quoted\'"}'

    warehouse.record(replace(record, result=replace(record.result, raw=raw)))

    with warehouse.cursor() as cur:
        assert cur.execute("select raw from results").fetchall() == [(raw,)]


@pytest.mark.every_store
def test_what_was_not_measured_is_empty_and_zero_stays_zero(warehouse: Warehouse) -> None:
    row = stored(warehouse, with_info(a.record(), average_power=0.0))

    assert "average_power" not in row.not_measured
    assert "max_power" in row.not_measured
    with warehouse.cursor() as cur:
        assert cur.execute("select average_power, max_power from results").fetchall() == [(0.0, None)]


def test_a_run_without_a_result_is_incomplete(warehouse: Warehouse) -> None:
    row = stored(warehouse, a.record(state=RunState.FAILED, with_result=False))

    assert row.validity is Validity.INCOMPLETE
    assert row.throughput is None
    assert len(row.not_measured) == 15


def test_a_stopped_run_is_not_valid_even_with_a_whole_result(warehouse: Warehouse) -> None:
    assert stored(warehouse, a.record(state=RunState.STOPPED)).validity is Validity.INCOMPLETE


def test_a_run_that_is_still_collecting_counts_as_its_verdict_says(warehouse: Warehouse) -> None:
    record = a.record()
    collecting = replace(record.run, state=RunState.COLLECTING, final_state=RunState.COMPLETED)

    row = stored(warehouse, replace(record, run=collecting))

    assert row.state is RunState.COMPLETED
    assert row.validity is Validity.VALID


def test_a_missing_rank_makes_a_result_invalid_and_never_a_smaller_sum(warehouse: Warehouse) -> None:
    record = a.record()
    assert record.result is not None
    short = replace(record.result, rank_results=record.result.rank_results[:-1])

    row = stored(warehouse, replace(record, result=short))

    assert row.throughput is None
    assert row.validity is Validity.INVALID
    assert levels(row)["V03"] is CheckLevel.FAIL
    assert row.reasons[0].id == "V01"


def test_the_same_rank_twice_is_not_a_whole_result(warehouse: Warehouse) -> None:
    record = a.record()
    assert record.result is not None
    twice = (*record.result.rank_results[:-1], RankResult(0, 0, 1000.0))

    row = stored(warehouse, replace(record, result=replace(record.result, rank_results=twice)))

    assert levels(row)["V03"] is CheckLevel.FAIL


def test_fewer_ranks_than_cards_were_paid_for_are_not_valid(warehouse: Warehouse) -> None:
    record = a.record(throughputs=[1000.0] * 4)
    assert record.result is not None

    row = stored(warehouse, replace(record, result=replace(record.result, ranks_expected=4)))

    assert levels(row)["V03"] is CheckLevel.FAIL


def test_a_straggler_is_named_and_only_warned_about(warehouse: Warehouse) -> None:
    row = stored(warehouse, a.record(throughputs=[1000.0] * 7 + [949.0]))

    assert row.straggler_ranks == "7"
    assert levels(row)["V05"] is CheckLevel.WARN
    assert row.validity is Validity.VALID


def test_stragglers_of_single_servers_say_on_which_server(warehouse: Warehouse) -> None:
    slow = [1000.0] * 15 + [1.0]

    row = stored(warehouse, a.record(node_count=2, mode=Mode.SINGLE_SERVER, throughputs=slow))

    assert row.straggler_ranks == "1/7"


def test_a_problem_that_collecting_found_makes_a_result_invalid(warehouse: Warehouse) -> None:
    record = a.record()
    assert record.result is not None

    row = stored(warehouse, replace(record, result=replace(record.result, problems=("accuracy.json is empty",))))

    assert row.validity is Validity.INVALID
    assert "accuracy.json is empty" in row.reasons[0].found


@pytest.mark.parametrize(
    ("accuracy", "level", "outcome"),
    [
        (0.76, CheckLevel.OK, TargetOutcome.REACHED),
        (0.75, CheckLevel.WARN, TargetOutcome.MISSED),
        (1.0, CheckLevel.OK, TargetOutcome.REACHED),
        (0.0, CheckLevel.FAIL, TargetOutcome.MISSED),
        (71.4, CheckLevel.FAIL, TargetOutcome.REACHED),
        (None, CheckLevel.FAIL, TargetOutcome.NOT_MEASURED),
        (float("nan"), CheckLevel.FAIL, TargetOutcome.NOT_MEASURED),
    ],
)
def test_accuracy_is_a_share_and_a_missed_target_is_a_warning(
    warehouse: Warehouse, accuracy: float | None, level: CheckLevel, outcome: TargetOutcome
) -> None:
    row = stored(warehouse, a.record(accuracy=accuracy))

    assert levels(row)["V06"] is level
    assert row.target_outcome is outcome


@pytest.mark.parametrize(("accuracy", "found"), [(1 / 12, "0.08333"), (0.75899, "0.75899"), (0.758, "0.758")])
def test_a_missed_accuracy_is_rounded_but_never_to_its_target(
    warehouse: Warehouse, accuracy: float, found: str
) -> None:
    row = stored(warehouse, a.record(accuracy=accuracy))

    assert [(check.expected, check.found) for check in row.reasons if check.id == "V06"] == [("at least 0.759", found)]


def test_accuracy_on_synthetic_data_is_kept_but_is_no_measurement(warehouse: Warehouse) -> None:
    row = stored(warehouse, a.record(synthetic_data=True))

    assert row.accuracy is None
    assert row.accuracy_reported == 0.76
    assert "accuracy" in row.not_measured
    assert row.validity is Validity.VALID
    assert levels(row)["V06"] is CheckLevel.WARN


def test_no_accuracy_is_asked_for_on_synthetic_data_without_a_target(warehouse: Warehouse) -> None:
    no_target = replace(a.FACTS, accuracy_target=None)
    row = stored(warehouse, a.record(synthetic_data=True, accuracy=None, facts=no_target))
    real = stored(warehouse, a.record("real", accuracy=None, facts=no_target))

    assert levels(row)["V06"] is CheckLevel.OK
    assert [check.expected for check in row.checks if check.id == "V06"] == [
        "not applicable: synthetic data, and no target"
    ]
    assert levels(real)["V06"] is CheckLevel.FAIL


def test_a_period_that_ends_before_it_starts_is_warned_about(warehouse: Warehouse) -> None:
    row = stored(warehouse, with_info(a.record(), proc_start_time=a.T0, proc_end_time=a.T0 - timedelta(seconds=1)))

    assert levels(row)["V02"] is CheckLevel.WARN


def test_a_period_without_length_is_in_order(warehouse: Warehouse) -> None:
    row = stored(warehouse, with_info(a.record(), proc_start_time=a.T0, proc_end_time=a.T0))

    assert levels(row)["V02"] is CheckLevel.OK


@pytest.mark.parametrize("total", [timedelta(hours=1), timedelta(days=400)])
def test_a_period_that_only_a_wrong_clock_can_explain_is_not_measured_and_named(
    warehouse: Warehouse, total: timedelta
) -> None:
    times = {"total_start_time": a.T0, "total_end_time": a.T0 + total}
    prepared = {"prepare_start_time": a.T0, "prepare_end_time": a.T0 + timedelta(days=365)}

    row = stored(warehouse, with_info(a.record(), **times, **prepared))

    (check,) = [each for each in row.checks if each.id == "V02"]
    assert check.level is CheckLevel.WARN
    assert check.found.startswith("prepare")
    with closing(make_reader(warehouse.location)) as opened, opened.cursor() as cur:
        [(prepare_s, total_s)] = cur.execute("select prepare_s, total_s from v_runs").fetchall()
    assert prepare_s is None
    assert total_s == (3600 if total < timedelta(days=1) else None)


def test_a_reported_throughput_that_is_not_the_sum_is_warned_about(warehouse: Warehouse) -> None:
    row = stored(warehouse, with_info(a.record(), throughput_ratio=8001.0))

    assert levels(row)["V04"] is CheckLevel.WARN
    assert row.throughput == 8000
    assert row.throughput_reported == 8001


def test_the_mean_utilisation_comes_from_the_samples_that_are_percentages(warehouse: Warehouse) -> None:
    values = (90.0, 80.0, -1.0, float("nan"))
    samples = tuple(MetricSample(a.T0, 0, "npuUtil", value) for value in values)

    row = stored(warehouse, a.record(samples=samples))

    assert row.npu_util_avg_pct == 85


@pytest.mark.every_store
def test_rebuilding_makes_the_content_equal_to_the_records(warehouse: Warehouse) -> None:
    for record in a.records([8000, 8100, 8200], prefix="old"):
        warehouse.record(record)
    kept = a.records([8000.0] * 450, prefix="new")

    count = warehouse.rebuild(iter(kept))

    assert count == 450
    assert warehouse.runs.list_rows(EVERYTHING).total == 450
    assert warehouse.runs.find_row("old-0") is None


def test_rebuilding_an_empty_warehouse_row_by_row_gives_the_same_content(tmp_path: Path) -> None:
    one_by_one, rebuilt = Warehouse(tmp_path / "a.duckdb"), Warehouse(tmp_path / "b.duckdb")
    some = [*a.records([8000, 8100]), a.record("bad", with_result=False), a.record("odd", throughputs=[-1.0] * 8)]
    for record in some:
        one_by_one.record(record)

    rebuilt.rebuild(some)

    assert content(one_by_one) == content(rebuilt)


@pytest.mark.every_store
def test_the_revision_changes_with_the_content_and_not_with_reading(warehouse: Warehouse) -> None:
    revisions = [warehouse.revision()]
    for record in a.records([8000, 8100, 8200, 8300, 8400]):
        warehouse.record(record)
        revisions.append(warehouse.revision())
        warehouse.board.list_rows(EVERYTHING_BOARD)
        assert warehouse.revision() == revisions[-1]

    assert len(set(revisions)) == len(revisions)


EVERYTHING_BOARD = BoardQuery("cn-north-9", include_invalid=True)

NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([float("nan"), float("inf"), -1.0, 0.0, 1e308, 5e-324, 1e-300]),
)


ODD = st.tuples(st.lists(NUMBERS, min_size=8, max_size=8), st.text(), NUMBERS)


def odd_run(run_id: str, numbers: list[float], text: str, other: float) -> RunRecord:
    """A run whose cards, accuracy, power and words are these."""
    odd = a.record(run_id, throughputs=numbers, accuracy=other, created_by=text, environments={"NOTE": text})
    odd = with_info(odd, average_power=other, resource_util_ratio=other)
    return replace(odd, run=replace(odd.run, duration_s=other, detail=text))


@pytest.mark.every_store
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(several=st.lists(ODD, min_size=4, max_size=4))
def test_no_number_and_no_text_breaks_recording_or_asking(
    warehouse: Warehouse, several: list[tuple[list[float], str, float]]
) -> None:
    odd = [odd_run(f"odd-{number}", *each) for number, each in enumerate(several)]
    for each in (*odd, a.record("fine")):
        warehouse.record(each)
    once = content(warehouse)

    for each in odd:
        warehouse.record(each)

    assert content(warehouse) == once
    # Their environment has a variable with the text, without blanks around it, which may decide speed.
    assert warehouse.board.list_rows(EVERYTHING_BOARD).total == len({text.strip() for _, text, _ in several}) + 1
    assert warehouse.runs.list_rows(EVERYTHING).total == 5
    compared = warehouse.runs.compare(["fine", *(each.run.run_id for each in odd)])
    json.dumps([[value.ratio for value in metric.values] for metric in compared.metrics], allow_nan=False)
    for each in odd:
        json.dumps(
            [point.throughput for point in warehouse.scaling.find_curve(each.run.run_id).points], allow_nan=False
        )


def test_an_empty_info_block_measures_nothing(warehouse: Warehouse) -> None:
    record = a.record()
    assert record.result is not None

    row = stored(warehouse, replace(record, result=replace(record.result, info=TrainResultInfo())))

    assert row.throughput == 8000
    assert row.throughput_reported is None
    assert row.validity is Validity.INVALID
