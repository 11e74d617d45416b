"""Searches without a region: what is asked of the sampler, what counts as best, and what is refused before a launch."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from aisbench_core.base.errors import SpecError
from aisbench_core.model import CellState, Run, RunState, Scalar, Series, SeriesState
from aisbench_core.running.series.sampler import Trial, suggest_values
from aisbench_core.running.series.search_plans import space_of
from aisbench_core.warehouse.values.runs import BoardQuery
from tests.actors import named
from tests.flow.following import PERSON
from tests.series_bench import PROFILE, SPEC, SeriesBench

BATCH = {"batch_size": "16..256 log"}


@pytest.fixture
def bench(tmp_path: Path) -> SeriesBench:
    return SeriesBench.on(tmp_path / "data")


def batch_size(run: Run) -> int:
    return int(run.spec.parameters["batch_size"])


def chosen(bench: SeriesBench, series: Series) -> list[Scalar]:
    rows = bench.core.series.get(series.series_id).rows
    return [row.parameters["batch_size"] for row in rows if row.parameters]


def test_each_trial_is_chosen_from_the_results_before_it_and_a_new_process_chooses_the_same(bench: SeriesBench) -> None:
    series = bench.launch(search=BATCH, trials=6, seed=3)
    trials: list[Trial] = []
    for number in range(1, 7):
        bench = SeriesBench.on(bench.core.settings.data_dir)
        (run,) = bench.admit()
        search = series.plan.search
        assert search

        expected = suggest_values(search, space_of(series.plan), number, trials)

        assert {"batch_size": batch_size(run)} == expected
        bench.end(run, float(batch_size(run)), hours=0.1)
        trials.append(Trial(expected, has_ended=True, objective=float(batch_size(run))))

    matrix = bench.look(series)
    assert matrix.state is SeriesState.COMPLETED
    assert len({*chosen(bench, series)}) == 6, "no value is tried twice"
    assert {row.evaluation for row in matrix.rows} == {None}, "single runs are no repeats that could scatter"
    assert matrix.best
    assert matrix.best.value == max(trial.objective or 0 for trial in trials)
    assert bench.admit() == []


def test_trials_at_a_time_are_chosen_with_those_in_mind_that_run(bench: SeriesBench) -> None:
    series = bench.launch(search=BATCH, trials=9, parallel=1)
    trials = []
    for _ in range(6):
        (run,) = bench.admit()
        bench.end(run, float(batch_size(run)))
        trials.append(Trial({"batch_size": batch_size(run)}, has_ended=True, objective=float(batch_size(run))))
    _let_run(bench, series, parallel=2)

    runs = bench.admit()
    again = bench.admit()

    assert [run.run_id for run in again] == [run.run_id for run in runs]
    search = series.plan.search
    assert search
    for number, run in enumerate(runs, start=7):
        assert {"batch_size": batch_size(run)} == suggest_values(search, space_of(series.plan), number, trials)
        trials.append(Trial({"batch_size": batch_size(run)}, has_ended=False))
    assert len(runs) == 2
    assert len({*chosen(bench, series)}) == 8
    stored = json.loads((bench.core.settings.series_dir / f"{series.series_id}.json").read_text("utf-8"))
    assert [row["parameters"] for row in stored["rows"]] == [dict(trial.values) for trial in trials] + [{}]


def _let_run(bench: SeriesBench, series: Series, parallel: int) -> None:
    """The same plan with so many jobs at a time."""
    plan = series.plan.model_copy(update={"parallel": parallel})
    with bench.core.ledger.transaction() as con:
        con.execute("update series set plan = ? where series_id = ?", [plan.model_dump_json(), series.series_id])


def test_a_search_reserves_each_trial_and_is_held_where_the_budget_does_not_allow_the_next(bench: SeriesBench) -> None:
    series = bench.launch(search=BATCH, trials=5, parallel=3, hours_per_run=1, budget=2.5)

    runs = bench.admit()
    for run in runs:
        bench.end(run, hours=0.9)

    assert len(runs) == 2, "a third one could exceed 2.5 node hours"
    assert bench.admit() == []
    matrix = bench.look(series)
    assert matrix.state is SeriesState.HELD
    assert matrix.hours.used == pytest.approx(1.8)


def test_a_run_that_takes_longer_than_was_reserved_is_stopped_before_it_exceeds_the_budget(bench: SeriesBench) -> None:
    series = bench.launch(search=BATCH, trials=3, hours_per_run=1, budget=1.5)
    (run,) = bench.admit()
    bench.start(run)
    bench.clock.move(3600 * 1.2)
    (over,) = bench.admit()
    assert over.state is RunState.RUNNING, "there is half an hour left"

    bench.clock.move(3600 * 0.31)
    (stopped,) = bench.admit()

    assert stopped.state is RunState.STOPPING
    assert stopped.detail == "stopped by the search: it used its 1 node hours, and the budget has none left"
    assert bench.core.ledger.get(run.run_id).run_id in {one.run_id for one in bench.core.series.ledger.active()}
    assert len(chosen(bench, series)) == 1


def test_a_lost_trial_runs_again_with_its_values_and_the_sampler_avoids_it_until_then(bench: SeriesBench) -> None:
    series = bench.launch(search=BATCH, trials=2)
    (first,) = bench.admit()
    bench.end(first, state=RunState.FAILED)
    (second,) = bench.admit()
    bench.end(second)

    bench.core.series.rerun(series.series_id, named(PERSON))
    (again,) = bench.admit()

    assert batch_size(again) == batch_size(first) != batch_size(second)
    assert bench.look(series).cells[0].tries[0].state is CellState.FAILED


def test_a_stopped_search_goes_on_with_the_trials_that_were_cancelled(bench: SeriesBench) -> None:
    series = bench.launch(search=BATCH, trials=3)
    (first,) = bench.admit()
    bench.end(first)
    bench.core.series.stop(series.series_id, named(PERSON))
    assert bench.look(series).state is SeriesState.STOPPED

    bench.core.series.rerun(series.series_id, named(PERSON))
    for _ in range(2):
        (run,) = bench.admit()
        bench.end(run)

    assert bench.look(series).state is SeriesState.COMPLETED
    assert len({*chosen(bench, series)}) == 3


def test_node_counts_and_images_are_chosen_like_hyperparameters(bench: SeriesBench) -> None:
    plan = {"node_counts": "1,2", "images": "one,two", "search": {"batch_size": [16, 32]}, "trials": 8}
    series = bench.launch(answers=plan)
    for _ in range(8):
        (run,) = bench.admit()
        bench.end(run, 100.0 * run.spec.node_count + batch_size(run))

    matrix = bench.look(series)

    cells = {(row.planned.node_count, row.planned.image, *row.planned.parameters.values()) for row in matrix.rows}
    assert cells == {(nodes, image, batch) for nodes in (1, 2) for image in ("one", "two") for batch in (16, 32)}
    assert all(row.planned.spec.engine_version == row.planned.image for row in matrix.rows)
    assert matrix.best
    assert (matrix.best.row.planned.node_count, matrix.best.value) == (2, 232.0)


def paid(bench: SeriesBench, price: float) -> None:
    profile = yaml.safe_load(PROFILE) | {"rehearsal": False, "price_per_node_hour": {"sandbox.cpu.2cards": price}}
    (bench.core.settings.data_dir / "profiles" / "quiet.yaml").write_text(yaml.safe_dump(profile), "utf-8")


def test_the_cheapest_trial_is_the_best_where_cost_is_the_objective(bench: SeriesBench) -> None:
    paid(bench, 12.5)
    series = bench.launch(search=BATCH, trials=2, objective="cost")
    for hours, speed in ((0.4, 900.0), (0.2, 100.0)):
        (run,) = bench.admit()
        bench.end(run, speed, hours=hours)

    best = bench.look(series).best

    assert best
    assert (round(best.value, 6), best.unit, best.row.median) == (2.5, "CNY", 100.0)


def test_a_trial_that_costs_more_than_the_best_is_stopped_and_is_no_failure(bench: SeriesBench) -> None:
    paid(bench, 10.0)
    series = bench.launch(search=BATCH, trials=2, objective="cost", early_stop=True)
    (first,) = bench.admit()
    bench.end(first, hours=0.2)
    (second,) = bench.admit()
    bench.start(second)
    bench.clock.move(0.25 * 3600)

    (stopping,) = bench.admit()
    bench.end(stopping, hours=0.25, state=RunState.STOPPED)

    matrix = bench.look(series)
    assert stopping.detail == "stopped by the search: it has cost 2.5 CNY, and the best trial cost 2"
    assert [cell.shown.state for cell in matrix.cells] == [CellState.VALID, CellState.STOPPED_EARLY]
    assert (matrix.state, matrix.lost) == (SeriesState.COMPLETED, 0)
    board = bench.core.warehouse.board.list_rows(BoardQuery("sandbox", rehearsal=True)).rows
    assert sum(row.runs for row in board) == 1, "the stopped one had written a result, too"
    bench.core.settings.ledger_path.unlink()
    elsewhere = SeriesBench.on(bench.core.settings.data_dir).look(series)
    assert [cell.shown.state for cell in elsewhere.cells] == [CellState.VALID, CellState.STOPPED_EARLY]


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"search": {"batch_size": "256..16"}}, "search.batch_size: 256 is not below 16 (found '256..16')"),
        ({"search": {"batch_size": "0..16 log"}}, "search.batch_size: a logarithmic range begins above 0, not at 0"),
        ({"search": {"batch_size": "few..many"}}, "search.batch_size: must be LOW..HIGH"),
        ({"search": {"batch_size": "16..256 by two"}}, "search.batch_size: must be LOW..HIGH"),
        ({"search": {"batch_size": ""}}, "search.batch_size: enter at least one value of batch_size"),
        ({"search": "batch_size"}, "search: must be NAME=LOW..HIGH or NAME=VALUE,VALUE (found 'batch_size')"),
        ({"search": BATCH, "trials": 0}, "search.trials: input should be greater than or equal to 1"),
        ({"search": BATCH, "sampler": "anneal"}, "search.sampler: input should be 'tpe' or 'random'"),
        ({"search": {"batch_size": [16, 32]}, "trials": 3}, "trials: only 2 combinations"),
        ({"search": BATCH, "repeats": 3}, "repeats: each trial of a search is one run (found 3)"),
        ({"search": BATCH, "values": {"epochs": "1,2"}}, "values: a search takes lists of values beside its ranges"),
        ({"search": BATCH, "objective": "cost"}, "objective: what a run costs is not known"),
        ({"trials": 3}, "search: is missing: name what to search (found trials)"),
    ],
)
def test_what_cannot_be_searched_is_refused_by_name(bench: SeriesBench, answers: dict[str, object], says: str) -> None:
    with pytest.raises(SpecError) as refused:
        bench.core.series.plan(SPEC, answers)

    assert says in str(refused.value)


def test_the_limits_of_a_search_are_checked_before_its_launch(bench: SeriesBench) -> None:
    draft = bench.core.series.plan(SPEC, {"search": {"batch_size": "1..4096 log", "nobody": "1,2"}})

    fields = {error.finding.field for error in draft.errors}
    assert fields == {"parameters.batch_size", "parameters.nobody"}
    assert draft.estimate.cells == 12


def objectives(bench: SeriesBench, workload: str, **answers: object) -> Sequence[str]:
    with pytest.raises(SpecError) as refused:
        bench.core.series.plan(
            SPEC.model_copy(update={"workload": workload}), {"search": {"epoch_size": "1..9"}, **answers}
        )
    return [problem.sentence for problem in refused.value.problems]


def test_an_objective_or_early_stop_that_a_workload_does_not_report_is_refused(bench: SeriesBench) -> None:
    timed = objectives(bench, "mindspore_resnet", objective="time-to-accuracy", trials=3)
    early = objectives(bench, "mindspore_resnet", early_stop=True, trials=3)

    assert [sentence for sentence in timed if "does not report its progress" in sentence]
    assert [sentence for sentence in early if sentence.startswith("early_stop: ")]


def test_a_colleague_sees_the_values_of_every_recorded_trial(bench: SeriesBench) -> None:
    series = bench.launch(search=BATCH, trials=2)
    for speed in (100.0, 200.0):
        (run,) = bench.admit()
        bench.end(run, speed)
    here = bench.look(series)
    bench.core.settings.ledger_path.unlink()

    there = SeriesBench.on(bench.core.settings.data_dir).look(series)

    assert [row.planned for row in there.rows] == [row.planned for row in here.rows]
    assert there.best
    assert there.best.row.planned == here.best.row.planned if here.best else False
