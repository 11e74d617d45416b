"""The checks before a launch, with what would be launched, what it would cost, and a corrected spec."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from aisbench_core.domain.access.server_files import require_open_files
from aisbench_core.domain.preflight.fixes import apply_fixes
from aisbench_core.domain.preflight.rule import subject_of
from aisbench_core.domain.preflight.service import Cost
from aisbench_core.interfaces.api.endpoint import ApiCall
from aisbench_core.interfaces.api.expectations import ExpectedReport, report_expected
from aisbench_core.interfaces.api.findings import FindingReport, report_of
from aisbench_core.interfaces.api.launching import LaunchRequest
from aisbench_core.model import Level, RunSpec


class PreflightRequest(LaunchRequest):
    """A spec to check, and the profile of its region."""

    online: Annotated[
        bool, Field(description="Also ask the region: bucket, inputs, outputs, instance type, engine and pool.")
    ] = False
    hours: Annotated[
        float | None, Field(gt=0, le=720, allow_inf_nan=False, description="Expected run time in hours, for the cost.")
    ] = None


@dataclass(frozen=True, slots=True)
class PreflightReport:
    """All findings, errors first of those without the region, then the region's. Nothing was stored."""

    can_launch: Annotated[bool, Field(description="Whether no finding is an error.")]
    findings: Sequence[FindingReport]
    spec: Annotated[RunSpec, Field(description="What would be launched, with the defaults of manifest and profile.")]
    fixed: Annotated[RunSpec | None, Field(description="The spec as it was sent, with all fixes; null without any.")]
    cost: Annotated[Cost | None, Field(description="Of `hours`; null without hours, or a price in the profile.")]
    held: Annotated[
        str | None, Field(description="Why a launch would wait for an approval now; null if it would begin.")
    ]
    expected: Annotated[ExpectedReport | None, Field(description="What such a run usually reaches.")]


def preflight_spec(call: ApiCall) -> PreflightReport:
    """Check a spec as a launch would; `online` also asks the region."""
    core, request = call.core, call.body
    spec, profile = request.spec, core.regions.profile(request.profile)
    require_open_files(spec, call.actor, core.runs.open_folders)  # what a check says of a folder is of its content
    findings = core.preflight.offline(spec, profile.name)
    if request.online:
        findings = [*findings, *core.preflight.online(spec, profile.name)]
    errors = any(finding.level is Level.ERROR for finding in findings)
    filled = subject_of(spec, profile, core.workloads).spec
    held = None if errors else core.runs.why_held(filled, profile.name, call.actor.name)
    return PreflightReport(
        not errors,
        [report_of(finding, call) for finding in findings],
        filled,
        apply_fixes(spec, findings) if any(finding.fix for finding in findings) else None,
        core.preflight.estimate(spec, profile.name, request.hours) if request.hours else None,
        str(held) if held else None,
        report_expected(core.expectations.find_of_spec(spec, profile.name), call),
    )
