"""Algorithms of the project, by API v2."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import islice

from huaweicloudsdkmodelarts import v1 as sdk

from aisbench_core.base.errors import CloudNotFound
from aisbench_core.base.messages import Message
from aisbench_core.cloud.job_fields import v2_algorithm
from aisbench_core.cloud.modelarts_client import Caller, ignore_reply
from aisbench_core.cloud.modelarts_v2.replies import Json, to_moment
from aisbench_core.model import Algorithm, JobRequest

PAGE = 50  # the API's maximum
MOST = 500


def list_algorithms(caller: Caller, workspace_id: str) -> Sequence[Algorithm]:
    """The newest algorithms of the workspace, newest first."""
    found: list[Algorithm] = []
    for offset in range(0, MOST, PAGE):  # the SDK: "the offset of the list", in entries
        request = sdk.ListAlgorithmsRequest(
            offset=offset, limit=PAGE, sort_by="create_time", order="desc", workspace_id=workspace_id
        )
        call = caller.sdk.list_algorithms_invoker(request)
        page = caller.read(Message("list algorithms"), call, _parse_page)
        found += page
        if len(page) < PAGE:
            break
    return list({algorithm.algorithm_id: algorithm for algorithm in islice(found, MOST)}.values())


def show_algorithm(caller: Caller, algorithm_id: str) -> Algorithm:
    """One algorithm. Raises CloudNotFound."""
    call = caller.sdk.show_algorithm_by_uuid_invoker(sdk.ShowAlgorithmByUuidRequest(algorithm_id=algorithm_id))
    return caller.read(Message("get algorithm {id}", id=algorithm_id), call, parse_algorithm)


def create_algorithm(caller: Caller, job: JobRequest, workspace_id: str) -> Algorithm:
    """Create an algorithm of what the job would run."""
    call = caller.sdk.create_algorithm_invoker(sdk.CreateAlgorithmRequest(body=v2_algorithm(job, workspace_id)))
    return caller.write(Message("create algorithm {name}", name=job.name), call, parse_algorithm)


def delete_algorithm(caller: Caller, algorithm_id: str) -> None:
    """Delete an algorithm, if it exists."""
    call = caller.sdk.delete_algorithm_invoker(sdk.DeleteAlgorithmRequest(algorithm_id=algorithm_id))
    with suppress(CloudNotFound):
        caller.write(Message("delete algorithm {id}", id=algorithm_id), call, ignore_reply)


def parse_algorithm(reply: Json) -> Algorithm:
    """One algorithm, as in the replies of create, show and list. Raises like `replies`."""
    metadata, config = reply["metadata"], reply.get("job_config") or {}
    engine, usable = config.get("engine") or {}, metadata.get("is_valid")
    preset = " ".join(filter(None, (engine.get("engine_name"), engine.get("engine_version"))))
    return Algorithm(
        algorithm_id=str(metadata["id"]),
        name=str(metadata["name"]),
        description=str(metadata.get("description") or ""),
        created_at=to_moment(metadata.get("create_time")),
        usable=None if usable is None else bool(usable),
        code_path=str(config.get("code_dir") or ""),
        boot_path=str(config.get("boot_file") or ""),
        command=str(config.get("command") or ""),
        engine=str(engine.get("image_url") or preset),
        parameters={str(item["name"]): str(item.get("value") or "") for item in config.get("parameters") or ()},
        inputs=_list_names(config.get("inputs")),
        outputs=_list_names(config.get("outputs")),
    )


def _parse_page(reply: Json) -> list[Algorithm]:
    return [parse_algorithm(item) for item in reply.get("items") or ()]


def _list_names(channels: Sequence[Json] | None) -> tuple[str, ...]:
    return tuple(str(channel["name"]) for channel in channels or ())
