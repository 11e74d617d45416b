"""Dedicated pools, which jobs of both training APIs run in."""

from collections.abc import Sequence
from typing import Any

from huaweicloudsdkmodelarts.v1 import ListPoolsRequest

from aisbench_core.cloud.modelarts_client import Caller
from aisbench_core.cloud.modelarts_v2 import replies
from aisbench_core.messages import Message
from aisbench_core.model import Pool


def pools(caller: Caller, workspace_id: str) -> Sequence[Pool]:
    """Those of a workspace that training jobs can use."""
    call = caller.sdk.list_pools_invoker(ListPoolsRequest(workspace_id=workspace_id))
    return caller.read(Message("list pools"), call, _for_training)


def _for_training(reply: Any) -> list[Pool]:
    return [replies.pool(item) for item in reply.get("items") or () if replies.trains(item)]
