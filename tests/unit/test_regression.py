"""Verdicts on runs: large enough and surely no chance; what is missing is said, and nothing is judged twice."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aisbench_core.warehouse.measures.changes import find_boundaries, metric_histories
from aisbench_core.warehouse.measures.outcomes import with_outcomes
from aisbench_core.warehouse.measures.regression import field_of, regression_verdict
from aisbench_core.warehouse.values.histories import (
    BaselineReason,
    HistoryRun,
    MetricVerdict,
    Outcome,
    RegressionVerdict,
    VersionField,
)
from aisbench_core.warehouse.values.runs import Validity
from tests.records import T0

FRAMEWORK = VersionField.FRAMEWORK


def runs(values: Sequence[float], version: str = "r1", start: int = 0, metric: str = "throughput") -> list[HistoryRun]:
    """One run per value, a minute apart."""
    return [
        HistoryRun(
            run_id=f"{version}-{index}",
            at=T0 + timedelta(minutes=start + index),
            created_by="ann",
            framework_version=version,
            engine_version="cann-1",
            code_sha256="c0de",
            validity=Validity.VALID,
            values={metric: value},
            left_out={},
        )
        for index, value in enumerate(values)
    ]


def noise(seed: int, count: int, level: float = 100.0, sd: float = 1.0) -> list[float]:
    return list(np.random.default_rng(seed).normal(level, sd, count))


def judged(
    found: Sequence[HistoryRun], names: Sequence[str] = (), field: VersionField = FRAMEWORK
) -> RegressionVerdict:
    rule = BaselineReason.MARKED if names else BaselineReason.VERSION_BEFORE
    return with_outcomes([regression_verdict(found, "samples/s", field, names, rule)])[0]


def only(found: RegressionVerdict) -> MetricVerdict:
    (metric,) = found.metrics
    return metric


# --- by version -------------------------------------------------------------------------------------


def test_a_drop_of_three_percent_in_three_runs_is_a_regression() -> None:
    found = judged(runs(noise(1, 20)) + runs(noise(2, 3, level=97), "r2", 20))

    metric = only(found)
    assert found.outcome is metric.outcome is Outcome.REGRESSION
    assert (found.rule, found.baseline, found.candidate) == (BaselineReason.VERSION_BEFORE, "r1", "r2")
    assert metric.baseline
    assert metric.candidate
    assert (metric.baseline.count, metric.candidate.count, metric.since) == (20, 3, "r2-0")
    assert metric.difference
    assert -0.05 < metric.difference.change < -0.01
    assert metric.adjusted_p == metric.p_value
    assert metric.unit == "samples/s"


def test_more_is_better_for_throughput_and_worse_for_time() -> None:
    def verdict(metric: str) -> Outcome:
        return judged(runs(noise(1, 8), metric=metric) + runs(noise(2, 8, level=105), "r2", 8, metric)).outcome

    assert verdict("throughput") is verdict("accuracy") is Outcome.IMPROVEMENT
    assert verdict("duration_s") is verdict("energy_consumption") is Outcome.REGRESSION


def test_a_spread_over_cards_matters_when_it_grows_by_a_percent_of_the_throughput() -> None:
    def verdict(level: float) -> Outcome:
        before = runs(noise(1, 8, level=0.002, sd=0.0001), metric="rank_cv")
        return judged(before + runs(noise(2, 8, level=level, sd=0.0001), "r2", 8, "rank_cv")).outcome

    assert verdict(0.004) is Outcome.NO_CHANGE
    assert verdict(0.014) is Outcome.REGRESSION


def test_what_is_sure_but_small_is_no_news() -> None:
    found = judged(runs(noise(1, 40, sd=0.1)) + runs(noise(2, 40, level=99.3, sd=0.1), "r2", 40))

    assert only(found).p_value == pytest.approx(0, abs=1e-9)
    assert found.outcome is Outcome.NO_CHANGE


def test_what_is_large_but_may_be_chance_is_no_news() -> None:
    found = judged(runs([90.0, 110.0, 100.0, 95.0]) + runs([80.0, 105.0, 92.0], "r2", 4))

    assert only(found).outcome is Outcome.NO_CHANGE


@pytest.mark.parametrize(("old", "new"), [(20, 1), (1, 20), (1, 1)])
def test_one_run_on_a_side_is_not_enough(old: int, new: int) -> None:
    found = judged(runs(noise(1, old)) + runs(noise(2, new, level=50), "r2", old))

    assert found.outcome is Outcome.NOT_ENOUGH
    assert only(found).p_value is None
    assert found.tests == len(found.within)


def test_two_runs_on_each_side_are_enough_for_what_is_plain() -> None:
    assert judged(runs([100.0, 100.1]) + runs([80.0, 80.1], "r2", 2)).outcome is Outcome.REGRESSION


def test_runs_without_any_spread_are_compared_as_they_are() -> None:
    assert judged(runs([100.0] * 3) + runs([90.0] * 3, "r2", 3)).outcome is Outcome.REGRESSION
    assert judged(runs([100.0] * 3) + runs([100.0] * 3, "r2", 3)).outcome is Outcome.NO_CHANGE


def test_a_version_that_is_run_again_later_is_still_the_older_one() -> None:
    again = runs(noise(3, 3), "r1", 30)

    found = judged(runs(noise(1, 10)) + runs(noise(2, 5, level=90), "r2", 10) + again)

    assert (found.baseline, found.candidate) == ("r1", "r2")
    assert only(found).baseline
    assert len(found.baseline_run_ids) == 13


def test_the_newest_version_is_compared_with_the_one_before_it_only() -> None:
    found = judged(runs(noise(1, 5, level=50)) + runs(noise(2, 5), "r2", 5) + runs(noise(3, 5), "r3", 10))

    assert (found.baseline, found.candidate, found.outcome) == ("r2", "r3", Outcome.NO_CHANGE)


def test_versions_are_told_apart_by_the_engine_where_the_framework_stays_the_same() -> None:
    old, new = runs(noise(1, 5)), [replace(run, engine_version="cann-2") for run in runs(noise(2, 5), start=5)]

    assert field_of(old + new, None) is VersionField.ENGINE
    assert field_of(old, None) is FRAMEWORK
    assert field_of(old + new, VersionField.CODE) is VersionField.CODE
    assert judged(old + new, field=VersionField.ENGINE).candidate == "cann-2"


# --- baselines --------------------------------------------------------------------------------------


def test_a_marked_version_is_the_baseline_of_all_later_ones() -> None:
    found = judged(
        runs(noise(1, 5)) + runs(noise(2, 5, level=99), "r2", 5) + runs(noise(3, 5, level=90), "r3", 10), ["r1"]
    )

    assert (found.rule, found.baseline, found.candidate) == (BaselineReason.MARKED, "r1", "r3")
    assert found.outcome is Outcome.REGRESSION


def test_marked_runs_are_compared_with_what_came_after_them() -> None:
    found = judged(runs(noise(1, 5) + noise(2, 5, level=90)), [f"r1-{index}" for index in range(5)])

    assert found.baseline_run_ids == tuple(f"r1-{index}" for index in range(5))
    assert found.candidate_run_ids == tuple(f"r1-{index}" for index in range(5, 10))
    assert found.outcome is Outcome.REGRESSION


def test_a_baseline_that_is_the_newest_version_has_nothing_to_be_compared_with() -> None:
    found = judged(runs(noise(1, 5)) + runs(noise(2, 5), "r2", 5), ["r2"])

    assert found.candidate_run_ids == ()
    assert found.outcome is Outcome.NOT_ENOUGH


def test_runs_of_no_known_version_are_not_compared_with_some_of_them() -> None:
    found = judged([replace(run, framework_version="") for run in runs(noise(1, 6))], names=["r1-0"])

    assert found.outcome is Outcome.NOT_ENOUGH
    assert found.candidate_run_ids == ()


def test_a_baseline_that_no_run_has_judges_nothing() -> None:
    found = judged(runs(noise(1, 5)), ["r9"])

    assert (found.baseline_run_ids, found.outcome, found.metrics) == ((), Outcome.NOT_ENOUGH, ())


# --- one version: over time -------------------------------------------------------------------------


def test_with_one_version_the_last_change_of_level_is_judged() -> None:
    found = judged(runs(noise(1, 20) + noise(2, 8, level=95)))

    metric = only(found)
    assert (found.rule, metric.outcome, metric.since) == (BaselineReason.LEVEL_BEFORE, Outcome.REGRESSION, "r1-20")
    assert metric.candidate
    assert metric.candidate.count == 8


def test_a_level_that_stays_has_no_candidate() -> None:
    found = judged(runs(noise(1, 30)))

    metric = only(found)
    assert (metric.outcome, metric.candidate, metric.difference) == (Outcome.NO_CHANGE, None, None)
    assert metric.p_value
    assert metric.p_value > 0.01


def test_few_runs_of_one_version_are_not_enough_to_look_for_changes() -> None:
    assert judged(runs(noise(1, 5))).outcome is Outcome.NOT_ENOUGH
    assert judged([]).outcome is Outcome.NOT_ENOUGH


def test_changes_say_what_was_new_there_and_which_way_it_went() -> None:
    found = runs(noise(1, 12)) + runs(noise(2, 12, level=90), "r2", 12) + runs(noise(3, 12), "r3", 24)

    (metric,) = metric_histories(found, "samples/s", FRAMEWORK)

    assert [change.run_id for change in metric.changes] == ["r2-0", "r3-0"]
    assert [change.worse for change in metric.changes] == [True, False]
    assert [each.value for change in metric.changes for each in change.boundaries] == ["r2", "r3"]
    assert [level.label for level in metric.versions] == ["r1", "r2", "r3"]
    assert [level.summary.count for level in metric.levels] == [12, 12, 12]


def test_a_boundary_is_the_first_run_of_a_version_and_not_its_return() -> None:
    found = runs([1.0, 1.0]) + runs([1.0], "r2", 2) + runs([1.0], "r1", 3)

    assert [(each.run_id, each.value) for each in find_boundaries(found)] == [("r2-0", "r2")]
    assert find_boundaries([]) == ()


# --- many tests -------------------------------------------------------------------------------------


def test_one_doubtful_test_among_many_counts_for_less_than_alone() -> None:
    doubtful = runs(noise(6, 20)) + runs([98.0, 98.2, 98.6], "r2", 20)
    quiet = [runs(noise(seed, 20)) + runs(noise(seed + 50, 3), "r2", 20) for seed in range(10, 29)]

    alone = judged(doubtful)
    among = with_outcomes(
        [regression_verdict(each, "", FRAMEWORK, (), BaselineReason.VERSION_BEFORE) for each in (doubtful, *quiet)]
    )[0]

    assert (alone.outcome, alone.tests) == (Outcome.REGRESSION, 1)
    assert (among.outcome, among.tests) == (Outcome.NO_CHANGE, 20)


def test_what_the_runs_could_show_is_said() -> None:
    metric = only(judged(runs(noise(5, 20, sd=0.4)) + runs(noise(2, 3, sd=0.4), "r2", 20)))

    assert metric.power
    assert 0.003 < metric.power.cv < 0.005
    assert metric.power.runs in (2, 3)


def test_a_change_below_the_threshold_is_never_promised_to_be_found() -> None:
    metric = only(judged(runs(noise(5, 20, sd=0.05)) + runs(noise(2, 9, sd=0.05), "r2", 20)))

    assert metric.power
    assert metric.power.visible
    assert 0.01 < metric.power.visible < 0.011


def test_runs_that_do_not_count_are_not_judged() -> None:
    invalid = [replace(run, values={}, validity=Validity.INVALID) for run in runs([1.0] * 5, "r3", 30)]

    found = judged(runs(noise(1, 10)) + runs(noise(2, 5), "r2", 10) + invalid)

    assert (found.baseline, found.candidate) == ("r1", "r2")


measured = st.lists(st.floats(1e-100, 1e100), max_size=12)


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(measured, measured, st.booleans())
def test_no_measurements_break_a_verdict(old: list[float], new: list[float], one_version: bool) -> None:
    found = judged(runs(old) + runs(new, "r1b" if not one_version else "r1", len(old)))

    for metric in found.metrics:
        assert metric.p_value is None or 0 <= metric.p_value <= (metric.adjusted_p or 0) <= 1
        assert metric.power is None or metric.power.cv >= 0
    assert found.outcome in Outcome
