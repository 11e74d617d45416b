"""A comparison of two series, as text and for JSON."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aisbench_core import formats
from aisbench_core.cli import display
from aisbench_core.cli.results.regression import change_interval, power_text
from aisbench_core.cli.series.text import row_json

if TYPE_CHECKING:
    from aisbench_core.series.comparing import RowPair, SeriesComparison


def comparison_json(comparison: "SeriesComparison") -> dict[str, object]:
    return {
        "baseline": comparison.baseline.series.series_id,
        "candidate": comparison.candidate.series.series_id,
        "rows": [*map(_pair_json, comparison.pairs)],
        **display.pick(comparison, "outcome", "alone", "differences"),
    }


def _pair_json(pair: "RowPair") -> dict[str, object]:
    rows = {"baseline": pair.baseline, "candidate": pair.candidate}
    sides = {name: {**row_json(row), **display.pick(row, "unit", "summary")} for name, row in rows.items()}
    return {**sides, **display.pick(pair, "verdict", "reasons", "difference", "adjusted_p", "power", "outcome")}


def comparison_text(comparison: "SeriesComparison") -> str:
    sides = display.fields(
        ("verdict", str(comparison.outcome)),
        ("baseline", f"{comparison.baseline.series.title} {comparison.baseline.series.series_id}"),
        ("candidate", f"{comparison.candidate.series.title} {comparison.candidate.series.series_id}"),
        ("not compared", ", ".join(row.title for row in comparison.alone)),
    )
    heads = (
        "row", ">n", ">baseline", ">n", ">candidate", "unit", ">change", ">95 % interval", ">p", ">adjusted p",
        "verdict",
    )  # fmt: skip
    rows = display.table(heads, [tuple(_cells(pair)) for pair in comparison.pairs])
    fields = [(difference.field, *map(display.value, difference.values)) for difference in comparison.differences]
    differs = display.table(("differs", "baseline", "candidate"), fields) if fields else "the specs are equal"
    return "\n\n".join([sides, rows, differs, *_powers(comparison)])


def _cells(pair: "RowPair") -> Iterator[str]:
    yield pair.candidate.planned.title
    for row in (pair.baseline, pair.candidate):
        yield str(row.summary.count if row.summary else 0)
        yield formats.number(row.summary.mean if row.summary else None)
    yield pair.candidate.unit
    yield formats.signed(pair.difference.change if pair.difference else None)
    yield change_interval(pair.difference)
    yield formats.p_value(pair.difference.p_value if pair.difference else None)
    yield formats.p_value(pair.adjusted_p)
    yield f"{pair.verdict}: {', '.join(pair.reasons)}" if pair.reasons else str(pair.outcome)


def _powers(comparison: "SeriesComparison") -> Iterator[str]:
    lines = [f"{pair.candidate.planned.title}: {power_text(pair.power)}" for pair in comparison.pairs if pair.power]
    if lines:
        yield "\n".join(lines)
