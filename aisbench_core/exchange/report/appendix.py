"""The report's appendix: a row per run, and what runs have in common said once."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median

from aisbench_core.base.formats import MISSING
from aisbench_core.exchange.report.cells import (
    describe_hardware,
    describe_size,
    describe_software,
    format_ranges,
    is_counted,
    list_distinct,
    make_natural_key,
    split_shared,
)
from aisbench_core.model import SYSTEM_FIELDS
from aisbench_core.warehouse.exporting.reported import Cells, ReportedRun
from aisbench_core.warehouse.values.runs import Check, CheckLevel, SeriesEvaluation

CONFIGURATION = (
    "workload", "engine_version", "accelerator", "flavor", "pool_type",
    "mode", "dataset_name", "throughput_definition", "throughput_aggregation",
)  # fmt: skip
NODES = "number_of_nodes"
HASHES = ("spec_sha256", "code_sha256", "dataset_sha256")
# Columns with medians, and their units.
MEDIANS: Mapping[str, str] = {
    "queue_s": "s",
    "prepare_s": "s",
    "dataload_s": "s",
    "proc_s": "s",
    "total_s": "s",
    "platform_duration_s": "s",
    "average_power_w": "W",
    "max_power_w": "W",
    "energy": "",
    "npu_util_avg_pct": "%",
    "rank_cv_pct": "%",
}

_TITLE = ("model_name", "framework", "framework_version", "workload", "flavor", "pool_id", "accelerator", "node_count",
          "cards_per_node", "mode", "origin", "throughput_unit", "ruleset_id", "ruleset_basis")  # fmt: skip

# Distinct texts of a check that are quoted; the full form has those of each run.
MAX_QUOTED = 2


@dataclass(frozen=True, slots=True)
class NumberedRun:
    """A run, and the number by which the other tables name it: its place in the table of runs."""

    number: int
    run: ReportedRun


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Runs with the same heading: model, version, hardware, size, unit, ruleset. `medians`: of the valid ones."""

    cells: Cells
    runs: tuple[NumberedRun, ...]
    medians: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Particular:
    """What is particular to some runs: `fields` that other runs have other values of."""

    numbers: str
    hardware: str
    size: str
    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Described:
    """What is the same in all runs, and what is not; `missing`: fields that nobody stated."""

    hardware: str
    shared: Mapping[str, object]
    own: tuple[Particular, ...]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckGroup:
    """One check with one outcome over all runs; texts are those of the first few runs, `more` if there are others."""

    id: str
    level: CheckLevel
    numbers: str
    count: int
    hardware: str
    expected: tuple[str, ...]
    found: tuple[str, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class SeriesGroup:
    """Rows of series with the same outcome: `members` are series with version and image, and their node counts."""

    first: SeriesEvaluation
    members: tuple[tuple[str, str], ...]
    hardware: str


@dataclass(frozen=True, slots=True)
class HashedRuns:
    """Runs with the same spec, code and data set."""

    numbers: str
    hardware: str
    hashes: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Appendix:
    """Everything behind the first page, each fact once."""

    groups: tuple[RunGroup, ...]
    configuration: Described
    parameters: Described
    systems: Described
    checks: tuple[CheckGroup, ...]
    series: tuple[SeriesGroup, ...]
    hashes: tuple[HashedRuns, ...]

    def numbers(self, run_ids: str) -> str:
        """The numbers of these runs, which are separated by ";"; the id of one that is not in the report."""
        known = {each.run.cells["run_id"]: each.number for group in self.groups for each in group.runs}
        ids = run_ids.split(";")
        found = format_ranges(known[run_id] for run_id in ids if run_id in known)
        return ", ".join(filter(None, (found and f"№ {found}", *(run_id for run_id in ids if run_id not in known))))

    @property
    def tables(self) -> Iterator[tuple[str, list[RunGroup]]]:
        """The groups of each table of runs, and its unit of throughput: neighbours share one, since heads take room."""
        for unit, groups in groupby(self.groups, key=lambda group: group.cells["throughput_unit"] or ""):
            yield unit, list(groups)

    @property
    def measured(self) -> dict[str, str]:
        """Columns of which any group has a median, and their units."""
        return {
            name: unit for name, unit in MEDIANS.items() if any(each.medians[name] is not None for each in self.groups)
        }

    @property
    def unmeasured(self) -> list[str]:
        """Columns of which no group has a median: named below the table rather than printed empty."""
        return [name for name in MEDIANS if name not in self.measured]

    @property
    def recorded_hashes(self) -> list[str]:
        """Hashes that any run has."""
        return [name for name in HASHES if any(each.hashes[name] for each in self.hashes)]

    @property
    def missing_hashes(self) -> list[str]:
        """Hashes that no run has."""
        return [name for name in HASHES if name not in self.recorded_hashes]


def numbered_runs(runs: Sequence[ReportedRun]) -> list[NumberedRun]:
    """By configuration, then by launch, so that the runs of a configuration are a range of numbers."""
    ordered = sorted(runs, key=lambda run: make_natural_key(run.cells[name] for name in _TITLE))
    return [NumberedRun(number, run) for number, run in enumerate(ordered, 1)]


def build_appendix(runs: Sequence[NumberedRun], series: Sequence[SeriesEvaluation]) -> Appendix:
    """The appendix on these runs, and on the series that they belong to."""
    systems = _describe_groups(runs, _get_system, SYSTEM_FIELDS)
    nodes = list_distinct(each.run.system.get(NODES) for each in runs)
    if nodes:
        systems = replace(systems, shared={**systems.shared, NODES: ", ".join(nodes)})
    return Appendix(
        tuple(_run_groups(runs)),
        _describe_groups(runs, _get_configuration),
        _describe_groups(runs, _get_parameters),
        systems,
        tuple(_check_groups(runs)),
        tuple(_series_groups(runs, series)),
        tuple(_iterate_hashed(runs)),
    )


def _group_runs(
    runs: Iterable[NumberedRun], key: Callable[[NumberedRun], tuple[object, ...]]
) -> dict[tuple[object, ...], list[NumberedRun]]:
    groups: defaultdict[tuple[object, ...], list[NumberedRun]] = defaultdict(list)
    for each in runs:
        groups[key(each)].append(each)
    return groups


def _run_groups(runs: Sequence[NumberedRun]) -> Iterator[RunGroup]:
    for group in _group_runs(runs, lambda each: tuple(each.run.cells[name] for name in _TITLE)).values():
        counting = [each.run.cells for each in group if is_counted(each.run)]
        medians = {
            name: median(values) if (values := [cells[name] for cells in counting if cells[name] is not None]) else None
            for name in MEDIANS
        }
        yield RunGroup(group[0].run.cells, tuple(group), medians)


def _get_configuration(run: ReportedRun) -> dict[str, object]:
    cells = run.cells
    return {
        "model": cells["model_name"],
        "framework": describe_software(cells),
        **{name: cells[name] for name in CONFIGURATION},
    }


def _get_parameters(run: ReportedRun) -> dict[str, object]:
    parameters = json.loads(run.cells["hyperparameters_json"] or "{}")
    return {name: json.dumps(value, ensure_ascii=False) for name, value in parameters.items()}


def _get_system(run: ReportedRun) -> dict[str, object]:
    """Without the node count: it is in the runs' headings, and does not make another system."""
    return {name: value for name, value in run.system.items() if value and name != NODES}


def _describe_groups(
    runs: Sequence[NumberedRun], fields: Callable[[ReportedRun], dict[str, object]], known: Sequence[str] = ()
) -> Described:
    groups = _group_runs(runs, lambda each: (json.dumps(fields(each.run), sort_keys=True, default=str),))
    same, own = split_shared([fields(group[0].run) for group in groups.values()])
    stated = {name for each in runs for name, value in each.run.system.items() if value}
    return Described(
        _format_hardware(runs),
        same,
        tuple(
            Particular(
                _format_numbers(group),
                _format_hardware(group),
                ", ".join(list_distinct(describe_size(each.run.cells) for each in group)),
                part,
            )
            for group, part in zip(groups.values(), own, strict=True)
            if part
        ),
        tuple(name for name in known if name not in stated),
    )


def _check_groups(runs: Sequence[NumberedRun]) -> Iterator[CheckGroup]:
    groups: defaultdict[tuple[int, str], list[tuple[NumberedRun, Check]]] = defaultdict(list)
    severity = [CheckLevel.FAIL, CheckLevel.WARN, CheckLevel.OK]
    for each in runs:
        for check in each.run.checks:
            groups[severity.index(check.level), check.id].append((each, check))
    for (level, check_id), pairs in sorted(groups.items()):
        members = [each for each, _ in pairs]
        expected, found = (
            tuple({str(text): text for text in texts if text}.values())
            for texts in ((check.expected for _, check in pairs), (check.found for _, check in pairs))
        )
        yield CheckGroup(
            check_id, severity[level], _format_numbers(members), len(members), _format_hardware(members),
            expected[:MAX_QUOTED], found[:MAX_QUOTED], max(len(expected), len(found)) > MAX_QUOTED,
        )  # fmt: skip


def _series_groups(runs: Sequence[NumberedRun], series: Sequence[SeriesEvaluation]) -> Iterator[SeriesGroup]:
    by_id = {each.run.cells["run_id"]: each for each in runs}
    groups: defaultdict[tuple[object, ...], list[SeriesEvaluation]] = defaultdict(list)
    for row in series:
        # What is ok is listed by its id only.
        outcome = tuple(
            (check.id, check.level, *((check.expected, check.found) if check.level is not CheckLevel.OK else ()))
            for check in row.checks
        )
        groups[row.ruleset_id, row.counts, outcome].append(row)
    for rows in groups.values():
        nodes: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
        for row in rows:
            nodes[row.series_id, row.framework_version, row.image] += [row.node_count] if row.node_count else []
        members = tuple(
            (" · ".join(filter(None, names)), format_ranges(found) or MISSING) for names, found in nodes.items()
        )
        reported = [by_id[run_id] for row in rows for run_id in row.run_ids if run_id in by_id]
        yield SeriesGroup(rows[0], members, _format_hardware(reported))


def _iterate_hashed(runs: Sequence[NumberedRun]) -> Iterator[HashedRuns]:
    for group in _group_runs(runs, lambda each: tuple(each.run.cells[name] for name in HASHES)).values():
        cells = group[0].run.cells
        yield HashedRuns(_format_numbers(group), _format_hardware(group), {name: cells[name] for name in HASHES})


def _format_numbers(runs: Iterable[NumberedRun]) -> str:
    return format_ranges(each.number for each in runs)


def _format_hardware(runs: Iterable[NumberedRun]) -> str:
    return ", ".join(list_distinct(describe_hardware(each.run.cells) for each in runs)) or MISSING
