"""Which charts a report has."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from aisbench_core.report import charts
from aisbench_core.warehouse.answers.boards import ASPECTS
from aisbench_core.warehouse.exporting.reported import Cells, Reported, ReportedRun

_NAMES = ("model_name", "framework_version", "flavor", "pool_id")
_REST = ("cards_per_node", "fingerprint", "synthetic_data", *ASPECTS.values())

# What distinguishes the rows of the leaderboard, and series.
GROUP_COLUMNS = ("series_id", *_NAMES, "node_count", *_REST, "throughput_unit", "origin")

# What distinguishes curves over the node count; the first three label them.
CURVE_COLUMNS = (*_NAMES, *_REST)


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with the key of its title. `label`: which curve it shows, if there can be several."""

    key: str
    drawing: charts.Drawing
    unit: str
    label: str = ""


def figures_of(reported: Reported, nodes: str) -> Iterator[Figure]:
    """Runs, scaling over nodes and cards, separately for each unit. `nodes`: the axis label."""
    groups = {_group_key(group): group for group in reported.groups}
    ordered = sorted(reported.runs, key=lambda run: list(map(str, _group_key(run.cells))))
    for unit, runs in by_unit(ordered):
        rows = [_bar(run.cells, groups.get(_group_key(run.cells), {})) for run in runs]
        for drawing in charts.bars(rows, unit):
            yield Figure("chart_runs", drawing, unit)
        for curve in _curves([group for group in reported.groups if group["throughput_unit"] == unit]):
            yield Figure("chart_scaling", charts.scaling(curve, nodes, unit), unit, curve.label)
        cards = [
            charts.Strip(run.cells["run_id"], tuple(rank.throughput for rank in run.ranks)) for run in runs if run.ranks
        ]
        for drawing in charts.strips(cards, unit):
            yield Figure("chart_ranks", drawing, unit)


def by_unit(runs: Sequence[ReportedRun]) -> Iterator[tuple[str, list[ReportedRun]]]:
    """Throughputs in different units never share a table or an axis."""

    def unit_of(run: ReportedRun) -> str:
        return run.cells["throughput_unit"] or ""

    for unit, group in groupby(sorted(runs, key=unit_of), key=unit_of):
        yield unit, list(group)


def _curves(groups: Sequence[Cells]) -> Iterator[charts.Curve]:
    lines: defaultdict[tuple[object, ...], dict[int, float]] = defaultdict(dict)
    for group in groups:
        if group["mode"] == "cluster" and group["median"] is not None and group["node_count"]:
            key = tuple(group[name] for name in CURVE_COLUMNS)
            lines[key].setdefault(group["node_count"], group["median"])
    for key, points in lines.items():
        if len(points) > 1:
            yield charts.Curve(" · ".join(str(part) for part in key[:3] if part), tuple(sorted(points.items())))


def _bar(cells: Cells, group: Cells) -> charts.Bar:
    return charts.Bar(
        cells["run_id"],
        cells["throughput_cluster"],
        cells["validity"] in ("valid", "claimed"),
        group.get("mean"),
        group.get("ci95_low"),
        group.get("ci95_high"),
    )


def _group_key(cells: Cells) -> tuple[object, ...]:
    return tuple(cells[name] for name in GROUP_COLUMNS)
