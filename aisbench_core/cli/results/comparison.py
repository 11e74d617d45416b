"""A comparison of runs as text: comparability, differences, metrics, and the servers of single-server runs."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from aisbench_core import formats
from aisbench_core.cli import display

if TYPE_CHECKING:
    from aisbench_core.warehouse.answers.compared import (
        Comparison,
        MetricComparison,
        MetricValue,
        Servers,
        ServerSpread,
    )


def comparison_text(comparison: "Comparison") -> str:
    parts = [_comparability(comparison), _differences(comparison), _metrics(comparison), *_peers(comparison)]
    servers = [
        f"{run.run_id}: {servers_text(comparison.servers[run.run_id], run.throughput_unit)}"
        for run in comparison.runs
        if run.run_id in comparison.servers
    ]
    return "\n\n".join([*parts, *servers])


def _comparability(comparison: "Comparison") -> str:
    lines = [f"comparability: {comparison.verdict}"]
    if comparison.normalise_by:
        lines.append(f"compare the throughput per {comparison.normalise_by}")
    if comparison.reasons:
        lines.append(f"because of: {', '.join(comparison.reasons)}")
    if comparison.unknown:
        # Their files do not say.
        lines.append(f"unknown for imported runs, assumed equal: {', '.join(comparison.unknown)}")
    return "\n".join(lines)


def _differences(comparison: "Comparison") -> str:
    heads = ("differs", *(run.run_id for run in comparison.runs))
    rows = [(field.field, *map(display.value, field.values)) for field in comparison.differences]
    return display.table(heads, rows) if rows else "the configurations are equal"


def _metrics(comparison: "Comparison") -> str:
    head = "metric" if comparison.by == "runs" else "metric (median of the row)"
    units = [run.throughput_unit for run in comparison.runs]
    rows = [(metric.name, *_values(metric, units)) for metric in comparison.metrics]
    return display.table((head, *(f">{run.run_id}" for run in comparison.runs)), rows)


def _peers(comparison: "Comparison") -> Iterator[str]:
    """The groups behind the runs, where any has more than one run."""
    if not any(peer.summary and peer.summary.count > 1 for peer in comparison.peers):
        return
    heads = ("valid runs like", ">runs", ">mean", ">95 % from", ">to", ">against the first's", ">95 % from", ">to")
    nothing = (None, None, None)
    rows = []
    for peer in comparison.peers:
        summary, ratio = peer.summary, peer.difference.ratio if peer.difference else nothing
        means = (summary.mean, summary.ci_low, summary.ci_high) if summary else nothing
        count = str(summary.count if summary else 0)
        rows.append((peer.run_id, count, *map(formats.number, means), *map(_factor, ratio)))
    yield display.table(heads, rows)


def _factor(ratio: float | None) -> str:
    return formats.MISSING if ratio is None else f"× {formats.number(ratio)}"


def _values(metric: "MetricComparison", units: Sequence[str]) -> Iterator[str]:
    for index, (value, unit) in enumerate(zip(metric.values, units, strict=True)):
        # The first run is the baseline.
        ratio = "" if value.ratio is None or index == 0 else f" ({_factor(value.ratio)})"
        yield _measured(metric, value, unit if metric.is_rate else metric.unit) + ratio


def _measured(metric: "MetricComparison", value: "MetricValue", unit: str) -> str:
    if metric.name == "rank_cv":
        return formats.percent(value.value)
    return formats.duration(value.value) if metric.unit == "s" else formats.number(value.value, unit)


def servers_text(servers: "Servers | None", unit: str) -> str:
    """A line for each server, and below them mean, deviation and range; empty for runs in cluster mode."""
    if servers is None:
        return ""
    heads = ("server", f">throughput ({unit})", ">accuracy")
    return f"servers\n{display.indented(display.table(heads, _rows(servers)))}"


def _rows(servers: "Servers") -> Iterator[tuple[str, str, str]]:
    for result in servers.results:
        yield str(result.server), formats.number(result.throughput), formats.number(result.accuracy)
    names = ("mean", "sd", "CV", "lowest", "highest")
    yield from zip(names, _spread(servers.throughput), _spread(servers.accuracy), strict=True)


def _spread(spread: "ServerSpread | None") -> list[str]:
    if spread is None:
        return [formats.MISSING] * 5
    mean, sd, low, high = map(formats.number, (spread.summary.mean, spread.summary.sd, spread.lowest, spread.highest))
    return [mean, sd, formats.percent(spread.summary.cv), low, high]
