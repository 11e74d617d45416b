"""How often a true drop is reported grows with the runs, and is what the power line promises, as simulated here."""

from itertools import pairwise
from statistics import fmean

import numpy as np
import pytest

from aisbench_core.domain.statistics.difference import Reporting, compare_means, detection_rate
from aisbench_core.warehouse.values.histories import Outcome
from tests.unit.test_regression import judged, noise, runs

pytestmark = pytest.mark.slow  # thousands of simulated histories

RULE = Reporting(least=0.01, alpha=0.01)
SERIES = 1000
TOLERANCE = 0.05


def reported(cv: float, drop: float, baseline: int, candidate: int) -> float:
    """How often the test that decides reports the drop."""
    made = np.random.default_rng(5)
    before = made.normal(1000, 1000 * cv, (SERIES, baseline))
    after = made.normal(1000 * (1 - drop), 1000 * (1 - drop) * cv, (SERIES, candidate))
    gaps = [compare_means(list(one), list(other)) for one, other in zip(before, after, strict=True)]
    return sum(bool(gap and gap.p_value <= RULE.alpha and abs(gap.change) >= RULE.least) for gap in gaps) / SERIES


@pytest.mark.parametrize("baseline", [8, 20])
def test_one_more_run_never_makes_a_drop_harder_to_see(baseline: int) -> None:
    shares = [reported(0.01, 0.02, baseline, candidate) for candidate in range(4, 9)]

    assert all(after > before - 0.01 for before, after in pairwise(shares)), shares


@pytest.mark.parametrize("baseline", [8, 20])
@pytest.mark.parametrize("candidate", [3, 5, 6, 7, 10])
def test_the_promised_share_is_the_reported_one(baseline: int, candidate: int) -> None:
    promised = detection_rate(0.02, 0.01, baseline, candidate, RULE)

    assert reported(0.01, 0.02, baseline, candidate) == pytest.approx(promised, abs=TOLERANCE)


def test_a_small_version_that_varies_more_raises_fewer_false_alarms_than_its_share() -> None:
    made = np.random.default_rng(9)
    alarms = [compare_means(list(made.normal(1000, 10, 20)), list(made.normal(1000, 30, 6))) for _ in range(SERIES)]

    share = sum(bool(gap and gap.p_value <= RULE.alpha and abs(gap.change) >= RULE.least) for gap in alarms) / SERIES
    assert share <= 0.05


@pytest.mark.parametrize("candidate", [5, 6, 7])
def test_a_whole_verdict_reports_as_often_as_its_power_line_promises(candidate: int) -> None:
    """From six runs on the level within the newest version is tested, too, which takes nothing from this test.

    Each verdict promises by the error that decided it: larger where runs seemed to depend on others, or to drift."""
    made = np.random.default_rng(21)
    series = 400
    verdicts = [
        judged(runs([*made.normal(1000, 10, 20)]) + runs([*made.normal(980, 9.8, candidate)], "r2", 20))
        for _ in range(series)
    ]

    share = sum(each.metrics[0].outcome is Outcome.REGRESSION for each in verdicts) / series
    designs = [each.metrics[0].difference.design for each in verdicts if each.metrics[0].difference]
    promised = fmean(detection_rate(0.02, 0.01, 20, candidate, RULE, design) for design in designs)
    assert verdicts[0].tests == (1 if candidate < 6 else 2)
    assert share == pytest.approx(promised, abs=TOLERANCE)


def test_where_the_position_of_a_change_is_searched_for_nothing_is_promised() -> None:
    one_version = judged(runs(noise(3, 20)))

    assert [metric.power for metric in one_version.metrics] == [None]
