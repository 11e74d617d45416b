"""Why runs failed or hang."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from aisbench_core.interfaces.api.endpoint import ApiCall
from aisbench_core.model import FieldDifference, Scalar
from aisbench_core.running.diagnosing.cause import Cause, CauseSource, Confidence, FirstError, Situation


@dataclass(frozen=True, slots=True)
class CauseReport:
    """A probable cause. `rule`: the id of the rule that found it, see docs/diagnosis.md."""

    rule: str
    text: str
    advice: Annotated[str, Field(description="What to do.")]
    confidence: Confidence
    source: Annotated[CauseSource, Field(description="Where it was found.")]
    links: Annotated[Mapping[str, str], Field(description="Addresses of pages of manuals, by their titles.")]


@dataclass(frozen=True, slots=True)
class ExplanationReport:
    """Why a run failed or hangs. `cause` is null if it is unknown, or `situation` says that there is none to find."""

    run_id: str
    situation: Situation
    cause: CauseReport | None
    error: Annotated[FirstError | None, Field(description="The lines that it failed with.")]
    fixes: Annotated[
        Mapping[str, Scalar | None],
        Field(description="Fields of a corrected spec by dotted name; null removes a field."),
    ]
    changes: Annotated[Sequence[FieldDifference], Field(description="What these fixes change.")]


def explain_run(call: ApiCall) -> ExplanationReport:
    """Why a run failed or hangs: the first error, the probable cause, and what a corrected spec changes."""
    found = call.core.causes.explain(call.path["run_id"])
    cause = _to_report(found.cause, call) if found.cause else None
    return ExplanationReport(found.run_id, found.situation, cause, found.error, dict(found.fixes), found.changes)


def _to_report(cause: Cause, call: ApiCall) -> CauseReport:
    links = {call.say(link.title): link.url for link in cause.links}
    text, advice = call.say(cause.text), call.say(cause.advice)
    return CauseReport(cause.rule, text, advice, cause.confidence, cause.source, links)
