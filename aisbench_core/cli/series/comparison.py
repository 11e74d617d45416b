"""Two series side by side as text for a person, and as plain facts for a script."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from aisbench_core import formats
from aisbench_core.cli import shown
from aisbench_core.cli.results.regression import power_line, probability, signed

if TYPE_CHECKING:
    from aisbench_core.series.comparing import RowPair, SeriesComparison
    from aisbench_core.series.matrix import MatrixRow

Facts = dict[str, object]


def comparison_facts(found: "SeriesComparison") -> Facts:
    """Two series row by row, for scripts."""
    return {
        "baseline": found.baseline.series.series_id,
        "candidate": found.candidate.series.series_id,
        "outcome": found.outcome,
        "rows": [_pair_facts(pair) for pair in found.pairs],
        "alone": found.alone,
        "differences": found.differences,
    }


def _pair_facts(pair: "RowPair") -> Facts:
    sides = {"baseline": pair.baseline, "candidate": pair.candidate}
    told = {name: _side(row) for name, row in sides.items()}
    names = ("verdict", "reasons", "difference", "adjusted_p", "power", "outcome")
    return {**told, **{name: getattr(pair, name) for name in names}}


def _side(row: "MatrixRow") -> Facts:
    asked = row.asked
    where = {"node_count": asked.node_count, "version": asked.version, "image": asked.image}
    return {**where, "unit": row.unit, "summary": row.summary}


def comparison(found: "SeriesComparison") -> str:
    """Two series row by row, as a person reads them."""
    sides = shown.listing(
        [
            ("verdict", str(found.outcome)),
            ("baseline", f"{found.baseline.series.title} {found.baseline.series.series_id}"),
            ("candidate", f"{found.candidate.series.title} {found.candidate.series.series_id}"),
            ("not compared", ", ".join(row.title for row in found.alone)),
        ]
    )
    heads = (
        "row", ">n", ">baseline", ">n", ">candidate", "unit", ">change", ">95 % interval", ">p", ">adjusted p",
        "verdict",
    )  # fmt: skip
    rows = shown.table(heads, [tuple(_pair(pair)) for pair in found.pairs])
    fields = [(difference.field, *map(_told, difference.values)) for difference in found.differences]
    differs = shown.table(("differs", "baseline", "candidate"), fields) if fields else "the runs ask for the same"
    return "\n\n".join([sides, rows, differs, *_powers(found)])


def _pair(pair: "RowPair") -> Iterator[str]:
    yield pair.candidate.asked.title
    for row in (pair.baseline, pair.candidate):
        yield str(row.summary.count if row.summary else 0)
        yield formats.number(row.summary.mean if row.summary else None)
    yield pair.candidate.unit
    change = pair.difference
    yield signed(change.change) if change else formats.MISSING
    yield f"{signed(change.ci_low)} … {signed(change.ci_high)}" if change else formats.MISSING
    yield probability(change.p_value if change else None)
    yield probability(pair.adjusted_p)
    yield f"{pair.verdict}: {', '.join(pair.reasons)}" if pair.reasons else str(pair.outcome)


def _told(value: object) -> str:
    return formats.MISSING if value is None or value == "" else str(value)


def _powers(found: "SeriesComparison") -> Iterator[str]:
    """How many runs each row would need, where it says nothing."""
    lines = [f"{pair.candidate.asked.title}: {power_line(pair.power)}" for pair in found.pairs if pair.power]
    if lines:
        yield "\n".join(lines)
