"""What makes a report a lab's: who, for whom, all attempts, uncertainty and conformity, and the full disclosure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

from aisbench_core.base.messages import Hint
from aisbench_core.domain.statistics.uncertainty import (
    ConformityStatement,
    Uncertainty,
    decide_conformity,
    estimate_uncertainty,
)
from aisbench_core.exchange.report.cells import is_counted
from aisbench_core.exchange.report.details import LabDetails, Quantity, Requirement
from aisbench_core.exchange.report.disclosure import DisclosedItem, disclose_items
from aisbench_core.warehouse.exporting.reported import Cells, Reported, ReportedRun
from aisbench_core.warehouse.values.boards import mixed_or_unknown


@dataclass(frozen=True, slots=True)
class ReportedAttempt:
    """A launch of a series, in the order of launches. `fate`: what became of it, if it has no row in the report."""

    series_id: str
    run_id: str
    state: str
    fate: Hint = ""


@dataclass(frozen=True, slots=True)
class LabInput:
    """What a lab's report has besides what the warehouse says. `number`: 0 while it is a draft.

    `clock_ahead_s`: by run, the region's clock less ours; `methods`: title, edition and source of each ruleset."""

    details: LabDetails
    attempts: Sequence[ReportedAttempt] = ()
    clock_ahead_s: Mapping[str, float] = field(default_factory=dict)
    methods: Sequence[tuple[str, str, str]] = ()
    number: int = 0
    amends: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """The uncertainty of a quantity of one configuration, and whether it reaches a limit, if there is one.

    `mixed`: what is not known of the configuration; its runs may not repeat one measurement."""

    cells: Cells
    quantity: Quantity
    unit: str
    count: int
    found: Uncertainty
    limit: float | None
    statement: ConformityStatement | None
    mixed: Hint = ""


@dataclass(frozen=True, slots=True)
class LabSection:
    """A lab's part of a report."""

    given: LabInput
    budgets: tuple[BudgetRow, ...]
    disclosure: tuple[DisclosedItem, ...]
    software: str
    reported: Reported


def build_lab_section(reported: Reported, groups: Iterable[Sequence[ReportedRun]], given: LabInput) -> LabSection:
    """The section about these runs; `groups`: the valid runs of each configuration."""
    details = given.details
    budgets = tuple(row for group in groups for row in _iterate_budgets(group, given))
    sections = {"identification", "summary", "runs", "hashes", "status", "parameters", "conformity"}
    sections |= {"attempts"} if given.attempts else set()
    sections |= {"series_checks"} if reported.series else set()
    sections |= {"statistics"} if budgets else set()
    sources: dict[str, Sequence[Mapping[str, object]]] = {
        "details": [details.model_dump(mode="json")],
        "columns": [run.cells for run in reported.runs],
        "system": [run.system for run in reported.runs],
    }
    disclosure = tuple(disclose_items(sources, details.statements, sections))
    return LabSection(given, budgets, disclosure, f"aisbench {version('aisbench-console')}", reported)


def group_counted(reported: Reported, key: Callable[[Cells], tuple[object, ...]]) -> list[list[ReportedRun]]:
    """The runs that count, by configuration."""
    groups: defaultdict[tuple[object, ...], list[ReportedRun]] = defaultdict(list)
    for run in reported.runs:
        if is_counted(run):
            groups[key(run.cells)].append(run)
    return list(groups.values())


def _iterate_budgets(runs: Sequence[ReportedRun], given: LabInput) -> Iterator[BudgetRow]:
    limits = _limits_of(runs[0].cells, given.details.requirements)
    if all(run.cells["synthetic_data"] for run in runs):
        limits.pop(Quantity.ACCURACY, None)
    for quantity, limit in limits.items():
        measured = [run for run in runs if run.cells[quantity] is not None]
        if measured:
            yield _build_row(measured, quantity, limit, given)


def _build_row(runs: Sequence[ReportedRun], quantity: Quantity, limit: float | None, given: LabInput) -> BudgetRow:
    cells, values = runs[0].cells, [run.cells[quantity] for run in runs]
    mixed = mixed_or_unknown(*(run.cells["not_known"] or "" for run in runs))
    if quantity is Quantity.ACCURACY:  # of the whole model, and of no clock
        found, unit = estimate_uncertainty(values), ""
    else:
        found = estimate_uncertainty(values, [_node_values(run) for run in runs], _clock_share(runs, given))
        unit = cells["throughput_unit"] or ""
    if mixed:
        found = Uncertainty(found.value)
    statement = None if limit is None else decide_conformity(found, limit, given.details.decision_rule)
    return BudgetRow(cells, quantity, unit, len(values), found, limit, statement, mixed)


def _limits_of(cells: Cells, requirements: Sequence[Requirement]) -> dict[Quantity, float | None]:
    """Throughput always; other quantities if they have a limit. The target accuracy is one."""
    limits: dict[Quantity, float | None] = {Quantity.THROUGHPUT: None}
    if cells["accuracy_target"] is not None:
        limits[Quantity.ACCURACY] = cells["accuracy_target"]
    for each in requirements:
        if each.model in ("", cells["model_name"]) and each.nodes in (None, cells["node_count"]):
            limits[each.quantity] = max(each.at_least, limits.get(each.quantity) or 0.0)
    return limits


def _node_values(run: ReportedRun) -> list[float]:
    """The throughput of each node, of which a card of a cluster says by its number."""
    cards, nodes = run.cells["cards_per_node"] or 0, defaultdict[int, float](float)
    for rank in run.ranks:
        nodes[rank.server if run.cells["mode"] != "cluster" or not cards else rank.rank // cards] += rank.throughput
    return list(nodes.values())


def _clock_share(runs: Sequence[ReportedRun], given: LabInput) -> float | None:
    """How far a duration can be wrong if its ends are of two clocks; None where no clock was compared."""
    shares = [
        abs(given.clock_ahead_s[run.cells["run_id"]]) / run.cells["platform_duration_s"]
        for run in runs
        if run.cells["run_id"] in given.clock_ahead_s and run.cells["platform_duration_s"]
    ]
    return max(shares, default=None)
