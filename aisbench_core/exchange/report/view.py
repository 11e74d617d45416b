"""What the report shows, section by section: the warehouse's answers and charts, arranged for the templates."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from statistics import median

from aisbench_core.base.formats import clip_text
from aisbench_core.base.messages import Hint, Message
from aisbench_core.domain.statistics.summary import Summary, summarize_values
from aisbench_core.exchange.report import charts
from aisbench_core.exchange.report.appendix import CONFIGURATION, NODES, Appendix, build_appendix, numbered_runs
from aisbench_core.exchange.report.cells import (
    describe_hardware,
    describe_size,
    describe_software,
    is_counted,
    list_distinct,
    make_natural_key,
)
from aisbench_core.exchange.report.lab_section import LabSection
from aisbench_core.exchange.report.summary import build_sentences
from aisbench_core.model import SYSTEM_FIELDS
from aisbench_core.store.signing.heads import SignedHead
from aisbench_core.warehouse.exporting.reported import Cells, Reported, ReportedRun
from aisbench_core.warehouse.values.boards import ASPECTS, abbreviate_value, mixed_or_unknown
from aisbench_core.warehouse.values.runs import SeriesEvaluation

_NAMES = ("model_name", "framework_version", "flavor", "pool_id")
_REST = ("cards_per_node", "fingerprint", "synthetic_data", *ASPECTS.values())

# What distinguishes the rows of the leaderboard, and series.
GROUP_COLUMNS = ("series_id", *_NAMES, "node_count", *_REST, "throughput_unit", "origin")

# Rows of a chart that the first page has room for, below the summary and above two charts of scaling.
MAX_FIRST_ROWS = 10

# What distinguishes curves over the node count; the first three label them.
CURVE_COLUMNS = (*_NAMES, *_REST)


@dataclass(frozen=True, slots=True)
class Configuration:
    """The valid runs of one configuration, in and outside of series, and what they come to; `missed` are below their
    target. `mixed`: what is not known of it; its mean then has no interval. `distinction`: what distinguishes it from
    rows that look the same."""

    cells: Cells
    values: tuple[float, ...]
    summary: Summary
    median: float
    efficiency_pct: float | None
    runs_required: int | None
    missed: int
    mixed: Hint
    distinction: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with the key of its title. `label`: which curve it shows, if there can be several."""

    key: str
    drawing: charts.Drawing
    unit: str
    label: str = ""


def overview_of(statistics: Iterable[tuple[str, Sequence[Configuration]]], nodes: str) -> Iterator[tuple[Figure, ...]]:
    """The first page's charts: runs and means of configurations, and scaling over nodes, by unit. `nodes`: the axis.
    Narrow charts come in pairs."""
    for unit, rows in statistics:
        models = {row.cells["model_name"] for row in rows}
        bars = [
            charts.GroupBar(
                _format_label(row, models, rows), row.values, row.median, row.summary.ci_low, row.summary.ci_high
            )
            for row in rows
        ]
        groups: list[tuple[Figure, ...]] = [
            (Figure("chart_groups", drawing, unit),) for drawing in charts.draw_groups(bars, unit)
        ]
        curves = [
            Figure("chart_scaling", charts.draw_scaling(curve, nodes, unit), unit, curve.label)
            for curve in _iterate_curves(rows)
        ]
        scaling = [tuple(curves[start : start + 2]) for start in range(0, len(curves), 2)]
        # A long chart would leave the first page, and all others with it.
        yield from (groups + scaling if len(bars) <= MAX_FIRST_ROWS else scaling + groups)


def _format_label(row: Configuration, models: Collection[str], rows: Sequence[Configuration]) -> str:
    """Version and size in whole, since these distinguish most rows; names end where there is no more room."""
    cells = row.cells
    fixed = f"{clip_text(cells['framework_version'] or '', 12)} · {describe_size(cells)} "
    model = f"{clip_text(cells['model_name'] or '', 12)} " if len(models) > 1 else ""
    name, room = describe_hardware(cells), max(6, charts.MAX_LABEL - len(model + fixed))
    if (
        any(other is not row and _get_alike_key(other.cells) == _get_alike_key(cells) for other in rows)
        and row.distinction
    ):
        return model + fixed + clip_text(row.distinction, room)
    # Names of instance types begin alike.
    return model + fixed + (name if len(name) <= room else "…" + name[1 - room :])


def _get_alike_key(cells: Cells) -> tuple[object, ...]:
    return tuple(cells[name] for name in (*_NAMES, "node_count", "cards_per_node"))


def figures_of(reported: Reported) -> Iterator[Figure]:
    """Each run and each of its cards, separately for each unit."""
    groups = {_group_key(group): group for group in reported.groups}
    ordered = sorted(reported.runs, key=lambda run: make_natural_key(_group_key(run.cells)))
    for unit, runs in by_unit(ordered):
        rows = []
        for cells in (run.cells for run in runs):
            group = groups.get(_group_key(cells), {})
            is_valid = cells["validity"] in ("valid", "claimed")
            mean = (group.get("mean"), group.get("ci95_low"), group.get("ci95_high"))
            rows.append(charts.Bar(cells["run_id"], cells["throughput_cluster"], is_valid, *mean))
        for drawing in charts.draw_bars(rows, unit):
            yield Figure("chart_runs", drawing, unit)
        measured = [run for run in runs if run.ranks]
        cards = [charts.Strip(run.cells["run_id"], tuple(rank.throughput for rank in run.ranks)) for run in measured]
        for drawing in charts.draw_strips(cards, unit):
            yield Figure("chart_ranks", drawing, unit)


def configurations_by_unit(
    reported: Reported, distinctions: Mapping[str, str]
) -> Iterator[tuple[str, list[Configuration]]]:
    """What was measured in each, over all series; node counts and versions in the order of their numbers."""
    runs: defaultdict[tuple[object, ...], list[ReportedRun]] = defaultdict(list)
    for run in reported.runs:
        if is_counted(run) and run.cells["throughput_cluster"] is not None:
            runs[configuration_key(run.cells)].append(run)
    rows: defaultdict[tuple[object, ...], list[Cells]] = defaultdict(list)
    for group in reported.groups:
        rows[configuration_key(group)].append(group)
    names = ("throughput_unit", "model_name", "flavor", "pool_id", "node_count", "framework_version")
    ordered = sorted(runs, key=lambda key: make_natural_key(runs[key][0].cells[name] for name in names))
    found = iterate_distinguished([_configuration_of(runs[key], rows[key]) for key in ordered], distinctions)
    for unit, members in groupby(found, key=lambda each: each.cells["throughput_unit"] or ""):
        yield unit, list(members)


def _configuration_of(runs: Sequence[ReportedRun], rows: Sequence[Cells]) -> Configuration:
    values = tuple(run.cells["throughput_cluster"] for run in runs)
    middle = median(values)
    # Rows of one configuration are divided by the same base, so that one of them says what the median is worth.
    shares = [row["efficiency_pct"] / row["median"] for row in rows if row["efficiency_pct"] and row["median"]]
    required = next((row["runs_required"] for row in rows if row["runs_required"]), None)
    efficiency = shares[0] * middle if shares else None
    missed = sum(run.cells["converged"] is False for run in runs)
    found = summarize_values(values) or Summary(1, middle)
    mixed = mixed_or_unknown(*(run.cells["not_known"] or "" for run in runs))
    shown = found.without_interval if mixed else found
    return Configuration(runs[0].cells, values, shown, middle, efficiency, required, missed, mixed)


def iterate_distinguished(rows: Sequence[Configuration], distinctions: Mapping[str, str]) -> Iterator[Configuration]:
    """The rows with what distinguishes them: parameters by `distinctions`, and image, code or data as on the board."""
    alike: defaultdict[tuple[object, ...], list[Configuration]] = defaultdict(list)
    for row in rows:
        alike[(*_get_alike_key(row.cells), row.cells["fingerprint"])].append(row)
    for row in rows:
        others = alike[(*_get_alike_key(row.cells), row.cells["fingerprint"])]
        aspects = [
            f"{name}={abbreviate_value(row.cells[column] or '')}"
            for name, column in ASPECTS.items()
            if len({other.cells[column] for other in others}) > 1
        ]
        parts = (distinctions.get(row.cells["fingerprint"], ""), *aspects)
        yield replace(row, distinction=", ".join(filter(None, parts)))


def configuration_key(cells: Cells) -> tuple[object, ...]:
    """What distinguishes configurations."""
    return _group_key(cells)[1:]  # without the series


def by_unit(runs: Sequence[ReportedRun]) -> Iterator[tuple[str, list[ReportedRun]]]:
    """Throughputs in different units never share a table or an axis."""

    def unit_of(run: ReportedRun) -> str:
        return run.cells["throughput_unit"] or ""

    for unit, group in groupby(sorted(runs, key=unit_of), key=unit_of):
        yield unit, list(group)


def _iterate_curves(rows: Sequence[Configuration]) -> Iterator[charts.Curve]:
    lines: defaultdict[tuple[object, ...], dict[int, float]] = defaultdict(dict)
    for row in rows:
        # As on Scaling: no ratio of what is not known, nor of what did not learn what it should.
        if row.cells["mode"] == "cluster" and row.cells["node_count"] and not row.mixed and not row.missed:
            key = tuple(row.cells[name] for name in CURVE_COLUMNS)
            lines[key].setdefault(row.cells["node_count"], row.median)
    for key, points in lines.items():
        if len(points) > 1:
            yield charts.Curve(" · ".join(str(part) for part in key[:3] if part), tuple(sorted(points.items())))


def _group_key(cells: Cells) -> tuple[object, ...]:
    return tuple(cells[name] for name in GROUP_COLUMNS)


IDENTIFICATION = ("test_id", "created_by", "region", "division", "scenario", "origin")


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
    sentences: tuple[Message, ...]
    statistics: tuple[tuple[str, list[Configuration]], ...]
    series_statistics: tuple[Cells, ...]
    overview: tuple[tuple[Figure, ...], ...]
    figures: tuple[Figure, ...]
    configurations: tuple[ReportedConfiguration, ...]
    systems: tuple[ReportedSystem, ...]
    series: tuple[SeriesEvaluation, ...]
    appendix: Appendix
    filters: str = ""  # that selected the runs; empty: they were named
    head: SignedHead | None = None  # of the audit when it was written
    lab: LabSection | None = None  # of a lab's report

    @property
    def is_rehearsal(self) -> bool:
        """Whether its numbers are no measurements."""
        return any(run.cells["rehearsal"] for run in self.runs)


def report_view(
    reported: Reported, data_sha256: str, written_at: datetime, nodes: str, distinctions: Mapping[str, str]
) -> ReportView:
    """The view of these answers. `nodes`: the axis label of charts, in the report's language. `distinctions`: what
    distinguishes benchmark configurations, by fingerprint."""
    runs = reported.runs
    identification = {name: list_distinct(run.cells[name] for run in runs) for name in IDENTIFICATION}
    rulesets = ((run.cells["ruleset_id"], run.cells["ruleset_basis"] or "") for run in runs if run.cells["ruleset_id"])
    numbered = numbered_runs(runs)
    statistics = tuple(configurations_by_unit(reported, distinctions))
    identification["hardware"] = tuple(_iterate_hardware(runs))
    return ReportView(
        reported.report_id,
        data_sha256,
        written_at.astimezone(UTC),
        runs,
        identification | {"submitter": list_distinct(run.system.get("submitter") for run in runs)},
        tuple(dict.fromkeys(rulesets)),
        tuple(by_unit(runs)),
        build_sentences(reported, numbered, distinctions),
        statistics,
        tuple(row for row in reported.groups if row["runs_valid"] and (row["series_id"] or row["dropped_run_ids"])),
        tuple(overview_of(statistics, nodes)),
        tuple(figures_of(reported)),
        tuple(_iterate_configurations(runs)),
        tuple(_iterate_systems(runs)),
        reported.series,
        build_appendix(numbered, reported.series),
    )


def _iterate_configurations(runs: Sequence[ReportedRun]) -> Iterator[ReportedConfiguration]:
    groups: defaultdict[tuple[object, ...], list[ReportedRun]] = defaultdict(list)
    for run in runs:
        columns = ("model_name", *CONFIGURATION, "hyperparameters_json")
        groups[(describe_software(run.cells), *(run.cells[name] for name in columns))].append(run)
    for group in groups.values():
        cells = group[0].cells
        parameters = json.loads(cells["hyperparameters_json"] or "{}")
        yield ReportedConfiguration(
            _run_ids(group),
            {
                "size": ", ".join(list_distinct(describe_size(run.cells) for run in group)),
                "model": cells["model_name"],
                "framework": describe_software(cells),
                **{name: cells[name] for name in CONFIGURATION},
            },
            {name: json.dumps(value, ensure_ascii=False) for name, value in parameters.items()},
        )


def _iterate_systems(runs: Sequence[ReportedRun]) -> Iterator[ReportedSystem]:
    groups: defaultdict[str, list[ReportedRun]] = defaultdict(list)
    for run in runs:
        groups[json.dumps({**run.system, NODES: NODES in run.system}, sort_keys=True)].append(run)
    for group in groups.values():
        system = {**group[0].system, NODES: ", ".join(list_distinct(run.system.get(NODES) for run in group))}
        values = {name: system[name] for name in SYSTEM_FIELDS if system.get(name)}
        yield ReportedSystem(_run_ids(group), values, tuple(name for name in SYSTEM_FIELDS if name not in values))


def _run_ids(runs: Sequence[ReportedRun]) -> tuple[str, ...]:
    return tuple(run.cells["run_id"] for run in runs)


def _iterate_hardware(runs: Sequence[ReportedRun]) -> Iterator[str]:
    """Each hardware with its sizes: snt9b (1 × 8, 8 × 8)."""
    ordered = sorted(
        runs, key=lambda run: make_natural_key(run.cells[name] for name in ("node_count", "cards_per_node"))
    )
    for name in list_distinct(describe_hardware(run.cells) for run in ordered):
        sizes = (describe_size(run.cells) for run in ordered if describe_hardware(run.cells) == name)
        yield f"{name} ({', '.join(list_distinct(sizes))})"
