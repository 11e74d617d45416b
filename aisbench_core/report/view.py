"""What the report shows, section by section: the warehouse's answers and charts, arranged for the templates."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

from aisbench_core.formats import clipped, nodes_and_cards
from aisbench_core.model import SYSTEM_FIELDS
from aisbench_core.report import charts
from aisbench_core.warehouse.answers.boards import ASPECTS
from aisbench_core.warehouse.exporting.reported import Cells, Reported, ReportedRun
from aisbench_core.warehouse.values import SeriesEvaluation

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
        rows = []
        for cells in (run.cells for run in runs):
            group = groups.get(_group_key(cells), {})
            is_valid = cells["validity"] in ("valid", "claimed")
            mean = (group.get("mean"), group.get("ci95_low"), group.get("ci95_high"))
            rows.append(charts.Bar(cells["run_id"], cells["throughput_cluster"], is_valid, *mean))
        for drawing in charts.bars(rows, unit):
            yield Figure("chart_runs", drawing, unit)
        for curve in _curves([group for group in reported.groups if group["throughput_unit"] == unit]):
            yield Figure("chart_scaling", charts.scaling(curve, nodes, unit), unit, curve.label)
        measured = [run for run in runs if run.ranks]
        cards = [charts.Strip(run.cells["run_id"], tuple(rank.throughput for rank in run.ranks)) for run in measured]
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


def _group_key(cells: Cells) -> tuple[object, ...]:
    return tuple(cells[name] for name in GROUP_COLUMNS)


IDENTIFICATION = ("test_id", "created_by", "region", "division", "scenario", "origin")
CONFIGURATION = (
    "workload", "engine_version", "accelerator", "flavor", "pool_type",
    "mode", "dataset_name", "throughput_definition", "throughput_aggregation",
)  # fmt: skip
NODES = "number_of_nodes"


@dataclass(frozen=True, slots=True)
class ReportedConfiguration:
    """Runs with the same configuration; node counts may differ."""

    run_ids: tuple[str, ...]
    fields: Mapping[str, object]
    hyperparameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ReportedSystem:
    """Runs on the same system; node counts may differ. `fields` and `missing`: those of the system description."""

    run_ids: tuple[str, ...]
    fields: Mapping[str, object]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReportView:
    """The values of all sections; the templates format numbers and times."""

    report_id: str
    data_sha256: str
    written_at: datetime
    runs: tuple[ReportedRun, ...]
    identification: Mapping[str, tuple[str, ...]]
    rulesets: tuple[tuple[str, str], ...]
    results: tuple[tuple[str, list[ReportedRun]], ...]
    statistics: tuple[Cells, ...]
    figures: tuple[Figure, ...]
    configurations: tuple[ReportedConfiguration, ...]
    systems: tuple[ReportedSystem, ...]
    series: tuple[SeriesEvaluation, ...]

    @property
    def is_rehearsal(self) -> bool:
        """Whether its numbers are no measurements."""
        return any(run.cells["rehearsal"] for run in self.runs)


def report_view(reported: Reported, data_sha256: str, written_at: datetime, nodes: str) -> ReportView:
    """The view of these answers. `nodes`: the axis label of charts, in the report's language."""
    runs = reported.runs
    identification = {name: _distinct(run.cells[name] for run in runs) for name in IDENTIFICATION}
    rulesets = ((run.cells["ruleset_id"], run.cells["ruleset_basis"] or "") for run in runs if run.cells["ruleset_id"])
    return ReportView(
        reported.report_id,
        data_sha256,
        written_at.astimezone(UTC),
        runs,
        identification | {"submitter": _distinct(run.system.get("submitter") for run in runs)},
        tuple(dict.fromkeys(rulesets)),
        tuple(by_unit(runs)),
        tuple(group for group in reported.groups if group["runs_valid"]),
        tuple(figures_of(reported, nodes)),
        tuple(_configurations(runs)),
        tuple(_systems(runs)),
        reported.series,
    )


def software(cells: Cells) -> str:
    """Framework and version."""
    return " ".join(part for part in (cells["framework"], cells["framework_version"]) if part)


def hardware(cells: Cells) -> str:
    """The instance type; of a pool, or where no instance type is known, the accelerator beside the pool."""
    return cells["flavor"] or " · ".join(part for part in (cells["pool_id"], cells["accelerator"]) if part)


def size(cells: Cells) -> str:
    """Nodes × cards."""
    return nodes_and_cards(cells["node_count"], cells["cards_per_node"])


def group_title(group: Cells) -> str:
    """A row of the statistics in one line."""
    series = f"{group['series_id']}: " if group["series_id"] else ""
    parts = (group["model_name"], software(group), hardware(group), size(group))
    return series + " · ".join(clipped(part, 80) for part in parts if part)


def _configurations(runs: Sequence[ReportedRun]) -> Iterator[ReportedConfiguration]:
    groups: defaultdict[tuple[object, ...], list[ReportedRun]] = defaultdict(list)
    for run in runs:
        columns = ("model_name", *CONFIGURATION, "hyperparameters_json")
        groups[(software(run.cells), *(run.cells[name] for name in columns))].append(run)
    for group in groups.values():
        cells = group[0].cells
        parameters = json.loads(cells["hyperparameters_json"] or "{}")
        yield ReportedConfiguration(
            _run_ids(group),
            {
                "size": ", ".join(_distinct(size(run.cells) for run in group)),
                "model": cells["model_name"],
                "framework": software(cells),
                **{name: cells[name] for name in CONFIGURATION},
            },
            {name: json.dumps(value, ensure_ascii=False) for name, value in parameters.items()},
        )


def _systems(runs: Sequence[ReportedRun]) -> Iterator[ReportedSystem]:
    groups: defaultdict[str, list[ReportedRun]] = defaultdict(list)
    for run in runs:
        groups[json.dumps({**run.system, NODES: NODES in run.system}, sort_keys=True)].append(run)
    for group in groups.values():
        system = {**group[0].system, NODES: ", ".join(_distinct(run.system.get(NODES) for run in group))}
        values = {name: system[name] for name in SYSTEM_FIELDS if system.get(name)}
        yield ReportedSystem(_run_ids(group), values, tuple(name for name in SYSTEM_FIELDS if name not in values))


def _run_ids(runs: Sequence[ReportedRun]) -> tuple[str, ...]:
    return tuple(run.cells["run_id"] for run in runs)


def _distinct(values: Iterable[object]) -> tuple[str, ...]:
    """The values in order, each once, without empty ones."""
    return tuple(dict.fromkeys(str(value) for value in values if value))
