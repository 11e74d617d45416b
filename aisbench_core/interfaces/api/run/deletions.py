"""Deleting runs that have ended."""

from typing import Annotated

from pydantic import Field

from aisbench_core.interfaces.api.endpoint import ApiCall
from aisbench_core.model import Frozen
from aisbench_core.store.ledger.deletions import Deletion


class ReasonQuery(Frozen):
    """Why a run is deleted."""

    reason: Annotated[
        str, Field(max_length=2000, description="Needed; at most 500 letters. It stays beside the run.")
    ] = ""


def delete_run(call: ApiCall) -> Deletion:
    """Take an ended run out of lists and statistics; the follower removes all but its record."""
    core, query = call.core, call.query
    return core.deletions.delete(call.path["run_id"], query.reason, call.actor)
