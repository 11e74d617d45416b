"""Series with a stopping rule, without a region: they end when they have measured enough, and say what they found."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from aisbench_core.base.errors import SpecError
from aisbench_core.model import CellState, RunState, Series, SeriesState
from aisbench_core.running.series.matrix import Matrix
from tests.actors import named
from tests.flow.following import PERSON
from tests.series_bench import SPEC, SeriesBench

IMAGES = "r1,r2,r3,r4,r5,r6,r7,r8"


@pytest.fixture
def bench(tmp_path: Path) -> SeriesBench:
    return SeriesBench.on(tmp_path / "data")


@pytest.mark.every_store
def test_what_is_not_needed_is_forgotten_once_and_what_was_launched_stays(tmp_path: Path, ledger_url: str) -> None:
    bench = SeriesBench.on(tmp_path / "data", ledger=ledger_url)
    series = bench.launch(images="r1,r2", until="decided")
    for _ in range(12):
        for run in bench.admit():
            bench.end(run, (200.0 if run.spec.engine_version == "r1" else 190.0) + (run.series_index or 0) % 3)

    attempts, events = bench.core.series.ledger.attempts([series.series_id]), bench.core.ledger.events(series.series_id)
    bench.core.series.ledger.drop_waiting(series.series_id, [0, 1], events[-1])

    assert 4 <= len(attempts) <= 12
    assert all(attempt.run_id for attempt in attempts)
    assert bench.core.series.ledger.attempts([series.series_id]) == attempts
    assert bench.core.ledger.events(series.series_id) == events, "a second time tells nothing"


def carry_out(bench: SeriesBench, series: Series, speed_of: Callable[[str, int], float], most: int = 200) -> Matrix:
    """Run it to its end, with a new process before each launch; runs have the speed of their image and node count, and
    an hour."""
    made = random.Random(7)
    for _ in range(most):
        bench = SeriesBench.on(bench.core.settings.data_dir)
        if not (active := bench.admit()):
            break
        for run in active:
            speed = speed_of(run.spec.engine_version, run.spec.node_count)
            bench.end(run, speed * made.gauss(1, 0.01), hours=1.0)
    return bench.look(series)


def test_each_row_is_run_until_its_own_interval_is_narrow_enough(bench: SeriesBench) -> None:
    series = bench.launch(node_counts="1,2", until="half-width<2%")

    done = carry_out(bench, series, lambda _, nodes: 200.0 * nodes)

    assert done.state is SeriesState.COMPLETED
    assert done.judgement
    assert done.judgement.is_met
    assert 10 <= len(done.cells) < 20, "the plan allows 60"
    for row in done.rows:
        assert row.summary
        assert row.summary.ci_low
        assert row.summary.ci_high
        assert row.summary.ci_high / row.summary.ci_low < 1.04
    assert bench.admit() == []


def test_two_versions_are_run_until_they_are_told_apart(bench: SeriesBench) -> None:
    series = bench.launch(images="r1,r2", until="decided")

    done = carry_out(bench, series, lambda image, _: 200.0 if image == "r1" else 190.0)

    assert done.state is SeriesState.COMPLETED
    assert done.judgement
    assert done.judgement.is_met
    assert str(done.judgement.finding).startswith("r2 is ")
    assert " slower than r1 (" in done.judgement.finding
    assert len(done.cells) < 14
    assert str(done.judgement.finding) in str(bench.core.ledger.events(series.series_id)[-1].message)


def test_equal_versions_end_as_less_than_one_percent_apart(bench: SeriesBench) -> None:
    series = bench.launch(images="r1,r2", until="decided", repeats=60)

    done = carry_out(bench, series, lambda *_: 200.0)

    assert done.judgement
    assert done.judgement.is_met
    assert "r2 and r1 differ by less than 1 %" in done.judgement.finding
    assert len(done.cells) < 120


def test_the_first_slower_version_is_named_with_few_runs(bench: SeriesBench) -> None:
    series = bench.launch(images=IMAGES, until="first-slower")

    done = carry_out(bench, series, lambda image, _: 200.0 if image < "r6" else 192.0)

    assert done.judgement
    assert done.judgement.is_met
    assert str(done.judgement.finding).startswith("r6 is the first slower one: ")
    assert done.judgement.probabilities[5] >= 0.95
    assert len(done.cells) <= 24, "all, three times each"
    assert done.state is SeriesState.COMPLETED


def test_a_search_between_versions_of_one_speed_ends_at_its_ends(bench: SeriesBench) -> None:
    series = bench.launch(images=IMAGES, until="first-slower", repeats=60)

    done = carry_out(bench, series, lambda *_: 200.0)

    assert done.judgement
    assert done.judgement.is_met
    assert "r8 and r1 differ by less than 1 %" in done.judgement.finding
    assert {row.planned.image for row in done.rows if row.cells} == {"r1", "r8"}


def test_a_version_that_never_runs_is_given_up_and_its_neighbours_are_searched(bench: SeriesBench) -> None:
    series = bench.launch(images=IMAGES, until="first-slower")
    made = random.Random(7)
    for _ in range(60):
        for run in bench.admit():
            image = run.spec.engine_version
            speed = (200.0 if image < "r6" else 192.0) * made.gauss(1, 0.01)
            bench.end(run, speed, state=RunState.FAILED if image == "r5" else RunState.COMPLETED)

    done = bench.look(series)

    assert done.judgement
    assert not done.judgement.is_met
    assert "is most likely the first slower one" in done.judgement.finding
    assert sum(done.judgement.probabilities[4:6]) > 0.95, "r5 or r6: nobody knows r5"
    assert [len(row.cells) for row in done.rows][4] == 3
    assert done.state is SeriesState.COMPLETED_WITH_FAILURES
    assert bench.admit() == []


def test_the_budget_holds_it_and_more_budget_lets_it_go_on(bench: SeriesBench) -> None:
    series = bench.launch(images="r1,r2", until="decided", budget=4, hours_per_run=1)

    held = carry_out(bench, series, lambda *_: 200.0)

    assert held.state is SeriesState.HELD
    assert held.hold
    assert held.judgement
    assert not held.judgement.is_met
    bench.core.series.resume(series.series_id, 500, named(PERSON))
    assert carry_out(bench, series, lambda *_: 200.0).state in (SeriesState.COMPLETED, SeriesState.HELD)
    assert sum(cell.shown.state is CellState.VALID for cell in bench.look(series).cells) > 4


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"until": "soon"}, "until: must be half-width<1%, decided or first-slower"),
        ({"until": "half-width<0%"}, "until: the half-width must be above 0 and at most 50%"),
        ({"until": "half-width<nan%"}, "until: the half-width must be above 0 and at most 50%"),
        ({"until": "decided"}, "until: decided compares exactly two rows, for example two versions (found 1)"),
        ({"until": "decided", "images": "a,b,c"}, "until: decided compares exactly two rows"),
        ({"until": "first-slower", "images": "a,b"}, "until: first-slower needs 3 or more versions, or images"),
        (
            {"until": "first-slower", "node_counts": "1,2", "images": "a,b,c"},
            "and nothing else that varies (found 6)",
        ),
        ({"until": "half-width<1%", "repeats": 4}, "repeats: half-width needs 5 or more (found 4)"),
        ({"until": "decided", "search": {"batch_size": "1..9"}}, "until: a search has its own end: its trials"),
    ],
)
def test_a_rule_that_cannot_judge_the_plan_is_refused(
    bench: SeriesBench, answers: Mapping[str, object], said: str
) -> None:
    with pytest.raises(SpecError) as refused:
        bench.core.series.plan(SPEC, answers)

    assert said in "\n".join(str(problem) for problem in refused.value.problems)
