"""Decisions on launches that wait for an approval."""

from typing import Annotated

from pydantic import Field

from aisbench_core.interfaces.api.endpoint import ApiCall
from aisbench_core.interfaces.api.series.reports import SeriesDetails, details_of
from aisbench_core.model import Frozen, Run


class DeclineRequest(Frozen):
    """Why, for the person who asked."""

    reason: Annotated[str, Field(max_length=300, description="May be empty.")] = ""


def approve_run(call: ApiCall) -> Run:
    """Let a held run begin, whatever its budgets say."""
    return call.core.approvals.approve(call.path["run_id"], call.actor)


def decline_run(call: ApiCall) -> Run:
    """End a held run before it begins."""
    request: DeclineRequest = call.body
    return call.core.approvals.decline(call.path["run_id"], request.reason, call.actor)


def approve_series(call: ApiCall) -> SeriesDetails:
    """Let all cells of a held series be launched."""
    call.core.approvals.approve_series(call.path["series_id"], call.actor)
    return details_of(call.core.series.matrix(call.path["series_id"]))


def decline_series(call: ApiCall) -> SeriesDetails:
    """Cancel what a held series has not launched yet."""
    request: DeclineRequest = call.body
    call.core.approvals.decline_series(call.path["series_id"], request.reason, call.actor)
    return details_of(call.core.series.matrix(call.path["series_id"]))
