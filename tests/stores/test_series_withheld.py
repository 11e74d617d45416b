"""A series ranks and compares only rows that repeat one measurement, as far as known, and reached their target."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from aisbench_core.interfaces.cli import main
from aisbench_core.model import Series
from aisbench_core.running.series.comparing import SeriesComparison
from aisbench_core.warehouse.values.histories import Outcome
from tests.series_bench import SPEC, SeriesBench

TAGGED = SPEC.model_copy(update={"image_url": "team/bench:1", "command": "python train.py"})


@pytest.fixture
def bench(tmp_path: Path) -> SeriesBench:
    return SeriesBench.on(tmp_path / "data")


def by_batch(bench: SeriesBench, spec: Any = SPEC, *, missed: int = 0) -> Series:
    """Three batch sizes, the larger the faster, each twice; the `missed` fastest learn nothing."""
    sizes = [8, 16, 32]
    series = bench.launch(spec, values=f"batch_size={','.join(map(str, sizes))}", repeats=2, budget=40)
    for number in range(6):
        (run,) = bench.admit()
        batch = run.spec.parameters["batch_size"]
        assert isinstance(batch, int)
        bench.end(run, 100.0 * batch + number // 3, accuracy=0.1 if batch in sizes[len(sizes) - missed :] else 0.76)
    return series


def repeated(bench: SeriesBench, level: float, spec: Any = SPEC, accuracy: float = 0.76) -> Series:
    series = bench.launch(spec, repeats=3)
    for number in range(3):
        (run,) = bench.admit()
        bench.end(run, level + number / 10, accuracy=accuracy if number else 0.76)
    return series


def compared(bench: SeriesBench, old: Series, new: Series) -> SeriesComparison:
    return bench.core.series.compare(old.series_id, new.series_id)


def test_the_best_row_is_the_fastest_that_reached_its_target(bench: SeriesBench) -> None:
    matrix = bench.look(by_batch(bench, missed=1))

    assert matrix.best
    assert matrix.best.row.planned.parameters["batch_size"] == 16
    assert [row.missed for row in matrix.rows] == [0, 0, 2]
    assert len(matrix.rivals) == 3


def test_where_all_missed_their_target_the_best_row_is_the_fastest_and_says_so(bench: SeriesBench) -> None:
    matrix = bench.look(by_batch(bench, missed=3))

    assert matrix.best
    assert (matrix.best.row.missed, matrix.missed, matrix.mixed) == (2, 6, "")


def test_rows_that_are_mixed_or_unknown_have_neither_interval_nor_rank(bench: SeriesBench, tmp_path: Path) -> None:
    series = by_batch(bench, TAGGED)
    env = {"AISBENCH_DATA_DIR": str(tmp_path / "data"), "AISBENCH_PROFILE": "quiet"}

    matrix = bench.look(series)
    shown = CliRunner().invoke(main, ["series", "show", series.series_id], env=env)
    best = CliRunner().invoke(main, ["series", "best", series.series_id], env=env)

    assert (matrix.best, matrix.mixed) == (None, "mixed or unknown: image")
    assert all(row.summary and row.summary.mean and row.summary.ci_low is None for row in matrix.rows)
    assert "mixed or unknown: image" in shown.stdout
    assert best.exit_code == 6
    assert "no best row: mixed or unknown: image" in best.stderr


def test_series_of_which_something_decisive_is_not_known_are_not_compared(bench: SeriesBench, tmp_path: Path) -> None:
    old, new = repeated(bench, 200, TAGGED), repeated(bench, 190, TAGGED)
    env = {"AISBENCH_DATA_DIR": str(tmp_path / "data"), "AISBENCH_PROFILE": "quiet"}

    found = compared(bench, old, new)
    said = CliRunner().invoke(main, ["series", "compare", old.series_id, new.series_id], env=env)

    [pair] = found.pairs
    assert (found.outcome, pair.difference, pair.power) == (Outcome.NOT_ENOUGH, None, None)
    assert pair.withheld == "No verdict: the runs may differ in image"
    assert said.exit_code == 6
    assert "No verdict: the runs may differ in image" in said.stdout


def test_a_series_with_runs_below_their_target_has_not_improved(bench: SeriesBench) -> None:
    old, new = repeated(bench, 200), repeated(bench, 250, accuracy=0.1)
    slower = repeated(bench, 150)

    [faster] = compared(bench, old, new).pairs
    [back] = compared(bench, new, slower).pairs

    assert (faster.outcome, faster.difference, faster.missed) == (Outcome.NOT_ENOUGH, None, 2)
    assert (back.outcome, back.difference) == (Outcome.NOT_ENOUGH, None)


def test_a_row_whose_runs_scatter_counts_with_warnings(bench: SeriesBench, tmp_path: Path) -> None:
    series = bench.launch(repeats=3)
    for level in (200.0, 250.0, 310.0):
        (run,) = bench.admit()
        bench.end(run, level)
    env = {"AISBENCH_DATA_DIR": str(tmp_path / "data"), "AISBENCH_PROFILE": "quiet"}

    shown = CliRunner().invoke(main, ["series", "show", series.series_id], env=env)

    [row] = bench.look(series).rows
    assert row.summary
    assert row.summary.cv == pytest.approx(0.217, abs=0.01)
    assert "passed, with warnings" in shown.stdout
