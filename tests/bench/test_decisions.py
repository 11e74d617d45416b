"""The whole table of simulated verdicts, with the limits that it has to keep, and a real series with known changes.

The real series is TigerBeetle's nightly throughput, which Apache Otava's tests hold (Apache License 2.0): `make bench`
gets it with the source of that release, and none of it is kept here.
"""

import ast
import tarfile
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from aisbench_core.domain.statistics.decision import TimedValue, count_looks
from aisbench_core.domain.statistics.steps import ALPHA, find_steps
from tests.bench.decisions import ROWS, count_alarmed, every_night, reach_promise, score, score_groups
from tests.source_tree import HOME

RELEASE = HOME / ".bench" / "otava" / "apache_otava-0.8.0.tar.gz"
SERIES = "apache_otava-0.8.0/tests/tigerbeetle_test.py"

# By hand, as that file draws them.
BY_HAND = (16, 71, 97)

# How far a change may be from where a person saw it.
MARGIN = 5

LEAST_RECALL = {
    "20+3": 0.93,
    "5+5": 0.87,
    "outliers 8 %, 20+3": 0.5,
    "outliers 8 %, 20+10": 0.95,
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_steps_are_found_and_nothing_else_is(row: object) -> None:
    assert row in ROWS
    found = next(each for each in ROWS if each == row)

    recall, alarms, _ = score(found)

    assert alarms <= (0.02 if found.name in LEAST_RECALL or found.name == "3+3" else 0.05)
    assert recall is None or recall >= LEAST_RECALL.get(found.name, 0.0)


def test_groups_that_are_judged_together_are_named_rightly() -> None:
    recall, wrong = score_groups()

    assert recall >= 0.8
    assert wrong <= 0.05


@pytest.mark.parametrize("old", [0, 20])
def test_a_quiet_series_stays_quiet_for_100_nights(old: int) -> None:
    assert count_alarmed(old) <= 0.05


@pytest.mark.parametrize(("old", "new"), [(3, 3), (5, 5), (20, 3)])
def test_as_many_runs_as_asked_for_are_enough(old: int, new: int) -> None:
    reached, _ = reach_promise(old, new)

    assert reached == pytest.approx(0.9, abs=0.06)


def read_tigerbeetle() -> list[float]:
    with tarfile.open(RELEASE) as release:
        file = release.extractfile(SERIES)
        assert file
        [values] = [
            node for node in ast.walk(ast.parse(file.read())) if isinstance(node, ast.List) and len(node.elts) > 100
        ]
    return [float(value) for value in ast.literal_eval(values)]


def look_alike(seed: int) -> list[float]:
    """Levels like those of the real series: an outlier, three changes, a slow rise, then noise."""
    luck = np.random.default_rng(seed)
    level = np.repeat([26_800.0, 23_700.0, 28_400.0, 27_200.0], [16, 55, 26, 268])
    level[97:200] += np.linspace(0, 2_000, 103)
    level[200:] += 2_000
    values = luck.normal(level, 0.011 * level)
    values[10] *= 0.6
    return list(values)


@pytest.mark.parametrize(
    "read",
    [read_tigerbeetle, lambda: look_alike(1), lambda: look_alike(2)],
    ids=["TigerBeetle", "like it", "like it 2"],
)
def test_changes_that_a_person_saw_are_found(
    read: Callable[[], list[float]], capsys: pytest.CaptureFixture[str]
) -> None:
    values = read()
    nights = [TimedValue(value, every_night(place)) for place, value in enumerate(values)]

    found = [step.index for step in find_steps(values, ALPHA / count_looks(nights))]

    with capsys.disabled():
        print(f"\nfound {found}, by hand {list(BY_HAND)}: F1 {f1(found):.2f}, of finding nothing {f1([]):.2f}")
    assert f1(found) > f1([])


def f1(found: Sequence[int]) -> float:
    """With the beginning as a change that everybody finds, as usual for change points."""
    named, true = [0, *found], [0, *BY_HAND]
    right = sum(any(abs(one - each) <= MARGIN for each in true) for one in named)
    seen = sum(any(abs(one - each) <= MARGIN for one in named) for each in true)
    precision, recall = right / len(named), seen / len(true)
    return 2 * precision * recall / (precision + recall)
