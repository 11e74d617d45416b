"""The budget of a series: what counts as used and promised, and when the next cell is held."""

from collections.abc import Collection
from pathlib import Path

import pytest

from aisbench_core.base.errors import SpecError
from aisbench_core.model import Attempt, Run, RunState, SeriesState
from aisbench_core.running.series.snapshot import SeriesSnapshot
from aisbench_core.store.ledger.series import SeriesLedger
from tests.actors import named
from tests.flow.following import PERSON
from tests.series_bench import SeriesBench


@pytest.fixture
def bench(tmp_path: Path, ledger_url: str) -> SeriesBench:
    return SeriesBench.on(tmp_path / "data", ledger=ledger_url)


@pytest.mark.every_store
def test_a_cell_that_would_exceed_the_budget_is_not_launched_until_there_is_more(bench: SeriesBench) -> None:
    series = bench.launch(node_counts="2", repeats=4, hours_per_run=1, budget=5, parallel=4)

    both = bench.admit()
    promised = bench.look(series)
    for run in both:
        bench.end(run, hours=1.2)
    bench.admit()
    bench.admit()
    held = bench.look(series)
    bench.core.series.resume(series.series_id, 7.3, named(PERSON))
    more = bench.admit()

    assert len(both) == 2
    assert promised.state is SeriesState.RUNNING
    assert (promised.hours.used, promised.hours.promised, promised.hours.to_come) == (0, 4, 4)
    assert held.state is SeriesState.HELD
    assert held.hold is not None
    assert (held.hold.budget, held.hold.spent, held.hold.needed) == pytest.approx((5, 4.8, 2.4))
    assert len(more) == 1
    said = [event.message for event in bench.look(series).events]
    assert [text for text in said if text.startswith("held: ")] == [f"held: {held.hold.sentence}"], "said once"
    assert said[-1] == "budget: 7.3 node hours instead of 5 node hours"


def test_a_cell_that_is_launched_while_one_looks_does_not_count_twice(bench: SeriesBench) -> None:
    class Ledger(SeriesLedger):  # a follower launches as soon as one of both was read
        def attempts(self, series_ids: Collection[str]) -> list[Attempt]:
            found = super().attempts(series_ids)
            bench.admit()
            return found

        def runs(self, series_ids: Collection[str]) -> list[Run]:
            found = super().runs(series_ids)
            bench.admit()
            return found

    series = bench.launch(node_counts="2", repeats=2, hours_per_run=1, budget=5)
    (first,) = bench.admit()
    bench.end(first, hours=1)

    seen = SeriesSnapshot.of(Ledger(bench.core.ledger), series, bench.clock())

    assert len(bench.core.ledger.active()) == 1
    assert seen.hold is None


def test_a_running_job_counts_with_what_it_has_really_taken(bench: SeriesBench) -> None:
    series = bench.launch(node_counts="2", repeats=2, hours_per_run=1, budget=4)
    (run,) = bench.admit()
    bench.start(run)

    bench.clock.move(1800)
    early = bench.look(series).hours
    bench.clock.move(7200)
    late = bench.look(series).hours
    bench.end(run, hours=1.5)

    assert (early.used, early.promised) == pytest.approx((1, 1))
    assert (late.used, late.promised) == pytest.approx((5, 0))
    assert bench.admit() == []


def test_what_a_failed_job_took_counts_and_says_nothing_about_the_next(bench: SeriesBench) -> None:
    series = bench.launch(repeats=3, hours_per_run=1, budget=3)
    (run,) = bench.admit()

    bench.end(run, hours=0.25, state=RunState.FAILED)

    hours = bench.look(series).hours
    assert (hours.used, hours.to_come) == (0.25, 2.0)


@pytest.mark.parametrize("budget", [0, -2, float("inf"), float("nan")])
def test_a_budget_that_is_no_number_of_hours_is_refused(bench: SeriesBench, budget: float) -> None:
    series = bench.launch(repeats=1, budget=2)

    with pytest.raises(SpecError, match="budget"):
        bench.core.series.resume(series.series_id, budget, named(PERSON))

    assert bench.look(series).hours.budget == 2
