"""From a plan to its cells: their specs, their order, and the estimate of time and cost."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product
from typing import Any

from aisbench_core.base.documents import parse_document
from aisbench_core.base.errors import AisbenchError, Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.config.job_secrets import JobSecrets
from aisbench_core.config.settings import Profile
from aisbench_core.domain.authoring.manifest import ParameterType
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.costs import estimate_cost, expected_cost
from aisbench_core.domain.preflight.offline import check_offline, worst_first
from aisbench_core.domain.preflight.rule import subject_of
from aisbench_core.model import (
    MOST_CELLS,
    Attempt,
    ExpectedCost,
    Finding,
    Flavor,
    Level,
    ParameterSearch,
    RunSpec,
    Scalar,
    SeriesPlan,
    SeriesRow,
)
from aisbench_core.running.series.sampler import require_optuna
from aisbench_core.running.series.search_plans import (
    EXAMPLE,
    WHAT,
    list_limits,
    range_of,
    resolve_search,
    search_answers,
    space_of,
    trial_row,
)
from aisbench_core.running.series.stopping import is_bisect, most_repeats, require_rule_fits

FORMS = {"values": Message("must be NAME=VALUE,VALUE"), "search": Message("must be NAME=LOW..HIGH or NAME=VALUE,VALUE")}
EXAMPLES = {
    "values": Message("for example batch_size=16,32; learning_rate=0.1,0.2"),
    "search": EXAMPLE,
}


@dataclass(frozen=True, slots=True)
class RowFinding:
    """A finding and its rows; `everywhere` when it concerns all of them."""

    finding: Finding
    rows: tuple[SeriesRow, ...]
    everywhere: bool


@dataclass(frozen=True, slots=True)
class SeriesEstimate:
    """Time and cost of a series, by the user's estimate of hours per run.

    `wall_hours`: with `parallel` jobs always active. `cost` is None if the profile has no price."""

    cells: int
    """Number of cells: runs that the plan asks for."""
    node_hours: float
    """Expected hours times nodes, of all cells."""
    wall_hours: float
    """Hours with `parallel` jobs always active."""
    cost: float | None
    """In `currency`; null without a price."""
    currency: str


@dataclass(frozen=True, slots=True)
class SeriesDraft:
    """A plan before launch: its rows, findings and estimate.

    `checked`: the rows that the findings are about. Of a search, `rows` have no values yet, and these its limits."""

    plan: SeriesPlan
    rows: tuple[SeriesRow, ...]
    checked: tuple[SeriesRow, ...]
    findings: tuple[RowFinding, ...]
    estimate: SeriesEstimate

    @property
    def errors(self) -> tuple[RowFinding, ...]:
        """The findings that forbid the launch."""
        return tuple(row_finding for row_finding in self.findings if row_finding.finding.level is Level.ERROR)


def plan_of(spec: RunSpec, answers: Mapping[str, Any], workloads: Workloads) -> SeriesPlan:
    """The plan that a person's answers mean; lists may be written as `1,2,4`, a search as `batch_size=16..256 log`.

    None is not answered. Raises SpecError, naming the fields."""
    answered = {name: value for name, value in answers.items() if value is not None}
    for name in ("node_counts", "versions", "images"):
        if isinstance(text := answered.get(name), str):
            answered[name] = _split_parts(text)
    answered["values"] = {
        name: _parse_values(text, name, spec, workloads)
        for name, text in _by_name(answered.pop("values", {}), "values").items()
    }
    if not isinstance(answered.get("search"), ParameterSearch):
        space = {
            name: _parse_search_values(text, name, spec, workloads)
            for name, text in _by_name(answered.pop("search", {}), "search").items()
        }
        answered["search"] = search_answers(space, answered)
    if answered["search"]:
        answered.setdefault("repeats", 1)
    elif answered.get("until"):
        answered.setdefault("repeats", most_repeats(str(answered["until"])))
        if is_bisect(answered["until"]) and not (answered.get("versions") or answered.get("images")):
            answered["versions"] = _list_versions(spec, workloads)
    plan = parse_document(SeriesPlan, {"node_counts": [spec.node_count], **answered, "spec": spec}, WHAT)
    if plan.cell_count > MOST_CELLS:
        problem = Problem("cells", Message("a series has at most {most}", most=MOST_CELLS), str(plan.cell_count))
        raise SpecError(WHAT, [problem], Message("ask for fewer node counts, versions, values or repeats"))
    require_rule_fits(plan)
    return plan


def _list_versions(spec: RunSpec, workloads: Workloads) -> list[str]:
    """Those of the workload's manifest, oldest first; preflight reports why there are none."""
    with suppress(AisbenchError):
        return list(workloads.get(spec.workload).versions)
    return []


def _split_parts(text: str) -> list[str]:
    return [part.strip() for part in text.replace("，", ",").split(",") if part.strip()]


def _by_name(given: str | Mapping[str, Any], field: str) -> Mapping[str, Any]:
    """`batch_size=16,32; learning_rate=0.1,0.2` by name. Raises SpecError."""
    if not isinstance(given, str):
        return given
    by_name = {}
    for part in filter(None, (part.strip() for part in given.replace("；", ";").split(";"))):
        name, equals, values = part.partition("=")
        if not equals or not name.strip():
            raise SpecError(WHAT, [Problem(field, FORMS[field], repr(part))], EXAMPLES[field])
        by_name[name.strip()] = values
    return by_name


def _parse_values(texts: Any, name: str, spec: RunSpec, workloads: Workloads) -> Any:
    if not isinstance(texts, str):
        return texts
    return [_parse_scalar(part, _type_of(name, spec, workloads)) for part in _split_parts(texts)]


def _parse_search_values(text: Any, name: str, spec: RunSpec, workloads: Workloads) -> Any:
    found = range_of(text, name, _type_of(name, spec, workloads)) if isinstance(text, str) else None
    values = found or _parse_values(text, name, spec, workloads)
    if not values:
        raise SpecError(WHAT, [Problem(f"search.{name}", Message("enter at least one value of {name}", name=name))])
    return values


def _type_of(name: str, spec: RunSpec, workloads: Workloads) -> ParameterType | None:
    """None where the workload does not say; preflight reports why."""
    with suppress(AisbenchError):
        parameter = workloads.get(spec.workload).edition(spec.framework_version).parameters.get(name)
        return parameter.type if parameter else None
    return None


def _parse_scalar(text: str, kind: ParameterType | None) -> Scalar:
    """A value as it is written: a number or a truth value, unless the workload says that the parameter is a text."""
    if kind is ParameterType.STR:
        return text
    for number in (int, float):
        with suppress(ValueError):
            return number(text)
    return {"true": True, "false": False}.get(text.lower(), text)


def draft_series(
    plan: SeriesPlan, profile: Profile, workloads: Workloads, flavors: Sequence[Flavor], secrets: JobSecrets
) -> SeriesDraft:
    """A plan with its rows, their offline preflight findings, and the estimate."""
    plan = resolve_search(plan, profile, workloads)
    rows = checked_rows = rows_of(plan, profile, workloads)
    if plan.search:
        require_optuna()
        checked_rows = tuple(trial_row(rows[0], choice) for choice in list_limits(space_of(plan)))
    findings = check_rows(checked_rows, lambda spec: check_offline(spec, profile, workloads, flavors, secrets))
    return SeriesDraft(plan, rows, checked_rows, findings, _estimate_series(plan, rows, profile))


def rows_of(plan: SeriesPlan, profile: Profile, workloads: Workloads) -> tuple[SeriesRow, ...]:
    """The distinct cells by node count, each with the spec as it would be launched now.

    The trials of a search have no values yet, and the most nodes that they can have."""
    if plan.search:
        nodes, version, image = max(plan.node_counts), "".join(plan.versions[:1]), "".join(plan.images[:1])
        spec = _vary_spec(plan.spec, nodes, version, image, {}, workloads)
        return (SeriesRow(nodes, version, image, subject_of(spec, profile, workloads).spec),) * plan.search.trials
    return tuple(
        SeriesRow(nodes, version, image, subject_of(spec, profile, workloads).spec, parameters)
        for nodes in sorted(plan.node_counts)
        for version in plan.versions or ("",)
        for image in plan.images or ("",)
        for values in product(*plan.values.values())
        for parameters in [dict(zip(plan.values, values, strict=True))]
        for spec in [_vary_spec(plan.spec, nodes, version, image, parameters, workloads)]
    )


def first_attempts(
    series_id: str, plan: SeriesPlan, rows: Sequence[SeriesRow], who: str, at: datetime
) -> list[Attempt]:
    """The first attempt at every cell in launch order: every row once, then every row again.

    Repeats of a row lie far apart in time, so that drift (other load, heat, updates of the region) affects all rows
    alike. Each round begins with the fewest nodes, where a mistake costs least."""
    cells = [(row, repeat) for repeat in range(1, plan.repeats + 1) for row in range(len(rows))]
    return [Attempt(series_id, cell, 1, row, repeat, who, at) for cell, (row, repeat) in enumerate(cells, start=1)]


def price_attempts(attempts: Sequence[Attempt], rows: Sequence[SeriesRow], profile: Profile) -> list[Attempt]:
    """The attempts with what each is expected to cost."""
    costs = [expected_cost(row.spec, profile) for row in rows]
    return [
        replace(attempt, expected_cost=costs[attempt.row].amount, currency=costs[attempt.row].currency)
        for attempt in attempts
    ]


def total_cost(attempts: Sequence[Attempt], rows: Sequence[SeriesRow], profile: Profile) -> ExpectedCost:
    """What attempts are expected to cost together; not known if one is not."""
    costs = [expected_cost(rows[attempt.row].spec, profile) for attempt in attempts]
    unknown = next((cost for cost in costs if cost.amount is None), None)
    return unknown or ExpectedCost(sum(cost.amount or 0.0 for cost in costs), costs[0].currency if costs else "")


def _vary_spec(
    spec: RunSpec, nodes: int, version: str, image: str, parameters: Mapping[str, Scalar], workloads: Workloads
) -> RunSpec:
    changes: dict[str, Any] = {"node_count": nodes}
    if version and version != spec.framework_version:
        changes |= {"framework_version": version, **_left_to(spec, workloads)}
    if image:
        changes["image_url" if spec.image_url else "engine_version"] = image
    if parameters:
        changes["parameters"] = {**changes.get("parameters", spec.parameters), **parameters}
    return spec.model_copy(update=changes)


def _left_to(spec: RunSpec, workloads: Workloads) -> dict[str, Any]:
    """The spec without what a version decides by itself: engine, boot file, and parameters equal to its defaults."""
    try:
        edition = workloads.get(spec.workload).edition(spec.framework_version)
    except AisbenchError:  # preflight reports it
        return {}
    usual = {name: parameter.default for name, parameter in edition.parameters.items()}
    parameters = {name: value for name, value in spec.parameters.items() if name not in usual or usual[name] != value}
    boot_file = "" if spec.boot_file == edition.boot_file else spec.boot_file
    return {"engine_name": "", "engine_version": "", "boot_file": boot_file, "parameters": parameters}


def check_rows(
    rows: Sequence[SeriesRow], findings_of: Callable[[RunSpec], Sequence[Finding]]
) -> tuple[RowFinding, ...]:
    """The findings of all rows; one that several rows share appears once."""
    about: dict[Finding, list[SeriesRow]] = {}
    for row in rows:
        for finding in findings_of(row.spec):
            about.setdefault(finding, []).append(row)
    ordered = worst_first(list(about))
    return tuple(RowFinding(finding, tuple(about[finding]), len(about[finding]) == len(rows)) for finding in ordered)


def _estimate_series(plan: SeriesPlan, rows: Sequence[SeriesRow], profile: Profile) -> SeriesEstimate:
    hours, cells = plan.hours_per_run, len(rows) * plan.repeats
    costs = [estimate_cost(row.spec, profile, hours) for row in rows]
    cost = None if None in costs else sum(cost * plan.repeats for cost in costs if cost is not None)
    node_hours = sum(row.node_count for row in rows) * plan.repeats * hours
    return SeriesEstimate(cells, node_hours, math.ceil(cells / plan.parallel) * hours, cost, profile.currency)
