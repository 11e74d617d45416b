"""A series against an earlier one, row by row: what changed, what chance explains, and what cannot be compared."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from scipy import stats

from aisbench_core.base.errors import SpecError
from aisbench_core.interfaces.cli import main
from aisbench_core.model import Better, Combined, RunMetric, Series
from aisbench_core.running.series.comparing import SeriesComparison
from aisbench_core.warehouse.values.compared import Comparability
from aisbench_core.warehouse.values.histories import Outcome
from tests import records as a
from tests.series_bench import SeriesBench

OLD = (200.0, 200.4, 199.7, 200.2, 199.9)
NEW = (190.1, 189.8, 190.4, 190.0, 189.7)
LIKE_OLD = (200.1, 199.8, 200.3, 200.0, 199.6)


@pytest.fixture
def bench(tmp_path: Path) -> SeriesBench:
    return SeriesBench.on(tmp_path / "data")


def measured(bench: SeriesBench, *rows: Sequence[float], **answers: Any) -> Series:
    """A series with these throughputs on 1, 2, … nodes."""
    counts = ",".join(str(number + 1) for number in range(len(rows)))
    series = bench.launch(node_counts=counts, repeats=len(rows[0]), **answers)
    for repeat in range(len(rows[0])):
        for row in rows:
            (run,) = bench.admit()
            bench.end(run, row[repeat])
    return series


def compared(bench: SeriesBench, old: Series, new: Series) -> SeriesComparison:
    return bench.core.series.compare(old.series_id, new.series_id)


def test_each_row_is_tested_by_itself_and_all_p_values_together(bench: SeriesBench) -> None:
    old, new = measured(bench, OLD, LIKE_OLD), measured(bench, NEW, OLD)

    found = compared(bench, old, new)

    slower, same = found.pairs
    assert found.outcome is slower.outcome is Outcome.REGRESSION
    assert same.outcome is Outcome.NO_CHANGE
    assert slower.difference
    assert same.difference
    assert slower.difference.change == pytest.approx(190 / 200.04 - 1)
    p_values = [stats.ttest_ind(OLD, NEW).pvalue, stats.ttest_ind(LIKE_OLD, OLD).pvalue]
    assert [slower.difference.p_value, same.difference.p_value] == pytest.approx(p_values)
    adjusted = stats.false_discovery_control(p_values).tolist()
    assert [slower.adjusted_p, same.adjusted_p] == pytest.approx(adjusted)
    assert same.power
    assert same.power.visible
    assert 0.01 < same.power.visible < 0.02
    assert compared(bench, new, old).outcome is Outcome.IMPROVEMENT


def test_a_row_whose_code_changed_on_the_way_is_not_compared(bench: SeriesBench) -> None:
    old = measured(bench, OLD)
    new = bench.launch(node_counts="1", repeats=len(NEW))
    for repeat, throughput in enumerate(NEW):
        (run,) = bench.admit()
        bench.end(run, throughput, code="c0de" * 16 if repeat < 2 else "beef" * 16)

    (pair,) = compared(bench, old, new).pairs

    assert (pair.comparability, pair.reasons) == (Comparability.NOT_COMPARABLE, ("code_sha256",))
    assert (pair.difference, pair.outcome) == (None, Outcome.NOT_ENOUGH)


def test_another_image_is_compared_on_each_number_of_nodes_and_named(bench: SeriesBench) -> None:
    old, new = measured(bench, OLD, OLD, images="cann_6"), measured(bench, NEW, images="cann_7")

    found = compared(bench, old, new)

    assert [pair.outcome for pair in found.pairs] == [Outcome.REGRESSION]
    assert [row.title for row in found.alone] == ["2 nodes · cann_6"]
    assert {each.field: each.values for each in found.differences}["engine_version"] == ("cann_6", "cann_7")


def test_two_runs_are_too_few_to_compare_with_one_and_none_with_nothing(bench: SeriesBench) -> None:
    old, new = measured(bench, OLD), bench.launch(node_counts="1", repeats=2)
    nothing = compared(bench, old, new)
    (run,) = bench.admit()
    bench.end(run, 150.0)

    found = compared(bench, old, new)

    assert (nothing.outcome, nothing.pairs[0].comparability) == (Outcome.NOT_ENOUGH, None)
    assert (found.outcome, found.pairs[0].comparability) == (Outcome.NOT_ENOUGH, Comparability.COMPARABLE)
    with pytest.raises(SpecError, match="must be two different series"):
        compared(bench, old, old)


def test_rows_that_answer_different_questions_have_no_difference(bench: SeriesBench) -> None:
    old, new = measured(bench, OLD), measured(bench, NEW)
    for cell in bench.look(new).cells:
        run = cell.shown.run
        assert run
        other = a.record(run.run_id, region="sandbox", rehearsal=True, speed_parameters={"batch_size": 512})
        bench.core.series.record(replace(other, run=run, result=a.result(run.spec, [95.0] * run.spec.card_count)))

    (pair,) = compared(bench, old, new).pairs

    assert (pair.comparability, pair.difference, pair.outcome) == (
        Comparability.NOT_COMPARABLE,
        None,
        Outcome.NOT_ENOUGH,
    )
    assert "parameters.batch_size" in pair.reasons


def test_the_command_ends_as_the_verdict_says(bench: SeriesBench, tmp_path: Path) -> None:
    old, new = measured(bench, OLD, OLD), measured(bench, NEW, LIKE_OLD)
    words = ["series", "compare", old.series_id, new.series_id]
    env = {"AISBENCH_DATA_DIR": str(tmp_path / "data"), "AISBENCH_PROFILE": "quiet"}

    person, program = CliRunner().invoke(main, words, env=env), CliRunner().invoke(main, [*words, "--json"], env=env)

    assert (person.exit_code, program.exit_code) == (5, 5), person.output
    assert "−5.02 %" in person.stdout
    assert "regression" in person.stdout
    assert "1 node: at a CV of" in person.stdout
    answer = json.loads(program.stdout)
    assert [row["outcome"] for row in answer["rows"]] == ["regression", "no change"]
    assert answer["rows"][0]["baseline"]["summary"]["count"] == 5


def spent(bench: SeriesBench, energies: Sequence[float], better: Better, unit: str = "J/token") -> Series:
    """A series on one node with equal throughputs, each run with its energy."""
    series = bench.launch(node_counts="1", repeats=len(energies))
    for number, energy in enumerate(energies):
        (run,) = bench.admit()
        bench.end(run, 200.0 + number / 100, metrics=(RunMetric("energy", energy, unit, better, Combined.MEAN),))
    return series


@pytest.mark.parametrize(
    ("better", "outcome"),
    [
        (Better.LOWER, Outcome.IMPROVEMENT),
        (Better.HIGHER, Outcome.REGRESSION),
        (Better.NEITHER, Outcome.NOT_ENOUGH),
    ],
)
def test_a_metric_is_compared_in_place_of_throughputs_by_its_direction(
    better: Better, outcome: Outcome, bench: SeriesBench
) -> None:
    old, new = spent(bench, OLD, better), spent(bench, NEW, better)

    found = bench.core.series.compare(old.series_id, new.series_id, "energy")

    [pair] = found.pairs
    assert (pair.candidate.unit, pair.candidate.median, pair.outcome) == ("J/token", 190.0, outcome)
    assert pair.difference
    assert pair.difference.p_value == pytest.approx(stats.ttest_ind(OLD, NEW).pvalue)
    assert compared(bench, old, new).outcome is Outcome.NO_CHANGE


def test_metrics_in_two_units_are_not_compared(bench: SeriesBench) -> None:
    old, new = spent(bench, OLD, Better.LOWER), spent(bench, NEW, Better.LOWER, "kJ/token")

    [pair] = bench.core.series.compare(old.series_id, new.series_id, "energy").pairs

    assert (pair.difference, pair.outcome) == (None, Outcome.NOT_ENOUGH)
