"""Two series row by row: whether throughput changed, and significantly. Pure functions of their matrices."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Hint, Message
from aisbench_core.domain.statistics.decision import compare_runs
from aisbench_core.domain.statistics.difference import MeanDifference, Power, adjust_p_values
from aisbench_core.model import SeriesRow
from aisbench_core.running.series.matrix import Matrix, MatrixRow
from aisbench_core.warehouse.measures.outcomes import sum_up
from aisbench_core.warehouse.measures.regression import ALPHA, EFFECT, power_of
from aisbench_core.warehouse.values.boards import explain_no_verdict
from aisbench_core.warehouse.values.compared import Comparability, Comparison, FieldValues
from aisbench_core.warehouse.values.histories import Outcome

Compare = Callable[[Sequence[str]], Comparison]
"""Compares runs by their ids."""


@dataclass(frozen=True, slots=True)
class RowPair:
    """A row of the baseline with the row of the candidate.

    `comparability`: of their typical runs, `reasons` the fields that forbid it; None while a side has no valid run.
    `difference` needs two valid runs on each side that are not below their target; `adjusted_p` is adjusted over all
    rows. Where something that decides speed is not known of a side there is none, and with a candidate's run below its
    target nothing has improved.
    """

    baseline: MatrixRow
    candidate: MatrixRow
    comparability: Comparability | None = None
    reasons: tuple[str, ...] = ()
    difference: MeanDifference | None = None
    adjusted_p: float | None = None
    power: Power | None = None
    outcome: Outcome = Outcome.NOT_ENOUGH

    @property
    def not_known(self) -> str:
        """What can decide speed and is not known of either row, separated by `;`."""
        return ";".join(filter(None, (self.baseline.not_known, self.candidate.not_known)))

    @property
    def withheld(self) -> Hint:
        """Why there is no verdict, as a sentence."""
        return explain_no_verdict(self.not_known)

    @property
    def missed(self) -> int:
        """How many of both rows' runs are below their target accuracy."""
        return self.baseline.missed + self.candidate.missed


@dataclass(frozen=True, slots=True)
class SeriesComparison:
    """`alone`: rows without a partner in the other series; `differences`: fields in which the specs of the first
    comparable pair differ."""

    baseline: Matrix
    candidate: Matrix
    pairs: tuple[RowPair, ...]
    alone: tuple[SeriesRow, ...]
    differences: tuple[FieldValues, ...]

    @property
    def outcome(self) -> Outcome:
        """A regression in any row; else open while a row is; else what changed."""
        return sum_up(pair.outcome for pair in self.pairs)


def compare_series(baseline: Matrix, candidate: Matrix, compare: Compare) -> SeriesComparison:
    """The candidate's rows against the baseline's. Raises SpecError for a series against itself."""
    if baseline.series.series_id == candidate.series.series_id:
        problem = Problem("series", Message("must be two different series"), candidate.series.series_id)
        raise SpecError(Message("comparison"), [problem])
    partners = list(_match_rows(baseline.rows, candidate.rows))
    typical = ([tried.run.run_id for row in rows if (tried := row.typical) and tried.run] for rows in partners)
    comparisons = [compare(run_ids) if len(run_ids) > 1 else None for run_ids in typical]
    is_same = _describe_metric(baseline) == _describe_metric(candidate)
    built = [_build_pair(*rows, comparison, is_same) for rows, comparison in zip(partners, comparisons, strict=True)]
    pairs = tuple(_adjust_pairs(built, candidate.higher_is_better))
    matched = {id(row) for old, new in partners for row in (old, new)}
    alone = tuple(row.planned for row in (*baseline.rows, *candidate.rows) if id(row) not in matched)
    differences = next((comparison.differences for comparison in comparisons if comparison), ())
    return SeriesComparison(baseline, candidate, pairs, alone, differences)


def _describe_metric(matrix: Matrix) -> tuple[str, ...]:
    """Values of two units or definitions have no difference."""
    return (matrix.metric.name, matrix.metric.unit, matrix.metric.definition) if matrix.metric else ()


def _match_rows(old: Sequence[MatrixRow], new: Sequence[MatrixRow]) -> Iterator[tuple[MatrixRow, MatrixRow]]:
    """Pair rows of equal node count, version, image and values; then the rest by node count alone, where that is clear.

    The second pass compares a new version with the old one on each node count."""
    key = attrgetter("planned.node_count", "planned.version", "planned.image", "planned.parameters_text")
    whole = {key(row): row for row in old}
    exact = {id(row): whole.get(key(row)) for row in new}
    used = {id(row) for row in exact.values() if row}
    spare_old = [row for row in old if id(row) not in used]
    spare_new = [row for row in new if exact[id(row)] is None]
    counts = [Counter(row.planned.node_count for row in spare) for spare in (spare_old, spare_new)]
    for row in new:
        nodes = row.planned.node_count
        partner = exact[id(row)]
        if partner is None and all(count[nodes] == 1 for count in counts):
            partner = next(other for other in spare_old if other.planned.node_count == nodes)
        if partner:
            yield partner, row


def _build_pair(old: MatrixRow, new: MatrixRow, comparison: Comparison | None, is_same: bool) -> RowPair:
    if comparison is None:
        return RowPair(old, new)
    if len(old.codes) > 1 or len(new.codes) > 1:  # an interval over several versions of the code means nothing
        return RowPair(old, new, Comparability.NOT_COMPARABLE, ("code_sha256",))
    comparable = comparison.verdict is Comparability.COMPARABLE
    pair = RowPair(old, new, comparison.verdict, comparison.reasons)
    if not comparable or pair.withheld or not is_same:
        return pair
    return replace(pair, difference=compare_runs(old.values_that_reached, new.values_that_reached))


def _adjust_pairs(pairs: Sequence[RowPair], higher_is_better: bool | None) -> Iterator[RowPair]:
    """The pairs with p-values adjusted over all rows, outcomes, and what so many tests detect."""
    unadjusted = [pair.difference.p_value for pair in pairs if pair.difference]
    p_values = iter(adjust_p_values(unadjusted))
    for each in pairs:
        is_comparable = each.comparability is Comparability.COMPARABLE and not each.withheld
        sides = each.baseline.summary, each.candidate.summary
        power = power_of(*sides, len(unadjusted), each.difference) if is_comparable else None
        pair = replace(each, power=power)
        if pair.difference is None:
            yield pair
            continue
        p_value, change, outcome = next(p_values), pair.difference.change, Outcome.NO_CHANGE
        if higher_is_better is None or (pair.difference.is_confounded and p_value > ALPHA):
            outcome = Outcome.NOT_ENOUGH
        elif p_value <= ALPHA and abs(change) >= EFFECT:
            outcome = Outcome.IMPROVEMENT if (change > 0) is higher_is_better else Outcome.REGRESSION
        if outcome is Outcome.IMPROVEMENT and pair.candidate.missed:
            outcome = Outcome.NO_CHANGE
        yield replace(pair, adjusted_p=p_value, outcome=outcome)
