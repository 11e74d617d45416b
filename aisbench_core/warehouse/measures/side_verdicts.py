"""What each compared run comes to against the first: slower, faster, no difference, or why nobody can tell."""

from aisbench_core.domain.statistics.difference import MIN_VALUES, MeanDifference, Power
from aisbench_core.domain.statistics.summary import Summary
from aisbench_core.warehouse.measures.regression import EFFECT, PLANNED, power_of
from aisbench_core.warehouse.values.compared import (
    Comparability,
    ComparedBy,
    Comparison,
    Peers,
    RunComparability,
    SideOutcome,
    SideVerdict,
)


def decide_sides(comparison: Comparison) -> tuple[SideVerdict, ...]:
    """A verdict for each run but the first, from the valid runs of its configuration and of the first one's."""
    sides = zip(comparison.verdicts[1:], comparison.peers[1:], strict=True)
    return tuple(_decide_side(comparison, one, peers) for one, peers in sides)


def _decide_side(comparison: Comparison, one: RunComparability, peers: Peers) -> SideVerdict:
    before, after = comparison.peers[0].summary, peers.summary
    is_comparable = one.verdict is Comparability.COMPARABLE or bool(one.normalise_by and comparison.normalise_by)
    if not is_comparable:
        return SideVerdict(one.run_id, SideOutcome.NOT_COMPARABLE)
    if before is None or after is None:
        return SideVerdict(one.run_id, SideOutcome.NOT_MEASURED)
    if peers.is_baselines:
        return SideVerdict(one.run_id, SideOutcome.REPEATED)
    named = {run.run_id: run.not_known for run in comparison.runs}
    may_be_mixed = comparison.by is ComparedBy.ROWS and one.unknown
    if may_be_mixed or named[comparison.runs[0].run_id] or named[one.run_id]:
        return SideVerdict(one.run_id, SideOutcome.NOT_KNOWN)
    power = power_of(before, after, len(comparison.runs) - 1)
    if peers.difference and not _has_both_signs(peers.difference):
        return _decide_by_size(one.run_id, peers.difference)
    if peers.difference and power and power.visible is not None and power.visible <= PLANNED:
        return SideVerdict(one.run_id, SideOutcome.SIMILAR, peers.difference, power.visible)
    visible, missing = PLANNED, _count_missing(before, after, power)
    if not any(missing):
        visible, missing = 0.0, _count_single(before, after)
    return SideVerdict(one.run_id, SideOutcome.UNDECIDED, peers.difference, visible, *missing)


def _has_both_signs(difference: MeanDifference) -> bool:
    return difference.ci_low <= 0 <= difference.ci_high


def _decide_by_size(run_id: str, difference: MeanDifference) -> SideVerdict:
    outcome = SideOutcome.SLOWER if difference.change < 0 else SideOutcome.FASTER
    return SideVerdict(run_id, outcome, difference, is_small=abs(difference.change) < EFFECT)


def _count_missing(before: Summary, after: Summary, power: Power | None) -> tuple[int, int]:
    """How many more runs of the baseline, and of the other side, would show a change of PLANNED; 0 and 0: too many."""
    if power and power.runs:
        return 0, max(power.runs - after.count, 0)
    each = power.runs_each if power else MIN_VALUES
    return (max(each - before.count, 0), max(each - after.count, 0)) if each else (0, 0)


def _count_single(before: Summary, after: Summary) -> tuple[int, int]:
    """How many more runs of the baseline, and of the other side, give the difference an interval at all."""
    return max(MIN_VALUES - before.count, 0), max(MIN_VALUES - after.count, 0)
