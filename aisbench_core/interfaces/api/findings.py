"""Findings of preflight as programs get them: in their language, with the changes that would fix the spec."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from aisbench_core.interfaces.api.endpoint import ApiCall
from aisbench_core.model import Finding, Level, Scalar


@dataclass(frozen=True, slots=True)
class FindingReport:
    """What a rule found about one field of a spec; errors prevent the launch. docs/preflight.md lists the rules."""

    rule: Annotated[str, Field(description="Id of the rule, which stays.")]
    level: Level
    field: Annotated[str, Field(description="Dotted name of the field, such as `parameters.epochs`.")]
    message: str
    hint: Annotated[str, Field(description="What is allowed, or what to do; may be empty.")]
    source: Annotated[str, Field(description="Where the rule comes from, or who reports it.")]
    fix: Annotated[
        Mapping[str, Scalar | None],
        Field(description="Fields by dotted name with the values that would fix them; null removes a field."),
    ]


def report_of(finding: Finding, call: ApiCall) -> FindingReport:
    """A finding, in the language that the program asks for."""
    message, hint = call.say(finding.message), call.say(finding.hint)
    fix = dict(finding.fix)
    return FindingReport(finding.rule, finding.level, finding.field, message, hint, finding.source, fix)
