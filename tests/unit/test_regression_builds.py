"""Runs of one version with several images or codes: like is compared with like, or not at all."""

from collections.abc import Sequence
from dataclasses import replace

from aisbench_core.warehouse.measures.changes import metric_histories
from aisbench_core.warehouse.values.histories import HistoryRun, Outcome
from tests.unit.test_regression import FRAMEWORK, judged, noise, only, runs


def built(found: Sequence[HistoryRun], image: str = "cann-1", code: str = "c0de", name: str = "") -> list[HistoryRun]:
    """The same runs with another image or code, and ids of their own."""
    return [
        replace(run, engine_version=image, code_sha256=code, run_id=f"{name or image}-{run.run_id}") for run in found
    ]


def test_a_version_is_compared_by_the_image_and_code_of_its_newest_run() -> None:
    """Ten slow runs of another image among its own would be taken for a drop."""
    slow = built(runs(noise(4, 10, level=80), "r2", 20), "cann-0")
    found = judged([*runs(noise(1, 20)), *slow, *runs(noise(2, 6), "r2", 30)])

    metric = only(found)
    assert found.candidate_run_ids == tuple(f"r2-{index}" for index in range(6))
    assert (found.other_builds, found.mixed) == (10, ())
    assert metric.outcome is Outcome.NO_CHANGE
    assert metric.candidate
    assert metric.candidate.count == 6


def test_the_newest_image_of_a_version_is_compared_with_the_one_that_it_had_before() -> None:
    """It may be worse than that, and still better than the version before."""
    better = runs(noise(4, 10, level=130), "r2", 20)
    found = judged([*runs(noise(1, 20)), *better, *built(runs(noise(2, 6, level=110), "r2", 30), "cann-2")])

    within = next(each for each in found.within if each.baseline and each.baseline.count == 10)
    assert only(found).outcome is Outcome.IMPROVEMENT
    assert within.outcome is found.outcome is Outcome.REGRESSION


def test_a_baseline_of_several_versions_whose_images_differ_is_not_compared() -> None:
    baseline = [*runs(noise(1, 6)), *built(runs(noise(2, 6), "r2", 10), "cann-2", name="r2")]
    found = judged([*baseline, *runs(noise(3, 6, level=70), "r3", 20)], ["r1", "r2"])

    assert (found.mixed, found.metrics) == (("image",), ())
    assert found.outcome is Outcome.NOT_ENOUGH


def test_the_chart_shows_of_each_version_what_the_verdict_compares() -> None:
    every = [*built(runs(noise(4, 10, level=80), "r2"), "cann-0"), *runs(noise(2, 6), "r2", 30)]

    [metric] = metric_histories(every, "samples/s", FRAMEWORK)

    assert [level.summary.count for level in metric.versions] == [6]
