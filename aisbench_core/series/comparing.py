"""Two series row by row: did the throughput change, and is that more than chance. Pure functions of their matrices."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from aisbench_core.errors import Problem, SpecError
from aisbench_core.messages import Message
from aisbench_core.model import SeriesRow
from aisbench_core.series.matrix import Matrix, MatrixRow
from aisbench_core.statistics.difference import MeanDifference, difference
from aisbench_core.statistics.discovery import adjusted
from aisbench_core.statistics.power import Power
from aisbench_core.warehouse.answers.compared import Comparability, Comparison, FieldValues
from aisbench_core.warehouse.answers.histories import Outcome
from aisbench_core.warehouse.answers.regression import ALPHA, EFFECT, gravest, power_of

Compare = Callable[[Sequence[str]], Comparison]
"""Puts two runs side by side, by their ids."""


@dataclass(frozen=True, slots=True)
class RowPair:
    """A row of the baseline and that of the candidate which it is compared with.

    `verdict`: whether their typical runs may be compared as they are, `reasons` the fields that forbid it; None while a
    side has no valid run. `difference` needs two valid runs on each side; `adjusted_p` is over all rows of the answer.
    """

    baseline: MatrixRow
    candidate: MatrixRow
    verdict: Comparability | None = None
    reasons: tuple[str, ...] = ()
    difference: MeanDifference | None = None
    adjusted_p: float | None = None
    power: Power | None = None
    outcome: Outcome = Outcome.NOT_ENOUGH


@dataclass(frozen=True, slots=True)
class SeriesComparison:
    """`alone` are the rows of either series that the other one has nothing like; `differences` is what the runs of the
    first pair that can be looked at were asked for differently."""

    baseline: Matrix
    candidate: Matrix
    pairs: tuple[RowPair, ...]
    alone: tuple[SeriesRow, ...]
    differences: tuple[FieldValues, ...]

    @property
    def outcome(self) -> Outcome:
        """What speaks for all rows."""
        return gravest(pair.outcome for pair in self.pairs)


def compared(baseline: Matrix, candidate: Matrix, compare: Compare) -> SeriesComparison:
    """The candidate's rows against the baseline's. Raises SpecError for a series against itself."""
    if baseline.series.series_id == candidate.series.series_id:
        found = baseline.series.series_id
        raise SpecError(Message("comparison"), [Problem("series", Message("must be two different ones"), found)])
    partners = list(_partners(baseline.rows, candidate.rows))
    looked = [(old, new, _side_by_side(old, new, compare)) for old, new in partners]
    pairs = _settled([_pair(old, new, found) for old, new, found in looked])
    matched = {id(row) for old, new in partners for row in (old, new)}
    alone = tuple(row.asked for row in (*baseline.rows, *candidate.rows) if id(row) not in matched)
    differences = next((found.differences for _, _, found in looked if found), ())
    return SeriesComparison(baseline, candidate, pairs, alone, differences)


def _partners(old: Sequence[MatrixRow], new: Sequence[MatrixRow]) -> Iterator[tuple[MatrixRow, MatrixRow]]:
    """Rows of equal nodes, version and image; of those left over, rows of equal nodes where each side has one.

    So a new version is compared with the old one on each number of nodes."""
    whole = {(row.asked.node_count, row.asked.version, row.asked.image): row for row in old}
    exact = {id(row): whole.get((row.asked.node_count, row.asked.version, row.asked.image)) for row in new}
    taken = {id(row) for row in exact.values() if row}
    spare_old = [row for row in old if id(row) not in taken]
    spare_new = [row for row in new if exact[id(row)] is None]
    counts = [Counter(row.asked.node_count for row in spare) for spare in (spare_old, spare_new)]
    for row in new:
        nodes = row.asked.node_count
        partner = exact[id(row)]
        if partner is None and all(count[nodes] == 1 for count in counts):
            partner = next(each for each in spare_old if each.asked.node_count == nodes)
        if partner:
            yield partner, row


def _side_by_side(old: MatrixRow, new: MatrixRow, compare: Compare) -> Comparison | None:
    runs = [tried.run.run_id for row in (old, new) if (tried := row.typical) and tried.run]
    return compare(runs) if len(runs) > 1 else None


def _pair(old: MatrixRow, new: MatrixRow, found: Comparison | None) -> RowPair:
    if found is None:
        return RowPair(old, new)
    if len(old.codes) > 1 or len(new.codes) > 1:  # one interval over several systems means nothing
        return RowPair(old, new, Comparability.NOT_COMPARABLE, ("code_sha256",))
    comparable = found.verdict is Comparability.COMPARABLE
    beside = difference(old.values, new.values) if comparable else None
    power = power_of(old.summary, new.summary) if comparable else None
    return RowPair(old, new, found.verdict, found.reasons, beside, power=power)


def _settled(pairs: Sequence[RowPair]) -> tuple[RowPair, ...]:
    """With adjusted p-values over all rows, and outcomes."""
    chances = iter(adjusted([pair.difference.p_value for pair in pairs if pair.difference]))
    return tuple(_decided(pair, pair.difference, next(chances)) if pair.difference else pair for pair in pairs)


def _decided(pair: RowPair, found: MeanDifference, chance: float) -> RowPair:
    outcome = Outcome.NO_CHANGE
    if chance <= ALPHA and abs(found.change) >= EFFECT:
        outcome = Outcome.IMPROVEMENT if found.change > 0 else Outcome.REGRESSION
    return replace(pair, adjusted_p=chance, outcome=outcome)
