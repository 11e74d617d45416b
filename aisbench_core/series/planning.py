"""From a plan to its cells: what each of them runs, in which order, and what all of them may take."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aisbench_core.authoring import preflight
from aisbench_core.authoring.rules import subject_of
from aisbench_core.authoring.workloads import Workloads
from aisbench_core.documents import parse
from aisbench_core.errors import AisbenchError, Problem, SpecError
from aisbench_core.job_secrets import JobSecrets
from aisbench_core.messages import Message
from aisbench_core.model import MOST_CELLS, Attempt, Finding, Flavor, Level, RunSpec, SeriesPlan, SeriesRow
from aisbench_core.settings import Profile

WHAT = Message("the series")


@dataclass(frozen=True, slots=True)
class RowFinding:
    """A finding, and which rows it is about; `everywhere` when that is all of them."""

    finding: Finding
    rows: tuple[SeriesRow, ...]
    everywhere: bool


@dataclass(frozen=True, slots=True)
class SeriesEstimate:
    """What a series may take, by the person's own hours per run.

    `wall_hours`: when that many jobs are always active. `cost` is None where the profile has no price."""

    cells: int
    node_hours: float
    wall_hours: float
    cost: float | None
    currency: str


@dataclass(frozen=True, slots=True)
class SeriesDraft:
    """A plan before it is launched: its rows, what is wrong with them, and what they may take."""

    plan: SeriesPlan
    rows: tuple[SeriesRow, ...]
    findings: tuple[RowFinding, ...]
    estimate: SeriesEstimate

    @property
    def errors(self) -> tuple[RowFinding, ...]:
        """What forbids the launch."""
        return tuple(found for found in self.findings if found.finding.level is Level.ERROR)


def plan_of(spec: RunSpec, answers: Mapping[str, Any]) -> SeriesPlan:
    """The plan that a person's answers mean; lists may be written as `1,2,4`, None is
    not answered. Raises SpecError, naming the fields."""
    given = {name: _listed(name, value) for name, value in answers.items() if value is not None}
    plan = parse(SeriesPlan, {"node_counts": [spec.node_count], **given, "spec": spec}, WHAT)
    if plan.cell_count > MOST_CELLS:
        problem = Problem("cells", Message("a series has at most {most}", most=MOST_CELLS), str(plan.cell_count))
        raise SpecError(WHAT, [problem], Message("ask for fewer node counts, versions or repeats"))
    return plan


def drafted(
    plan: SeriesPlan, profile: Profile, workloads: Workloads, flavors: Sequence[Flavor], secrets: JobSecrets
) -> SeriesDraft:
    """A plan with its rows, preflight's findings about each of them, and the estimate. Asks no cloud."""
    rows = rows_of(plan, profile, workloads)
    findings = checked(rows, lambda spec: preflight.preflight(spec, profile, workloads, flavors, secrets))
    return SeriesDraft(plan, rows, findings, _estimate(plan, rows, profile))


def rows_of(plan: SeriesPlan, profile: Profile, workloads: Workloads) -> tuple[SeriesRow, ...]:
    """The distinct cells, the fewest nodes first, each with the spec as it would be launched now."""
    return tuple(
        SeriesRow(nodes, version, image, subject_of(spec, profile, workloads).spec)
        for nodes in sorted(plan.node_counts)
        for version in plan.versions or ("",)
        for image in plan.images or ("",)
        for spec in [_varied(plan.spec, nodes, version, image, workloads)]
    )


def first_attempts(
    series_id: str, plan: SeriesPlan, rows: Sequence[SeriesRow], who: str, at: datetime
) -> list[Attempt]:
    """The first try at every cell, in the order of launching: every row once, then every row again.

    So repeats of a row lie far apart, and what drifts meanwhile (other people's load, heat, the region's software)
    meets all rows alike. Each round begins with the fewest nodes, where a mistake costs least."""
    places = [(row, repeat) for repeat in range(1, plan.repeats + 1) for row in range(len(rows))]
    return [Attempt(series_id, cell, 1, row, repeat, who, at) for cell, (row, repeat) in enumerate(places, start=1)]


def _varied(spec: RunSpec, nodes: int, version: str, image: str, workloads: Workloads) -> RunSpec:
    changes: dict[str, Any] = {"node_count": nodes}
    if version and version != spec.framework_version:
        changes |= {"framework_version": version, **_left_to(spec, workloads)}
    if image:
        changes["image_url" if spec.image_url else "engine_version"] = image
    return spec.model_copy(update=changes)


def _left_to(spec: RunSpec, workloads: Workloads) -> dict[str, Any]:
    """What another version decides by itself: engine, boot file, and parameters that are only this one's default."""
    try:
        edition = workloads.get(spec.workload).edition(spec.framework_version)
    except AisbenchError:  # preflight says so
        return {}
    usual = {name: parameter.default for name, parameter in edition.parameters.items()}
    kept = {name: value for name, value in spec.parameters.items() if name not in usual or usual[name] != value}
    boot_file = "" if spec.boot_file == edition.boot_file else spec.boot_file
    return {"engine_name": "", "engine_version": "", "boot_file": boot_file, "parameters": kept}


def checked(rows: Sequence[SeriesRow], findings_of: Callable[[RunSpec], Sequence[Finding]]) -> tuple[RowFinding, ...]:
    """Every row's findings; one that several rows share is said once."""
    about: dict[Finding, list[SeriesRow]] = {}
    for row in rows:
        for finding in findings_of(row.spec):
            about.setdefault(finding, []).append(row)
    ordered = preflight.worst_first(list(about))
    return tuple(RowFinding(each, tuple(about[each]), len(about[each]) == len(rows)) for each in ordered)


def _estimate(plan: SeriesPlan, rows: Sequence[SeriesRow], profile: Profile) -> SeriesEstimate:
    hours, cells = plan.hours_per_run, len(rows) * plan.repeats
    costs = list(_costs(plan, rows, profile))
    cost = None if None in costs else sum(cost for cost in costs if cost is not None)
    node_hours = sum(row.node_count for row in rows) * plan.repeats * hours
    return SeriesEstimate(cells, node_hours, math.ceil(cells / plan.parallel) * hours, cost, profile.currency)


def _costs(plan: SeriesPlan, rows: Sequence[SeriesRow], profile: Profile) -> Iterator[float | None]:
    for row in rows:
        once = preflight.estimate(row.spec, profile, plan.hours_per_run)
        yield None if once is None else once * plan.repeats


def _listed(name: str, value: Any) -> Any:
    """`1, 2,4` as a list, where a list is wanted."""
    if name in ("node_counts", "versions", "images") and isinstance(value, str):
        return [part.strip() for part in value.replace("，", ",").split(",") if part.strip()]
    return value
