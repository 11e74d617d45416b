"""Queues of dedicated pools and quotas of the project, which API v1 has no calls for: it uses these of v2."""

from collections.abc import Sequence

from huaweicloudsdkmodelarts import v1 as sdk

from aisbench_core.base.messages import Message
from aisbench_core.cloud.modelarts_client import Caller
from aisbench_core.cloud.modelarts_v2 import replies
from aisbench_core.model import Quota, WaitingJob

MOST_WAITING = 500  # the most jobs that one request returns


def list_waiting(caller: Caller, pool_id: str) -> Sequence[WaitingJob]:
    """Training jobs in the queue of a pool, by one request."""
    request = sdk.ListWorkloadsRequest(pool_name=pool_id, type="train", status="Queue", limit=MOST_WAITING)
    call = caller.sdk.list_workloads_invoker(request)
    return caller.read(Message("list the queue of pool {pool}", pool=pool_id), call, replies.waiting_jobs)


def list_quotas(caller: Caller) -> Sequence[Quota]:
    """The project's quotas of training jobs."""
    call = caller.sdk.show_training_quotas_invoker(sdk.ShowTrainingQuotasRequest())
    return caller.read(Message("list quotas"), call, replies.parse_quotas)
