"""Algorithms that the account has subscribed to in AI Gallery.

ModelArts' FAQ (modelarts_05_0297) names both requests, and of their replies `subscription_id` and `version_id` only.
The SDK has no method for them, and jobs take `version_id` as `item_version_id`."""

from collections.abc import Sequence

from aisbench_core.base.errors import CloudNotFound
from aisbench_core.base.messages import Message
from aisbench_core.cloud.modelarts_client import Caller
from aisbench_core.cloud.modelarts_v2.replies import Json
from aisbench_core.model import SubscribedAlgorithm

MOST = 50
_ALL = "/v1/aihub/subscriptions"


def list_subscribed(caller: Caller) -> Sequence[SubscribedAlgorithm]:
    """All versions of the newest subscriptions, newest first; a request for each subscription. A region without AI
    Gallery has none."""
    query = {"content_types": "algo", "offset": 0, "limit": MOST, "sort_dir": "desc"}
    call = caller.request("GET", _ALL, {}, query)
    try:
        entries = caller.read(Message("list subscriptions"), call, _find_entries)
    except CloudNotFound:
        return []
    return [
        version
        for entry in entries
        for version in list_versions(caller, str(entry["subscription_id"]), _get_name(entry))
    ]


def list_versions(caller: Caller, subscription_id: str, name: str = "") -> Sequence[SubscribedAlgorithm]:
    """The versions of one subscription. Raises CloudNotFound."""

    def parse_reply(reply: Json) -> Sequence[SubscribedAlgorithm]:
        return [_parse_version(entry, subscription_id, name) for entry in _find_entries(reply)]

    call = caller.request("GET", f"{_ALL}/{{subscription}}/versions", {"subscription": subscription_id})
    return caller.read(Message("list the versions of subscription {id}", id=subscription_id), call, parse_reply)


def _find_entries(reply: Json) -> list[Json]:
    # The name of the list is not documented; it is the only one.
    lists = [value for value in reply.values() if isinstance(value, list)]
    if len(lists) > 1:
        raise ValueError(f"{len(lists)} lists: {', '.join(reply)}")
    return lists[0] if lists else []


def _parse_version(entry: Json, subscription_id: str, name: str) -> SubscribedAlgorithm:
    version = str(entry.get("version") or entry.get("version_num") or "")
    return SubscribedAlgorithm(subscription_id, str(entry["version_id"]), name or _get_name(entry), version)


def _get_name(entry: Json) -> str:
    return str(entry.get("title") or entry.get("name") or "")
