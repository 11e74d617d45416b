"""A comparison as a table for papers: a column for each run, its metrics with the change, and what differs."""

from collections.abc import Iterator

from aisbench_core.base.formats import MISSING, format_change, format_number, shorten_hash
from aisbench_core.base.text_tables import TextColumn, TextTable
from aisbench_core.model.columns import by_field
from aisbench_core.warehouse.values.compared import ComparedBy, Comparison, MetricComparison, MetricValue


def build_comparison_table(comparison: Comparison) -> TextTable:
    """The first column names what is compared; changes are against the first run."""
    of_rows = ", medians of their leaderboard rows" if comparison.by is ComparedBy.ROWS else ""
    kinds = "Rehearsals" if any(run.rehearsal for run in comparison.runs) else "Runs"
    caption = f"{kinds} compared with {comparison.runs[0].run_id}{of_rows}"
    columns = [TextColumn("Metric or field"), *(TextColumn(run.run_id, is_number=True) for run in comparison.runs)]
    return TextTable(caption, columns, [*_iterate_rows(comparison)])


def _iterate_rows(comparison: Comparison) -> Iterator[list[str]]:
    yield ["State", *(run.state.value for run in comparison.runs)]
    yield ["Validity", *(run.validity.label for run in comparison.runs)]
    yield ["Comparability", "baseline", *(one.verdict.value for one in comparison.verdicts[1:])]
    for metric in comparison.metrics:
        if any(value.value is not None for value in metric.values):
            units = {run.throughput_unit for run in comparison.runs}
            unit = (units.pop() if len(units) == 1 else "own units") if metric.is_rate else metric.unit
            label = metric.name if metric.is_named else by_field()[metric.name].label
            yield [f"{label} ({unit})" if unit else label, *_iterate_values(metric)]
    for field in comparison.differences:
        yield [field.field, *(MISSING if value is None else shorten_hash(str(value)) for value in field.values)]


def _iterate_values(metric: MetricComparison) -> Iterator[str]:
    first, *others = metric.values
    yield format_number(first.value)
    yield from (f"{format_number(value.value)}{_format_change(value)}" for value in others)


def _format_change(value: MetricValue) -> str:
    return "" if value.ratio is None else f" ({format_change(value.ratio - 1, 1)})"
