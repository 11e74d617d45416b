"""How often verdicts find a step, and find one where there is none: simulated series, through the whole verdict.

`python -m tests.bench.decisions` prints the table of docs/regression.md. A step is 3 % at a CV of 1 %.
"""

import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from aisbench_core.warehouse.measures.outcomes import with_outcomes
from aisbench_core.warehouse.measures.regression import regression_verdict
from aisbench_core.warehouse.values.histories import (
    BaselineReason,
    HistoryRun,
    Outcome,
    RegressionVerdict,
    VersionField,
)
from aisbench_core.warehouse.values.runs import Validity
from tests.records import T0

SERIES, STEP, CV, LEVEL = 300, 0.03, 0.01, 1000.0

# Of sessions: how much larger the spread between days is than that of runs.
OF_DAYS = 2.0

Luck = np.random.Generator
Values = Sequence[float] | NDArray[np.float64]
Noise = Callable[[Luck, int], Values]
"""So many values without a step, in standard deviations."""
Times = Callable[[int], datetime]


def independent(luck: Luck, count: int) -> Values:
    return list(luck.normal(0, 1, count))


def with_outliers(luck: Luck, count: int) -> Values:
    """8 of 100 runs are 5 to 15 % slower."""
    values = luck.normal(0, 1, count)
    slower = np.where(luck.random(count) < 0.08, luck.uniform(5, 15, count), 0.0)
    return list(values - slower)


def dependent(correlation: float) -> Noise:
    """Each run depends on the one before: AR(1)."""

    def draw(luck: Luck, count: int) -> Values:
        values = [luck.normal()]
        for fresh in luck.normal(0, np.sqrt(1 - correlation**2), count - 1):
            values.append(correlation * values[-1] + fresh)
        return values

    return draw


def drifting(luck: Luck, count: int) -> Values:
    """Every run is 0.15 % slower than the one before."""
    return list(luck.normal(0, 1, count) - 0.15 * np.arange(count))


def by_day(*sizes: int) -> Noise:
    """So many runs a day; the days vary twice as much as runs."""

    def draw(luck: Luck, count: int) -> Values:
        days = np.repeat(luck.normal(0, OF_DAYS, len(sizes)), sizes)[:count]
        return list(days + luck.normal(0, 1, count))

    return draw


def every_minute(place: int) -> datetime:
    return T0 + timedelta(minutes=place)


def every_night(place: int) -> datetime:
    return T0 + timedelta(days=place)


def on_days(*sizes: int) -> Times:
    days = np.repeat(np.arange(len(sizes)), sizes)
    return lambda place: T0 + timedelta(days=int(days[place]), minutes=place)


@dataclass(frozen=True)
class Row:
    """One row of the table: two versions, or one (`new` 0) that is searched."""

    name: str
    noise: Noise
    old: int
    new: int
    times: Times = every_minute


_SESSIONS = (5, 5, 5, 5, 3)

ROWS = (
    Row("20+3", independent, 20, 3),
    Row("20+3, nightly", independent, 20, 3, every_night),
    Row("5+5", independent, 5, 5),
    Row("3+3", independent, 3, 3),
    Row("outliers 8 %, 20+3", with_outliers, 20, 3),
    Row("outliers 8 %, 20+10", with_outliers, 20, 10),
    Row("AR(1) 0.5, 20+3", dependent(0.5), 20, 3),
    Row("AR(1) 0.8, 20+3", dependent(0.8), 20, 3),
    Row("days 4×5+3", by_day(*_SESSIONS), 20, 3, on_days(*_SESSIONS)),
    Row("one day a version, 5+5", by_day(5, 5), 5, 5, on_days(5, 5)),
    Row("drift −0.15 % a run, 20+3", drifting, 20, 3),
    Row("one version, AR(1) 0.5", dependent(0.5), 24, 0),
    Row("one version, AR(1) 0.8", dependent(0.8), 24, 0),
    Row("one version, days 5×5", by_day(*5 * (5,)), 25, 0, on_days(*5 * (5,))),
    Row("one version, days 10×5", by_day(*10 * (5,)), 50, 0, on_days(*10 * (5,))),
    Row("one version, drift", drifting, 24, 0),
)


def score(row: Row, series: int = SERIES) -> tuple[float | None, float, float]:
    """Recall (None for one version), false alarms, and the share of series without a step that stay undecided."""
    luck = np.random.default_rng(7)
    drawn = [np.array(row.noise(luck, row.old + row.new)) for _ in range(series)]
    quiet = [judge(row, values) for values in drawn]
    alarms = statistics.fmean(map(is_news, quiet))
    open_ = statistics.fmean(found.outcome is Outcome.NOT_ENOUGH for found in quiet)
    if not row.new:
        return None, alarms, open_
    stepped = (np.concatenate([values[: row.old], values[row.old :] - STEP / CV]) for values in drawn)
    return statistics.fmean(is_news(judge(row, values)) for values in stepped), alarms, open_


def judge(row: Row, values: Values) -> RegressionVerdict:
    """The verdict on values in standard deviations."""
    return decide([build_verdict(row, values)])[0]


def build_verdict(row: Row, values: Values) -> RegressionVerdict:
    measured = [LEVEL * (1 + CV * value) for value in values]
    old = make_runs("r1", measured[: row.old], row.times)
    new = make_runs("r2", measured[row.old :], lambda place: row.times(place + row.old))
    return regression_verdict([*old, *new], "samples/s", VersionField.FRAMEWORK, (), BaselineReason.VERSION_BEFORE)


decide = with_outcomes


def make_runs(version: str, values: Values, times: Times) -> list[HistoryRun]:
    return [
        HistoryRun(
            run_id=f"{version}-{place}",
            at=times(place),
            created_by="bench",
            framework_version=version,
            engine_version="cann",
            code_sha256="c0de",
            validity=Validity.VALID,
            values={"throughput": float(value)},
            left_out={},
        )
        for place, value in enumerate(values)
    ]


def is_news(found: RegressionVerdict) -> bool:
    return found.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT)


def score_groups(groups: int = 169, slower: int = 17, answers: int = 20) -> tuple[float, float]:
    """Of groups of 5+5 runs that are judged together: how many slower ones are named, and how many named are not."""
    luck, row = np.random.default_rng(7), Row("groups", independent, 5, 5)
    found = wrong = 0
    for _ in range(answers):
        drawn = luck.normal(0, 1, (groups, 10))
        drawn[:slower, 5:] -= STEP / CV
        news = [is_news(each) for each in decide([build_verdict(row, values) for values in drawn])]
        found, wrong = found + sum(news[:slower]), wrong + sum(news[slower:])
    return found / (answers * slower), wrong / max(1, found + wrong)


def count_alarmed(old: int, series: int = 100, nights: int = 100) -> float:
    """Of quiet series that are looked at every night for so many nights, how many ever raise an alarm."""
    luck = np.random.default_rng(3)
    row = Row("nights", independent, old, 0, every_night)
    drawn = luck.normal(0, 1, (series, old + nights))
    return statistics.fmean(
        any(is_news(judge(row, values[:end])) for end in range(max(old + 2, 6), old + nights + 1)) for values in drawn
    )


def reach_promise(old: int, new: int, series: int = SERIES, change: float = 0.02) -> tuple[float, float]:
    """How often a drop of 2 % is reported after as many more runs as were asked for, and the runs of a side then."""
    luck = np.random.default_rng(7)
    found, counts = [], []
    for _ in range(series):
        first = luck.normal(0, 1, old + new)
        first[old:] -= change / CV
        power = judge(Row("", independent, old, new), first).metrics[0].power
        assert power
        sizes = (old, power.runs) if power.runs else (power.runs_each or 200, power.runs_each or 200)
        before, after = max(old, sizes[0]), max(new, sizes[1])
        more = luck.normal(0, 1, before + after - old - new)
        values = [*first[:old], *more[: before - old], *first[old:], *(more[before - old :] - change / CV)]
        found.append(is_news(judge(Row("", independent, before, after), values)))
        counts.append(after)
    return statistics.fmean(found), statistics.median(counts)


def iterate_lines() -> Iterator[str]:
    yield "| series | recall | false alarms |"
    yield "|---|---|---|"
    for row in ROWS:
        recall, alarms, open_ = score(row)
        undecided = f", not decided {open_:.2f}" if open_ else ""
        yield f"| {row.name} | {'–' if recall is None else f'{recall:.2f}'} | {alarms:.3f}{undecided} |"
    recall, wrong = score_groups()
    yield f"| 169 groups of 5+5, 17 of them slower | {recall:.2f} | {wrong:.3f} of those named |"
    for name, old in (("one version", 0), ("after 20 runs of another", 20)):
        yield f"| 100 nights without a change, {name} | – | {count_alarmed(old):.3f} |"
    for old, new in ((3, 3), (5, 5), (20, 3)):
        reached, runs = reach_promise(old, new)
        yield f"| {old}+{new}, then the runs asked for (median {runs:g}), a drop of 2 % | {reached:.2f} | – |"


if __name__ == "__main__":
    for line in iterate_lines():
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
