"""A series against an earlier one, row by row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from aisbench_core.domain.statistics.difference import MeanDifference, Power
from aisbench_core.domain.statistics.summary import Summary
from aisbench_core.interfaces.api.endpoint import ApiCall
from aisbench_core.interfaces.api.series.reports import MetricQuery
from aisbench_core.model import Scalar
from aisbench_core.running.series.comparing import RowPair
from aisbench_core.running.series.matrix import MatrixRow
from aisbench_core.warehouse.values.compared import Comparability, FieldValues
from aisbench_core.warehouse.values.histories import Outcome


class BaselineQuery(MetricQuery):
    """What a series is compared with, and by what."""

    baseline: Annotated[str, Field(min_length=1, max_length=200, description="Id of the earlier series.")]


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """A row of one of the two series, with the statistics of its valid values in `unit`."""

    node_count: int
    version: str
    image: str
    parameters: Mapping[str, Scalar]
    unit: str
    summary: Summary | None


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """A row of the baseline and its partner. `difference` needs two valid runs on each side, and comparable ones."""

    baseline: ComparedRow
    candidate: ComparedRow
    comparability: Comparability | None
    reasons: Annotated[Sequence[str], Field(description="Fields for which the rows are not comparable.")]
    difference: MeanDifference | None
    adjusted_p: Annotated[float | None, Field(description="The p-value, adjusted over all rows.")]
    power: Power | None
    outcome: Outcome
    not_known: str
    missed: int
    """Valid runs whose accuracy is below their target."""


@dataclass(frozen=True, slots=True)
class SeriesComparisonReport:
    """`outcome` is the gravest of all rows. A change counts if it is 1 % or more and `adjusted_p` at most 0.01."""

    baseline: str
    candidate: str
    outcome: Outcome
    rows: Sequence[ComparedPair]
    alone: Annotated[Sequence[str], Field(description="Titles of rows without a partner in the other series.")]
    differences: Annotated[Sequence[FieldValues], Field(description="Fields in which the specs differ.")]


def compare_series(call: ApiCall) -> SeriesComparisonReport:
    """Whether throughput, or `metric`, changed against an earlier series, and significantly."""
    query: BaselineQuery = call.query
    found = call.core.series.compare(query.baseline, call.path["series_id"], query.metric)
    return SeriesComparisonReport(
        found.baseline.series.series_id, found.candidate.series.series_id, found.outcome,
        [*map(_to_pair, found.pairs)], [call.say(row.title) for row in found.alone], found.differences,
    )  # fmt: skip


def _to_pair(pair: RowPair) -> ComparedPair:
    return ComparedPair(
        _to_row(pair.baseline), _to_row(pair.candidate), pair.comparability, pair.reasons, pair.difference,
        pair.adjusted_p, pair.power, pair.outcome, pair.not_known, pair.missed,
    )  # fmt: skip


def _to_row(row: MatrixRow) -> ComparedRow:
    planned = row.planned
    return ComparedRow(planned.node_count, planned.version, planned.image, planned.parameters, row.unit, row.summary)
