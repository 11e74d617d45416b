"""Changes: launch a run once per idempotency key, and stop one."""

import re
from http import HTTPStatus
from typing import Annotated

from pydantic import Field

from aisbench_core.api.endpoint import PREFIX, Answered, ApiCall, RequestHeader
from aisbench_core.api.problems import ApiError, KeyReused
from aisbench_core.messages import Message
from aisbench_core.model import Frozen, Run, RunSpec
from aisbench_core.preflight.rule import subject_of

KEY = RequestHeader("Idempotency-Key", r"^[!-~]{1,200}$", required=True)


class LaunchRequest(Frozen):
    """A spec, and the profile of its region."""

    spec: RunSpec
    profile: Annotated[str, Field(max_length=200, description="Default: the settings'.")] = ""


def launch(call: ApiCall) -> Answered:
    """Launch a run: 201. The same key again answers the same run: 200."""
    request: LaunchRequest = call.body
    token = _token(call)
    earlier = call.core.ledger.launched_with(token)
    run = earlier or call.core.runs.launch(request.spec, request.profile, call.actor, token)
    _require_same(call, run, request)
    status = HTTPStatus.OK if earlier else HTTPStatus.CREATED
    return Answered(run, status, {"Location": f"{PREFIX}/runs/{run.run_id}"})


def stop(call: ApiCall) -> Run:
    """Request the end of a run; one that has ended stays as it is."""
    core = call.core
    return core.runs.stop(core.ledger.get(call.path["run_id"]).run_id, call.actor)


def _token(call: ApiCall) -> str:
    """The ledger's token of a key. Keys of other names are other keys: nobody finds another's run by guessing one."""
    key = call.headers.get(KEY.name, "")
    if not re.fullmatch(KEY.pattern, key):
        raise ApiError(
            Message("the header {header} is missing or not 1 to 200 visible characters", header=KEY.name),
            Message("send a new random value for each launch, and the same one when you try again"),
        )
    return f"api/{call.token.name}/{key}"


def _require_same(call: ApiCall, run: Run, request: LaunchRequest) -> None:
    """Raises KeyReused if the key's run is of another spec, as happens when a key is not random."""
    core = call.core
    profile = core.regions.profile(request.profile)
    if run.profile != profile.name or run.spec != subject_of(request.spec, profile, core.workloads).spec:
        raise KeyReused(
            Message("this {header} launched another spec as run {run_id}", header=KEY.name, run_id=run.run_id),
            Message("send a new random value for each launch, and the same one when you try again"),
        )
