"""Series: what a plan comes to, launches, and changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from pydantic import Field

from aisbench_core.base.messages import Message
from aisbench_core.domain.access.server_files import require_open_files
from aisbench_core.interfaces.api.endpoint import PREFIX, Answered, ApiCall
from aisbench_core.interfaces.api.findings import FindingReport, report_of
from aisbench_core.interfaces.api.idempotency import KEY, launch_token, require_same
from aisbench_core.interfaces.api.launching import ProfileName
from aisbench_core.interfaces.api.series.reports import SeriesDetails, details_of
from aisbench_core.model import Frozen, RunSpec, Scalar, SeriesPlan
from aisbench_core.running.series.planning import RowFinding, SeriesDraft, SeriesEstimate


class SeriesRequest(Frozen):
    """A plan, and the profile of its region. Fields that the plan leaves out follow its spec."""

    plan: SeriesPlan
    profile: ProfileName = ""


class PlanRequest(SeriesRequest):
    """A plan to check."""

    online: Annotated[bool, Field(description="Also ask the region about the rows with the most nodes.")] = False


class BudgetRequest(Frozen):
    """A series' new budget."""

    budget: Annotated[float, Field(gt=0, allow_inf_nan=False, description="Node hours in total.")]


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """A row of a plan. Of a search these are its limits, and `parameters` their values."""

    title: str
    node_count: int
    version: str
    image: str
    parameters: Mapping[str, Scalar]
    spec: RunSpec


@dataclass(frozen=True, slots=True)
class PlanFinding:
    """A finding, and the titles of its rows; `everywhere` if it concerns all."""

    finding: FindingReport
    rows: Sequence[str]
    everywhere: bool


@dataclass(frozen=True, slots=True)
class PlanReport:
    """What a plan comes to. Nothing was stored."""

    can_launch: Annotated[bool, Field(description="Whether no finding is an error.")]
    plan: SeriesPlan
    rows: Sequence[PlannedRow]
    findings: Sequence[PlanFinding]
    estimate: SeriesEstimate


def plan_series(call: ApiCall) -> PlanReport:
    """Rows, findings, time and cost of a plan, by the hours that each run is expected to take."""
    request: PlanRequest = call.body
    core = call.core
    require_open_files(request.plan.spec, call.actor, core.runs.open_folders)
    draft = _plan_draft(call, request)
    findings = [*draft.findings, *(core.series.online(draft, request.profile) if request.online else ())]
    rows = [
        PlannedRow(call.say(row.title), row.node_count, row.version, row.image, row.parameters, row.spec)
        for row in draft.checked
    ]
    can_launch = not any(found.finding.level == "error" for found in findings)
    return PlanReport(can_launch, draft.plan, rows, [_to_finding(found, call) for found in findings], draft.estimate)


def launch_series(call: ApiCall) -> Answered:
    """Launch a series: 201. The same key again answers the same series: 200."""
    request: SeriesRequest = call.body
    core, token = call.core, launch_token(call)
    earlier = core.series.ledger.launched_with(token)
    if earlier is None:
        require_open_files(request.plan.spec, call.actor, core.runs.open_folders)
    plan = _plan_draft(call, request).plan
    series = earlier or core.series.launch(plan, request.profile, call.actor, token)
    used = Message(
        "this {header} launched another plan as series {series_id}", header=KEY.name, series_id=series.series_id
    )
    profile = core.regions.profile(request.profile).name
    require_same(used, same=series.profile == profile and series.plan == plan)
    status = HTTPStatus.OK if earlier else HTTPStatus.CREATED
    details = details_of(core.series.matrix(series.series_id))
    return Answered(details, status, {"Location": f"{PREFIX}/series/{series.series_id}"})


def stop_series(call: ApiCall) -> SeriesDetails:
    """Cancel cells that are not launched yet, and stop the active runs. Can be repeated."""
    return details_of(call.core.series.stop(call.path["series_id"], call.actor))


def rerun_series(call: ApiCall) -> SeriesDetails:
    """Add an attempt at every cell that ended without a valid result."""
    return details_of(call.core.series.rerun(call.path["series_id"], call.actor))


def set_series_budget(call: ApiCall) -> SeriesDetails:
    """Change a series' budget, so that a held one continues."""
    request: BudgetRequest = call.body
    return details_of(call.core.series.resume(call.path["series_id"], request.budget, call.actor))


def _plan_draft(call: ApiCall, request: SeriesRequest) -> SeriesDraft:
    return call.core.series.plan(request.plan.spec, answers_of(request.plan), request.profile)


def answers_of(plan: SeriesPlan) -> dict[str, Any]:
    """What a plan says beside its spec; the rest has the defaults that people get."""
    return {name: getattr(plan, name) for name in plan.model_fields_set if name != "spec"}


def _to_finding(found: RowFinding, call: ApiCall) -> PlanFinding:
    return PlanFinding(report_of(found.finding, call), [call.say(row.title) for row in found.rows], found.everywhere)
