"""How well regressions are found, by us and by others, on the same made-up series; and how quickly steps are.

asv's own step detector runs beside ours. Conbench's rule (a z-score beyond 5 against the history) and the percentage
rules that codespeed and others use are restated: each is one line, and the tools are servers.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from asv.step_detect import detect_steps

from aisbench_core.domain.statistics.difference import Reporting, detection_rate
from aisbench_core.domain.statistics.steps import find_steps
from aisbench_core.warehouse.measures.outcomes import with_outcomes
from aisbench_core.warehouse.measures.regression import ALPHA, EFFECT, regression_verdict
from aisbench_core.warehouse.values.histories import (
    BaselineReason,
    HistoryRun,
    Outcome,
    RegressionVerdict,
    VersionField,
)
from aisbench_core.warehouse.values.runs import Validity
from tests.records import T0

SERIES = 300
NEW = 3
LEVEL = 1000.0

Found = Callable[[Sequence[float], Sequence[float]], bool]


@dataclass(frozen=True)
class Case:
    """Noise (coefficient of variation), a drop, and how many runs there were before it."""

    noise: float
    drop: float
    history: int


CASES = (
    Case(0.003, 0.01, 20),
    Case(0.003, 0.02, 8),
    Case(0.01, 0.02, 20),
    Case(0.01, 0.03, 8),
    Case(0.01, 0.03, 20),
    Case(0.01, 0.05, 20),
    Case(0.02, 0.05, 20),
)
DECISIVE = Case(0.01, 0.03, 20)


def test_three_runs_show_what_other_rules_miss(capsys: pytest.CaptureFixture[str]) -> None:
    table = {case: {name: _score(rule, case) for name, rule in RULES.items()} for case in CASES}

    with capsys.disabled():
        print("\n" + "\n".join(_lines(table)))
    recall, false_alarms = _score(_ours, DECISIVE, series=2000)
    with capsys.disabled():
        print(f"the fifth row again, 2000 series: recall {recall:.3f}, false alarms {false_alarms:.4f}")
    assert recall >= 0.92, "0.95 without the checks for outliers, trends and dependence, which runs seldom need"
    assert false_alarms <= 0.02
    for scores in table.values():
        peers = [scores[name] for name in RULES if not name.startswith("ours")]
        assert scores["ours"][0] >= max(recall for recall, _ in peers)
        assert scores["ours"][1] <= 0.03
        assert scores["ours, searching"][0] >= scores["asv"][0]
        assert scores["ours, searching"][1] <= 0.05


def test_a_true_drop_is_seen_among_metrics_that_did_not_change(capsys: pytest.CaptureFixture[str]) -> None:
    """Throughput and duration change together, accuracy and spread do not; all four are in one family of tests."""
    made = np.random.default_rng(11)
    seen = [_outcomes(made, DECISIVE, DECISIVE.drop)["throughput"] for _ in range(SERIES)]
    quiet = [_outcomes(made, DECISIVE, 0.0) for _ in range(SERIES)]
    recall = statistics.fmean(outcome is Outcome.REGRESSION for outcome in seen)
    any_alarm = statistics.fmean(any(_is_news(outcome) for outcome in each.values()) for each in quiet)

    with capsys.disabled():
        print(f"\nfour metrics, adjusted: recall {recall:.2f}, any false alarm in a whole answer {any_alarm:.3f}")
    assert recall >= 0.85
    assert any_alarm <= 0.03


def test_drops_are_reported_as_often_as_promised_and_more_often_with_every_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A drop of 2 % at a CV of 1 % after twenty runs, through the whole verdict."""
    shares = {}
    for new in range(3, 11):
        made = np.random.default_rng(7)
        verdicts = [_compare(*_sides(made, new)) for _ in range(2000)]
        gaps = [verdict.metrics[0].difference for verdict in verdicts]
        rule = Reporting(EFFECT, ALPHA)
        promises = [detection_rate(0.02, 0.01, 20, new, rule, gap.design) for gap in gaps if gap]
        shares[new] = (statistics.fmean(_is_news(each.outcome) for each in verdicts), statistics.fmean(promises))

    with capsys.disabled():
        for new, (share, promised) in shares.items():
            print(f"\n{new} new runs: reported {share:.3f}, promised {promised:.3f}", end="")
    assert all(abs(share - promised) <= 0.05 for share, promised in shares.values())
    assert all(after >= before - 0.01 for (before, _), (after, _) in pairwise(shares.values()))


def test_three_runs_cannot_tell_their_own_spread(capsys: pytest.CaptureFixture[str]) -> None:
    """False alarms when the new version only varies more than the twenty runs before."""
    alarms = {(wider, new): _alarms_when_wider(wider, new) for wider in (1, 2, 3) for new in (NEW, 2 * NEW)}

    with capsys.disabled():
        for (wider, new), share in alarms.items():
            print(f"\nspread x {wider}, {new} new runs: false alarms {share:.3f}", end="")
    assert all(
        share <= ((0.15 if new == NEW else 0.06) if wider > 1 else 0.03) for (wider, new), share in alarms.items()
    )


def test_steps_are_found_faster_than_by_asv(capsys: pytest.CaptureFixture[str]) -> None:
    made = np.random.default_rng(5)
    said = []
    ratios = []
    for count in (50, 200, 500, 1000):
        values = made.normal(LEVEL, 10, count)
        values[count // 2 :] *= 0.95
        ours, theirs = _median_ms(partial(find_steps, list(values))), _median_ms(partial(detect_steps, list(values)))
        ratios.append(theirs / ours)
        said.append(f"n={count}: {ours:.1f} ms, asv {theirs:.1f} ms, {theirs / ours:.1f} x")

    with capsys.disabled():
        print("\nsteps " + "; ".join(said))
    assert min(ratios[1:]) >= 2


# --- the rules --------------------------------------------------------------------------------------


def _ours(before: Sequence[float], after: Sequence[float]) -> bool:
    return _is_news(_compare(before, after).outcome)


def _compare(before: Sequence[float], after: Sequence[float]) -> RegressionVerdict:
    return _judge(_runs("r1", before) + _runs("r2", after, len(before)))


def _searching(before: Sequence[float], after: Sequence[float]) -> bool:
    """The same runs as one version: nobody says where the change would be."""
    return _is_news(_verdict(_runs("r1", [*before, *after])))


def _asv(before: Sequence[float], after: Sequence[float]) -> bool:
    return len(detect_steps([*before, *after])) > 1


def _z_of_first(before: Sequence[float], after: Sequence[float]) -> bool:
    return _z(before, after[0]) > 5


def _z_of_any(before: Sequence[float], after: Sequence[float]) -> bool:
    return any(_z(before, value) > 5 for value in after)


def _percent(limit: float) -> Found:
    return lambda before, after: abs(after[0] / statistics.fmean(before) - 1) > limit


RULES: Mapping[str, Found] = {
    "ours": _ours,
    "ours, searching": _searching,
    "asv": _asv,
    "z > 5, first": _z_of_first,
    "z > 5, any of 3": _z_of_any,
    "3 % rule": _percent(0.03),
    "5 % rule": _percent(0.05),
}


def _z(before: Sequence[float], value: float) -> float:
    return abs(value - statistics.fmean(before)) / statistics.stdev(before)


def _verdict(runs: Sequence[HistoryRun]) -> Outcome:
    return _judge(runs).outcome


def _judge(runs: Sequence[HistoryRun]) -> RegressionVerdict:
    found = regression_verdict(runs, "samples/s", VersionField.FRAMEWORK, (), BaselineReason.VERSION_BEFORE)
    return with_outcomes([found])[0]


def _is_news(outcome: Outcome) -> bool:
    return outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT)


# --- series -----------------------------------------------------------------------------------------


def _score(rule: Found, case: Case, series: int = SERIES) -> tuple[float, float]:
    """Recall over series with the drop, and the share of alarms over series without; every rule gets the same."""
    made = np.random.default_rng(7)
    found = [rule(*_series(made, case, case.drop)) for _ in range(series)]
    alarms = [rule(*_series(made, case, 0.0)) for _ in range(series)]
    return statistics.fmean(found), statistics.fmean(alarms)


def _alarms_when_wider(wider: int, new: int, series: int = 1000) -> float:
    made = np.random.default_rng(7)
    sd = LEVEL * 0.01
    return statistics.fmean(
        _ours(list(made.normal(LEVEL, sd, 20)), list(made.normal(LEVEL, sd * wider, new))) for _ in range(series)
    )


def _series(made: np.random.Generator, case: Case, drop: float) -> tuple[list[float], list[float]]:
    sd = LEVEL * case.noise
    return list(made.normal(LEVEL, sd, case.history)), list(made.normal(LEVEL * (1 - drop), sd, NEW))


def _sides(made: np.random.Generator, new: int) -> tuple[list[float], list[float]]:
    return list(made.normal(LEVEL, LEVEL * 0.01, 20)), list(made.normal(LEVEL * 0.98, LEVEL * 0.0098, new))


def _outcomes(made: np.random.Generator, case: Case, drop: float) -> dict[str, Outcome]:
    """The verdicts on four metrics of the same runs."""
    before, after = _series(made, case, drop)
    runs = _runs("r1", before) + _runs("r2", after, len(before))
    whole = [
        HistoryRun(
            **{
                **{name: getattr(run, name) for name in HistoryRun.__dataclass_fields__},
                "values": {
                    **run.values,
                    "duration_s": 1e6 / run.values["throughput"] * made.normal(1, case.noise / 3),
                    "accuracy": made.normal(0.76, 0.76 * case.noise),
                    "rank_cv": made.normal(0.02, 0.02 * case.noise),
                },
            }
        )
        for run in runs
    ]
    found = with_outcomes(
        [regression_verdict(whole, "samples/s", VersionField.FRAMEWORK, (), BaselineReason.VERSION_BEFORE)]
    )[0]
    return {metric.name: metric.outcome for metric in found.metrics}


def _runs(version: str, values: Sequence[float], start: int = 0) -> list[HistoryRun]:
    return [
        HistoryRun(
            run_id=f"{version}-{index}",
            at=T0 + timedelta(minutes=start + index),
            created_by="bench",
            framework_version=version,
            engine_version="cann",
            code_sha256="c0de",
            validity=Validity.VALID,
            values={"throughput": value},
            left_out={},
        )
        for index, value in enumerate(values)
    ]


def _lines(table: Mapping[Case, Mapping[str, tuple[float, float]]]) -> Iterator[str]:
    """The table of docs/regression.md."""
    yield "| noise (CV) | drop | history | " + " | ".join(RULES) + " |"
    yield "|---" * (len(RULES) + 3) + "|"
    for case, scores in table.items():
        cells = [f"{recall:.2f}, {alarms:.3f}" for recall, alarms in scores.values()]
        yield f"| {case.noise * 100:g} % | {case.drop * 100:g} % | {case.history} | " + " | ".join(cells) + " |"


def _median_ms(work: Callable[[], object]) -> float:
    durations = []
    for _ in range(5):
        start = time.perf_counter()
        work()
        durations.append((time.perf_counter() - start) * 1000)
    return statistics.median(durations)
