"""Which charts a report has, and what they are made of."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby

from aisbench_core.report import charts
from aisbench_core.report.markup import Markup, element
from aisbench_core.report.words import Speaker
from aisbench_core.warehouse.answers.boards import ASPECTS
from aisbench_core.warehouse.exporting.reported import Cells, Reported, ReportedRun


def charts_of(reported: Reported, say: Speaker) -> Iterator[Markup]:
    """Runs, growth over nodes and cards, each unit by itself."""
    yield element("h2", say("charts"))
    groups = {_key(group): group for group in reported.groups}
    ordered = sorted(reported.runs, key=lambda run: [str(part) for part in _key(run.cells)])
    for unit, some in by_unit(ordered):
        rows = [_bar(run.cells, groups.get(_key(run.cells), {})) for run in some]
        yield from _figures(charts.bars(rows, say.plain("chart_runs"), unit), say, "chart_runs", unit)
        cards = [
            charts.Strip(run.cells["run_id"], tuple(rank.throughput for rank in run.ranks)) for run in some if run.ranks
        ]
        for curve in _curves([group for group in reported.groups if group["throughput_unit"] == unit]):
            drawn = charts.growth(curve, say.plain("chart_scaling"), say.plain("nodes"), unit)
            yield from _figures([drawn], say, "chart_scaling", f"{curve.label}, {unit}")
        yield from _figures(charts.strips(cards, say.plain("chart_ranks"), unit), say, "chart_ranks", unit)


def _figures(drawn: Sequence[Markup], say: Speaker, name: str, what: str) -> Iterator[Markup]:
    for each in drawn:
        caption = element("figcaption", say(f"{name}_legend"))
        yield element("figure", element("h3", say(name), f" ({what})"), each, caption)


def _curves(groups: Sequence[Cells]) -> Iterator[charts.Curve]:
    lines: defaultdict[tuple[object, ...], dict[int, float]] = defaultdict(dict)
    names = (
        "model_name",
        "framework_version",
        "flavor",
        "pool_id",
        "cards_per_node",
        "fingerprint",
        "synthetic_data",
        *ASPECTS.values(),
    )
    for group in groups:
        if group["mode"] == "cluster" and group["median"] is not None and group["node_count"]:
            lines[tuple(group[name] for name in names)].setdefault(group["node_count"], group["median"])
    for key, points in lines.items():
        if len(points) > 1:
            yield charts.Curve(" · ".join(str(part) for part in key[:3] if part), tuple(sorted(points.items())))


def by_unit(runs: Sequence[ReportedRun]) -> Iterator[tuple[str, list[ReportedRun]]]:
    """Throughputs in different units never share a table or an axis."""
    of_unit = sorted(runs, key=lambda run: run.cells["throughput_unit"] or "")
    for unit, some in groupby(of_unit, key=lambda run: run.cells["throughput_unit"] or ""):
        yield unit, list(some)


def _bar(cells: Cells, group: Cells) -> charts.Bar:
    return charts.Bar(
        cells["run_id"],
        cells["throughput_cluster"],
        cells["validity"] in ("valid", "claimed"),
        group.get("mean"),
        group.get("ci95_low"),
        group.get("ci95_high"),
    )


def _key(cells: Cells) -> tuple[object, ...]:
    """What tells rows of the leaderboard, and series, apart."""
    names = (
        "series_id",
        "model_name",
        "framework_version",
        "flavor",
        "pool_id",
        "node_count",
        "cards_per_node",
        "fingerprint",
    )
    return (
        *(cells[name] for name in names),
        cells["synthetic_data"],
        cells["throughput_unit"],
        cells["origin"],
        *(cells[name] for name in ASPECTS.values()),
    )
