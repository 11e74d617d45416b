"""Changes of runs: launch one once per idempotency key, stop one, and collect its results again."""

from http import HTTPStatus
from typing import Annotated

from pydantic import Field

from aisbench_core.base.messages import Message
from aisbench_core.domain.preflight.rule import subject_of
from aisbench_core.interfaces.api.endpoint import PREFIX, Answered, ApiCall
from aisbench_core.interfaces.api.idempotency import KEY, launch_token, require_same
from aisbench_core.model import Frozen, Run, RunSpec

ProfileName = Annotated[str, Field(max_length=200, description="Default: the settings'.")]


class LaunchRequest(Frozen):
    """A spec, and the profile of its region."""

    spec: RunSpec
    profile: ProfileName = ""


def launch_run(call: ApiCall) -> Answered:
    """Launch a run: 201. The same key again answers the same run: 200."""
    request: LaunchRequest = call.body
    token = launch_token(call)
    earlier = call.core.ledger.launched_with(token)
    run = earlier or call.core.runs.launch(request.spec, request.profile, call.actor, token)
    used = Message("this {header} launched another spec as run {run_id}", header=KEY.name, run_id=run.run_id)
    require_same(used, same=_is_of(call, run, request))
    status = HTTPStatus.OK if earlier else HTTPStatus.CREATED
    return Answered(run, status, {"Location": f"{PREFIX}/runs/{run.run_id}"})


def stop_run(call: ApiCall) -> Run:
    """Request the end of a run; one that has ended stays as it is."""
    core = call.core
    return core.runs.stop(core.ledger.get(call.path["run_id"]).run_id, call.actor)


def collect_run(call: ApiCall) -> Run:
    """Collect a failed run's results once more."""
    core = call.core
    return core.runs.collect_again(core.ledger.get(call.path["run_id"]).run_id, call.actor)


def _is_of(call: ApiCall, run: Run, request: LaunchRequest) -> bool:
    core = call.core
    profile = core.regions.profile(request.profile)
    return run.profile == profile.name and run.spec == subject_of(request.spec, profile, core.workloads).spec
