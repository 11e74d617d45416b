"""History and verdicts from the warehouse: which runs belong together, in which order, and what is left out and why."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.base.errors import RunNotFound, SpecError
from aisbench_core.model import AnnotationChange, AnnotationKind, RunRecord, RunState
from aisbench_core.warehouse.answers.history import MAX_RUNS
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.histories import BaselineReason, History, Outcome, TrendRow, VersionField
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.actors import TESTER, named

BOARD = BoardQuery("cn-north-9")
GOOD = (8000.0, 8040.0, 7960.0, 8020.0, 7980.0, 8010.0)
BAD = (7500.0, 7540.0, 7460.0)


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


def later(records: Sequence[RunRecord], minutes: float, drift: timedelta | None = None) -> list[RunRecord]:
    """The same runs so much later; `drift` moves the clock that launched them, not the cloud's."""
    by = timedelta(minutes=minutes)
    return [
        replace(
            each,
            run=replace(
                each.run,
                created_at=each.run.created_at + (by if drift is None else drift),
                started_at=each.run.started_at + by if each.run.started_at else None,
            ),
        )
        for each in records
    ]


def two_versions(good: Sequence[float] = GOOD, bad: Sequence[float] = BAD) -> list[RunRecord]:
    return [*a.records(good, "old"), *later(a.records(bad, "new", framework_version="r1.11"), 100)]


def only_group(warehouse: Warehouse, query: BoardQuery = BOARD) -> TrendRow:
    (row,) = warehouse.trends.list_rows(query).rows
    return row


def only_history(warehouse: Warehouse) -> History:
    return warehouse.trends.fetch_history(only_group(warehouse))


def test_an_empty_warehouse_has_no_history(warehouse: Warehouse) -> None:
    assert warehouse.trends.list_rows(BOARD).rows == ()
    assert warehouse.trends.list_verdicts(BOARD).outcome is Outcome.NOT_ENOUGH
    assert warehouse.trends.list_baselines() == []


def test_a_slower_version_is_found_from_what_was_recorded(warehouse: Warehouse) -> None:
    warehouse.rebuild(two_versions())

    history = only_history(warehouse)

    assert [run.run_id for run in history.runs][:2] == ["old-0", "old-1"]
    assert (history.verdict.baseline, history.verdict.candidate) == ("r1.10", "r1.11")
    verdicts = {metric.name: metric.outcome for metric in history.verdict.metrics}
    assert verdicts["throughput"] is Outcome.REGRESSION
    assert verdicts["accuracy"] is Outcome.NO_CHANGE
    assert "energy_consumption" not in verdicts
    assert [(each.run_id, each.value) for each in history.boundaries] == [("new-0", "r1.11")]


def test_a_run_of_the_newest_version_knows_how_far_it_is_from_its_baseline(warehouse: Warehouse) -> None:
    warehouse.rebuild([*two_versions(), *a.records(GOOD, "wide", node_count=2)])

    gaps = {}
    for run_id in ("new-1", "old-1", "wide-1"):
        run = warehouse.runs.find_row(run_id)
        assert run
        verdict = warehouse.trends.find_verdict(run)
        assert verdict
        gaps[run_id] = verdict.gap_of(run_id)

    gap = gaps["new-1"]
    assert gap
    assert (gap.baseline, gap.baseline_run_id, gap.runs, gap.before) == ("r1.10", "old-5", 3, 6)
    assert gap.difference.change == pytest.approx(7500 / 8001.67 - 1, abs=1e-4)
    assert gap.difference.ci_high < 0
    assert (gaps["old-1"], gaps["wide-1"]) == (None, None), "a baseline is not held against itself"


def test_only_the_same_question_on_the_same_hardware_is_one_group(warehouse: Warehouse) -> None:
    other_unit = replace(a.FACTS, throughput_unit="tokens/s")
    other_definition = replace(a.FACTS, throughput_definition="another_way")
    warehouse.rebuild(
        [
            *two_versions(),
            *a.records(GOOD, "unit", facts=other_unit),
            *a.records(GOOD, "definition", facts=other_definition),
            *a.records(GOOD, "nodes", node_count=2),
            *a.records(GOOD, "flavor", flavor="another"),
            *a.records(GOOD, "epochs", speed_parameters={"epoch_size": 1}),
            *a.records(GOOD, "synthetic", synthetic_data=True),
            *a.records(GOOD, "pretended", rehearsal=True),
            *a.records(GOOD, "elsewhere", region="cn-east-3"),
        ]
    )

    page = warehouse.trends.list_rows(BOARD)

    assert page.total == len(page.rows) == len({row.group.id for row in page.rows}) == 7
    for row in page.rows:
        prefixes = {run.run_id.split("-")[0] for run in warehouse.trends.fetch_history(row).runs}
        assert prefixes in ({"old", "new"}, {row.latest_run_id.split("-")[0]})


def test_groups_come_page_by_page_the_latest_first(warehouse: Warehouse) -> None:
    warehouse.rebuild(
        [each for nodes in (1, 2, 4) for each in later(a.records([1.0], f"n{nodes}", node_count=nodes), nodes)]
    )

    pages = [warehouse.trends.list_rows(replace(BOARD, limit=2, offset=offset)) for offset in (0, 2)]

    assert [row.group.node_count for page in pages for row in page.rows] == [4, 2, 1]
    assert pages[0].total == 3
    assert [row.group.node_count for row in warehouse.trends.list_rows(replace(BOARD, node_counts=(2,))).rows] == [2]


def test_runs_that_are_not_valid_do_not_count_and_say_why(warehouse: Warehouse) -> None:
    broken = a.record("broken", throughputs=[1.0] * 3, created_at=a.T0 + timedelta(days=1))
    stopped = a.record("stopped", state=RunState.STOPPED, with_result=False, created_at=a.T0 + timedelta(days=1))
    warehouse.rebuild([*two_versions(), broken, stopped])

    without, with_all = (
        only_history(warehouse),
        warehouse.trends.fetch_history(only_group(warehouse), include_invalid=True),
    )

    assert {"broken", "stopped"}.isdisjoint(run.run_id for run in without.runs)
    assert without.verdict == with_all.verdict
    reasons = {run.run_id: run.left_out["duration_s"] for run in with_all.runs if not run.values}
    assert set(reasons) == {"broken", "stopped"}
    assert "V03" in reasons["broken"]
    assert only_group(warehouse).valid == 9


def test_imported_runs_whose_time_is_not_known_have_no_place_in_a_history(warehouse: Warehouse) -> None:
    """Their versions would be ordered by chance, and with them the verdict."""
    imported = a.T0 + timedelta(days=1)
    slow = [a.imported(f"a-{n}", reported=value, created_at=imported) for n, value in enumerate(BAD)]
    fast = [
        a.imported(f"b-{n}", reported=value, created_at=imported, framework_version="r1.11")
        for n, value in enumerate(GOOD)
    ]
    dated = [a.imported(f"c-{n}", reported=value, framework_version="r1.12") for n, value in enumerate(GOOD)]
    warehouse.rebuild(map(a.all_known, [*slow, *fast, *dated]))

    (judged,) = warehouse.trends.list_verdicts(BoardQuery("imported")).groups
    history = warehouse.trends.fetch_history(judged.row)

    assert (judged.verdict.outcome, judged.timeless) == (Outcome.NO_CHANGE, 9)
    assert set(judged.verdict.candidate_run_ids) <= {f"c-{n}" for n in range(6)}
    assert {run.left_out["throughput"] for run in history.runs if not run.values} == {"time not known"}


def test_numbers_that_are_no_numbers_are_left_out_with_a_reason(warehouse: Warehouse) -> None:
    warehouse.rebuild(two_versions())
    with warehouse.cursor() as cur:
        cur.execute("update results set rank_cv = 'nan'::DOUBLE where run_id = 'old-0'")
        cur.execute("update results set accuracy_measured = 'inf'::DOUBLE where run_id = 'old-1'")

    history = only_history(warehouse)

    left_out = {run.run_id: run.left_out for run in history.runs}
    assert left_out["old-0"]["rank_cv"] == left_out["old-1"]["accuracy"] == "not a finite number"
    assert left_out["old-0"]["energy_consumption"] == "not measured"
    counts = {metric.name: metric.baseline.count for metric in history.verdict.metrics if metric.baseline}
    assert counts == {"throughput": 6, "accuracy": 5, "duration_s": 6, "rank_cv": 5}


def test_the_same_moment_twice_has_one_order_and_a_wrong_clock_is_the_clouds_business(warehouse: Warehouse) -> None:
    same = [replace(each, run=replace(each.run, created_at=a.T0, started_at=a.T0)) for each in a.records(GOOD, "same")]
    jumped = later(a.records(BAD, "jumped", framework_version="r1.11"), 100, drift=timedelta(days=-400))
    ahead = later(a.records([8000.0], "ahead"), -10, drift=timedelta(days=400))
    warehouse.rebuild([*reversed(same), *jumped, *ahead])

    history = only_history(warehouse)

    ids = [run.run_id for run in history.runs]
    assert ids == ["ahead-0", *(f"same-{index}" for index in range(6)), *(f"jumped-{index}" for index in range(3))]
    assert history.clock_doubts == 1


def test_a_long_history_shows_its_newest_runs_and_the_baseline(warehouse: Warehouse) -> None:
    warehouse.rebuild(a.records([8000.0 + index % 7 for index in range(MAX_RUNS + 20)], "run"))
    row = only_group(warehouse)

    newest, with_old = (
        warehouse.trends.fetch_history(row),
        warehouse.trends.fetch_history(row, names=["run-0", "run-1"]),
    )

    assert (len(newest.runs), newest.older) == (MAX_RUNS, 20)
    assert newest.runs[-1].run_id == f"run-{MAX_RUNS + 19}"
    assert with_old.verdict.baseline_run_ids == ("run-0", "run-1")
    assert (with_old.verdict.rule, len(with_old.runs)) == (BaselineReason.REQUESTED, MAX_RUNS)


# --- verdicts on many groups ------------------------------------------------------------------------


def test_one_answer_judges_every_group_and_adjusts_over_all_of_them(warehouse: Warehouse) -> None:
    calm = [
        *a.records(GOOD, "calm", node_count=2),
        *later(a.records(GOOD, "also", node_count=2, framework_version="r2"), 9),
    ]
    warehouse.rebuild([*two_versions(), *calm, *a.records([1.0], "lonely", node_count=4)])

    found = warehouse.trends.list_verdicts(BOARD)

    outcomes = [(each.row.group.node_count, each.verdict.outcome) for each in found.groups]
    assert outcomes == [(1, Outcome.REGRESSION), (2, Outcome.NO_CHANGE), (4, Outcome.NOT_ENOUGH)]
    assert found.outcome is Outcome.REGRESSION
    judgements = [each.verdict for each in found.groups]
    tested = [metric for each in judgements for metric in (*each.metrics, *each.within) if metric.p_value is not None]
    assert found.tests == len(tested)
    assert {each.verdict.tests for each in found.groups} == {found.tests}


def test_a_baseline_is_asked_for_by_version_or_by_run(warehouse: Warehouse) -> None:
    newest = later(a.records(BAD, "newest", framework_version="r1.12"), 200)
    warehouse.rebuild([*two_versions(), *newest, *a.records(GOOD, "other", node_count=2)])

    by_version, by_run = (
        warehouse.trends.list_verdicts(BOARD, names=names) for names in (["r1.10"], ["new-0", "new-1"])
    )

    (other, first) = sorted(by_version.groups, key=lambda each: -each.row.group.node_count)
    assert (first.verdict.baseline, first.verdict.candidate) == ("r1.10", "r1.12")
    assert other.verdict.outcome is Outcome.NOT_ENOUGH
    (only,) = by_run.groups
    assert only.verdict.baseline_run_ids == ("new-0", "new-1")
    assert only.verdict.candidate == "r1.12"
    with pytest.raises(RunNotFound, match=r"r9"):
        warehouse.trends.list_verdicts(BOARD, names=["r9"])


# --- marked baselines -------------------------------------------------------------------------------


def test_a_marked_version_stays_the_baseline_until_it_is_unmarked(warehouse: Warehouse) -> None:
    newest = later(a.records(BAD, "newest", framework_version="r1.12"), 200)
    warehouse.rebuild([*two_versions(), *newest])

    marked = warehouse.mark_baseline(["old-0"], VersionField.FRAMEWORK, named("ann"), a.T0)

    assert (marked.names, warehouse.trends.list_baselines()) == (("r1.10",), [marked])
    history = only_history(warehouse)
    assert (history.verdict.rule, history.verdict.baseline) == (BaselineReason.MARKED, "r1.10")
    assert history.row.baseline == marked
    assert warehouse.unmark_baseline(marked.group.id, actor=TESTER)
    assert not warehouse.unmark_baseline(marked.group.id, actor=TESTER)
    assert only_history(warehouse).verdict.rule is BaselineReason.VERSION_BEFORE


def test_a_new_mark_takes_the_place_of_the_old_one(warehouse: Warehouse) -> None:
    warehouse.rebuild(two_versions())
    warehouse.mark_baseline(["old-0"], VersionField.FRAMEWORK, named("ann"), a.T0)

    warehouse.mark_baseline(["old-1", "old-2"], None, named("bob"), a.T0 + timedelta(days=1))

    (baseline,) = warehouse.trends.list_baselines()
    assert (baseline.field, baseline.names, baseline.marked_by) == (None, ("old-1", "old-2"), "bob")
    assert only_history(warehouse).verdict.baseline_run_ids == ("old-1", "old-2")


def test_a_marked_baseline_of_which_no_run_counts_gives_way_until_one_does(warehouse: Warehouse) -> None:
    warehouse.rebuild(two_versions())
    warehouse.mark_baseline(["old-0", "old-1"], None, named("ann"), a.T0)
    aside = AnnotationChange(a.T0, "ann", AnnotationKind.SET_ASIDE, "cold cache")

    warehouse.annotations.add("old-0", [aside], None)
    assert only_history(warehouse).verdict.baseline_run_ids == ("old-1",)
    warehouse.annotations.add("old-1", [aside], None)

    history = only_history(warehouse)
    assert history.verdict.rule is BaselineReason.VERSION_BEFORE
    assert history.verdict.baseline_run_ids
    assert not {"old-0", "old-1"} & {*history.verdict.baseline_run_ids}
    again = AnnotationChange(a.T0 + timedelta(days=1), "bob", AnnotationKind.SET_ASIDE, "")
    warehouse.annotations.add("old-1", [again], None)
    assert only_history(warehouse).verdict.baseline_run_ids == ("old-1",)


def test_a_rebuild_keeps_the_marks(warehouse: Warehouse) -> None:
    warehouse.rebuild(two_versions())
    marked = warehouse.mark_baseline(["old-0"], VersionField.FRAMEWORK, named("ann"), a.T0)

    warehouse.rebuild(two_versions())

    assert warehouse.trends.list_baselines() == [marked]


def test_what_cannot_be_a_baseline_is_refused_with_every_reason(warehouse: Warehouse) -> None:
    broken = a.record("broken", throughputs=[1.0] * 3)
    warehouse.rebuild([*two_versions(), *a.records(GOOD, "wide", node_count=2), broken])

    with pytest.raises(RunNotFound, match="gone"):
        warehouse.mark_baseline(["old-0", "gone"], None, named("ann"), a.T0)
    with pytest.raises(RunNotFound, match="none was named"):
        warehouse.mark_baseline([], None, named("ann"), a.T0)
    with pytest.raises(SpecError) as refusal:
        warehouse.mark_baseline(["old-0", "wide-0", "broken"], None, named("ann"), a.T0)

    assert "one group" in str(refusal.value)
    assert "valid" in str(refusal.value)
    assert warehouse.trends.list_baselines() == []
