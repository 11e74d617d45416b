"""What stopping early costs and keeps: coverage and runs of adaptive repeats, and of the search between versions.

`.venv/bin/python -m pytest -s -p no:xdist tests/bench/test_sequential.py` prints the tables. The search is compared
with the fixed plan of the same promise: equal repeats of all versions, as few as name the right one with 95 % stated
certainty in 95 of 100 series. The rules are those that a follower asks.
"""

import math
from collections.abc import Sequence
from statistics import fmean

import numpy as np
import pytest

from aisbench_core.domain.statistics.bisection import locate_step
from aisbench_core.domain.statistics.sequential import anytime_change
from aisbench_core.model import StopRule, Until
from aisbench_core.running.series.stopping import Judgement, RowValues, judge_rows

SERIES = 3000
VERSIONS, DROP, NOISE = 16, 0.03, 0.01
MOST = 100


def test_intervals_hold_at_the_run_where_they_were_narrow_enough(capsys: pytest.CaptureFixture[str]) -> None:
    made = np.random.default_rng(1)
    found = {cv: _cover(made, cv) for cv in (0.003, 0.005, 0.01, 0.015, 0.02, 0.03)}

    with capsys.disabled():
        print("\nhalf-width<1%:  CV  coverage  mean runs")
        for cv, (coverage, runs) in found.items():
            print(f"  {cv:.3f}  {coverage:.3f}  {runs:.1f}")
    assert min(coverage for coverage, _ in found.values()) >= 0.94


@pytest.mark.parametrize(("drop", "most_runs"), [(0.0, MOST), (0.01, 30), (0.02, 10), (0.03, 7)])
def test_versions_are_told_apart_with_the_stated_risk(
    drop: float, most_runs: float, capsys: pytest.CaptureFixture[str]
) -> None:
    made = np.random.default_rng(2)
    ends = [_tell_apart(made, drop) for _ in range(1000)]
    slower, wrong = (fmean(each[index] for each in ends) for index in (0, 1))
    runs = fmean(each[2] for each in ends)

    with capsys.disabled():
        print(
            f"\ndecided: drop {drop:.0%} at CV 1 %: slower {slower:.3f}, interval misses {wrong:.3f}, {runs:.1f} each"
        )
    assert wrong <= 0.05
    assert runs <= most_runs
    assert slower <= 0.05 if drop == 0 else slower >= 0.95


def test_the_first_slower_version_is_named_with_a_third_of_the_runs(capsys: pytest.CaptureFixture[str]) -> None:
    made = np.random.default_rng(5)
    fixed = next(repeats for repeats in range(1, 20) if _name_with(made, repeats) >= 0.95)
    searched = [_search(made) for _ in range(500)]
    right, runs = fmean(hit for hit, _ in searched), fmean(used for _, used in searched)

    share = runs / (fixed * VERSIONS)
    with capsys.disabled():
        print(
            f"\nfirst-slower, {VERSIONS} versions, drop {DROP:.0%} at CV {NOISE:.0%}:"
            f" right {right:.3f} with {runs:.1f} runs"
        )
        print(f"  all versions {fixed} times each: {fixed * VERSIONS} runs; share {share:.2f}")
    assert right >= 0.95
    assert share <= 0.4


def _cover(made: np.random.Generator, cv: float) -> tuple[float, float]:
    until, held, used = Until(StopRule.HALF_WIDTH, 0.01), 0, 0
    for _ in range(SERIES):
        values, judgement = _draw_until(made, cv, until)
        centre, margin = fmean(map(math.log, values)), 0.01
        held += abs(centre) <= margin if judgement.is_met else 1
        used += len(values)
    return held / SERIES, used / SERIES


def _draw_until(made: np.random.Generator, cv: float, until: Until) -> tuple[list[float], Judgement]:
    values: list[float] = []
    while True:
        values.append(math.exp(cv * made.standard_normal()))
        judgement = judge_rows(until, [RowValues("r1", values)])
        if judgement.is_met or len(values) >= MOST:
            return values, judgement


def _tell_apart(made: np.random.Generator, drop: float) -> tuple[bool, bool, int]:
    """Whether it was called slower, whether the interval at the end misses the truth, and the runs of each."""
    rows, truth = [RowValues("a", []), RowValues("b", [])], (1.0, 1 - drop)
    for _ in range(MOST):
        rows = [
            RowValues(row.title, [*row.values, level * math.exp(NOISE * made.standard_normal())])
            for row, level in zip(rows, truth, strict=True)
        ]
        judgement = judge_rows(Until(StopRule.DECIDED), rows)
        if judgement.is_met:
            break
    found = anytime_change(rows[0].values, rows[1].values)
    assert found
    return found[2] < 0, not found[1] <= -drop <= found[2], len(rows[0].values)


def _measure(made: np.random.Generator, first: int, version: int) -> float:
    return float((1 - DROP * (version >= first)) * (1 + NOISE * made.standard_normal()))


def _name_with(made: np.random.Generator, repeats: int) -> float:
    """How often equal repeats of every version name the right one with 95 % certainty."""
    named = 0
    for _ in range(1000):
        first = int(made.integers(1, VERSIONS))
        chances = locate_step([[_measure(made, first, at) for _ in range(repeats)] for at in range(VERSIONS)])
        named += chances[first] >= 0.95
    return named / 1000


def _search(made: np.random.Generator) -> tuple[bool, int]:
    first = int(made.integers(1, VERSIONS))
    samples: Sequence[list[float]] = [[] for _ in range(VERSIONS)]
    for used in range(10 * VERSIONS):
        judgement = judge_rows(
            Until(StopRule.FIRST_SLOWER), [RowValues(f"r{at}", sample) for at, sample in enumerate(samples)]
        )
        if judgement.is_met:
            chances = judgement.probabilities or (1.0,)
            return chances.index(max(chances)) == first, used
        version = judgement.wanted[0]
        samples[version].append(_measure(made, first, version))
    return False, 10 * VERSIONS
