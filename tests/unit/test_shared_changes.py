"""Configurations that changed together: one line for one cause, whatever the node count."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from aisbench_core.model import Mode, Origin
from aisbench_core.warehouse.measures.outcomes import with_outcomes
from aisbench_core.warehouse.measures.regression import regression_verdict
from aisbench_core.warehouse.measures.shared_changes import SharedChange, group_changes
from aisbench_core.warehouse.values.histories import BaselineReason, HistoryRun, Outcome, Trend, TrendRow, VersionField
from aisbench_core.warehouse.values.runs import Validity
from aisbench_core.warehouse.values.trend_verdicts import TrendVerdict
from tests.records import T0

FIELD = VersionField.FRAMEWORK


SLOT = timedelta(minutes=20)
"""Of one day, so that the days explain nothing."""


def measure(version: str, slot: int, mean: float, count: int = 6, spread: float = 0.001) -> list[HistoryRun]:
    """Runs of one version, 24 in a slot, up to `spread` away from their mean."""
    noise = np.random.default_rng(count).permutation(np.linspace(-1, 1, count)) * mean * spread
    return [
        HistoryRun(
            run_id=f"{version}-{index}",
            at=T0 + slot * SLOT + index * SLOT / 24,
            created_by="ann",
            framework_version=version,
            engine_version="cann-1",
            code_sha256="c0de",
            validity=Validity.VALID,
            values={"throughput": float(mean + add)},
            left_out={},
        )
        for index, add in enumerate(noise)
    ]


def configuration(
    runs: Sequence[HistoryRun], nodes: int = 1, model: str = "ResNet-50", origin: Origin = Origin.LAUNCHED
) -> TrendVerdict:
    """What the warehouse answers for these runs, before outcomes are decided."""
    trend = Trend(
        region="cn-north-4",
        rehearsal=False,
        synthetic_data=False,
        fingerprint=f"{model}-{nodes}",
        throughput_unit="samples/s",
        origin=origin,
        flavor="f8",
        pool_id="",
        node_count=nodes,
        cards_per_node=8,
    )
    newest = runs[-1]
    row = TrendRow(
        trend, model, model, "resnet50", "imagenet", "", Mode.CLUSTER, len(runs), len(runs), newest.at, newest.run_id
    )
    verdict = regression_verdict(runs, "samples/s", FIELD, (), BaselineReason.VERSION_BEFORE)
    return TrendVerdict(row, verdict, began={run.run_id: run.at for run in runs})


def group(*configurations: TrendVerdict) -> tuple[SharedChange, ...]:
    decided = with_outcomes([each.verdict for each in configurations])
    return group_changes(
        [
            TrendVerdict(each.row, verdict, began=each.began)
            for each, verdict in zip(configurations, decided, strict=True)
        ]
    )


def change(nodes: int, percent: float, *, versions: tuple[str, str] = ("r1", "r2"), slot: int = 1) -> TrendVerdict:
    before, after = versions
    return configuration([*measure(before, 0, 100), *measure(after, slot, 100 + percent)], nodes)


def at(slot: int) -> datetime:
    return T0 + slot * SLOT


def test_a_version_that_is_slower_on_all_node_counts_is_one_change() -> None:
    [shared] = group(change(8, -4.4), change(1, -4.1), change(2, -4.5), change(4, -4.2))

    assert shared.outcome is Outcome.REGRESSION
    assert shared.node_counts == (1, 2, 4, 8)
    assert shared.changes
    assert [round(100 * each, 1) for each in shared.changes] == [-4.1, -4.5]
    assert shared.first.row.group.node_count == 2
    assert (shared.since, shared.runs_missing) == (at(1), None)


def test_a_change_that_more_runs_would_make_surer_is_the_same_change() -> None:
    noisy = configuration([*measure("r1", 0, 100, spread=0.01), *measure("r2", 1, 110, spread=0.01)], 2)
    assert noisy.verdict.runs_missing

    [shared] = group(change(1, 9), noisy)

    assert (shared.outcome, shared.node_counts) == (Outcome.IMPROVEMENT, (1, 2))


def test_the_other_direction_is_another_change_and_the_worst_comes_first() -> None:
    changes = group(change(1, 3.0), change(2, -2.0), change(4, 5.0))

    assert [each.outcome for each in changes] == [Outcome.REGRESSION, Outcome.IMPROVEMENT]
    assert [each.node_counts for each in changes] == [(2,), (1, 4)]
    assert changes[1].first.row.group.node_count == 4


def test_other_versions_models_and_origins_are_other_changes() -> None:
    slower = [*measure("r1", 0, 100), *measure("r2", 1, 96)]
    bert = configuration(slower, 1, "BERT-large")
    imported = configuration(slower, 1, origin=Origin.IMPORTED)

    changes = group(change(1, -4), change(2, -4, versions=("r1", "r3")), bert, imported)

    assert len(changes) == 4


def test_what_happened_at_other_times_is_another_change() -> None:
    """A version that came to the second cluster long after the first was changed there may have another cause."""
    changes = group(change(1, -4), change(2, -4), change(4, -4, slot=30))

    assert [each.node_counts for each in changes] == [(1, 2), (4,)]
    assert [each.since for each in changes] == [at(1), at(30)]


def test_times_that_overlap_by_way_of_a_third_are_one() -> None:
    long = configuration([*measure("r1", 0, 100), *measure("r2", 1, 96, count=60)], 2)
    late = change(4, -4, slot=3)

    [shared] = group(change(1, -4), late, long)

    assert shared.node_counts == (1, 2, 4)


def test_what_more_runs_would_decide_comes_last_with_their_number() -> None:
    def undecided(nodes: int, count: int) -> TrendVerdict:
        return configuration([*measure("r1", 0, 100), *measure("r2", 1, 90, count)], nodes)

    *_, last = group(undecided(1, 1), undecided(2, 1), change(4, -4))

    assert last.outcome is Outcome.NOT_ENOUGH
    assert (last.node_counts, last.runs_missing, last.changes) == ((1, 2), (1, 1), None)


def test_what_did_not_change_is_no_news() -> None:
    assert group(change(1, 0.0)) == ()
    assert group() == ()
