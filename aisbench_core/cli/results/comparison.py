"""A comparison of runs as text: verdict, differences, metrics."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from aisbench_core import formats
from aisbench_core.cli import shown
from aisbench_core.cli.results.servers import servers_text

if TYPE_CHECKING:
    from aisbench_core.warehouse.answers.compared import Comparison, MetricComparison, MetricValue, Peers


def comparison_text(comparison: "Comparison") -> str:
    """The whole comparison; the first run is the baseline."""
    parts = [_verdict(comparison), _differences(comparison), _metrics(comparison)]
    return "\n\n".join([*parts, *_peers(comparison), *_servers(comparison)])


def _verdict(comparison: "Comparison") -> str:
    lines = [f"verdict: {comparison.verdict}"]
    if comparison.normalise_by:
        lines.append(f"look at the throughput per {comparison.normalise_by}")
    if comparison.reasons:
        lines.append(f"because of: {', '.join(comparison.reasons)}")
    if comparison.unknown:
        lines.append(f"not known of imported runs, and taken as equal: {', '.join(comparison.unknown)}")
    return "\n".join(lines)


def _differences(comparison: "Comparison") -> str:
    heads = ("differs", *(run.run_id for run in comparison.runs))
    rows = [(field.field, *(_value(value) for value in field.values)) for field in comparison.differences]
    return shown.table(heads, rows) if rows else "the configurations are equal"


def _metrics(comparison: "Comparison") -> str:
    what = "metric" if comparison.by == "runs" else "metric (median of the row)"
    heads = (what, *(f">{run.run_id}" for run in comparison.runs))
    units = [run.throughput_unit for run in comparison.runs]
    rows = [(metric.name, *_values(metric, units)) for metric in comparison.metrics]
    return shown.table(heads, rows)


def _peers(comparison: "Comparison") -> Iterator[str]:
    """The groups behind the runs, where any has more than one run."""
    if not any(peer.summary and peer.summary.count > 1 for peer in comparison.peers):
        return
    heads = ("valid runs like", ">runs", ">mean", ">95 % from", ">to", ">against the first's", ">95 % from", ">to")
    rows = [(*_group(peer), *map(_factor, _ratio(peer))) for peer in comparison.peers]
    yield shown.table(heads, rows)


def _group(peers: "Peers") -> tuple[str, ...]:
    found = peers.summary
    values = (found.mean, found.ci_low, found.ci_high) if found else (None, None, None)
    return (peers.run_id, str(found.count if found else 0), *map(formats.number, values))


def _ratio(peers: "Peers") -> tuple[float | None, float | None, float | None]:
    return peers.difference.ratio if peers.difference else (None, None, None)


def _factor(ratio: float | None) -> str:
    return formats.MISSING if ratio is None else f"× {formats.number(ratio)}"


def _servers(comparison: "Comparison") -> Iterator[str]:
    for run in comparison.runs:
        if run.run_id in comparison.servers:
            yield f"{run.run_id}: {servers_text(comparison.servers[run.run_id], run.throughput_unit)}"


def _values(metric: "MetricComparison", units: Sequence[str]) -> Iterator[str]:
    for value, unit in zip(metric.values, units, strict=True):
        ratio = (
            f" (× {formats.number(value.ratio)})" if value.ratio is not None and value is not metric.values[0] else ""
        )
        yield _measured(metric, value, unit if metric.is_rate else metric.unit) + ratio


def _measured(metric: "MetricComparison", value: "MetricValue", unit: str) -> str:
    if metric.name == "rank_cv":
        return formats.percent(value.value)
    return formats.duration(value.value) if metric.unit == "s" else formats.number(value.value, unit)


def _value(value: object) -> str:
    return formats.MISSING if value is None or value == "" else str(value)
