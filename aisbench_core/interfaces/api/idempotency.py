"""Launches that happen once however often they are sent: a key for each, which the client makes."""

import re

from aisbench_core.base.messages import Message
from aisbench_core.interfaces.api.endpoint import ApiCall, RequestHeader
from aisbench_core.interfaces.api.problems import ApiError, KeyReused

KEY = RequestHeader("Idempotency-Key", r"^[!-~]{1,200}$", required=True)
HINT = Message("send a new random value for each launch, and the same one when you try again")


def launch_token(call: ApiCall) -> str:
    """The ledger's token of a key. Keys of other names are other keys: nobody finds another's run by guessing one.

    Raises ApiError without a key."""
    key = call.headers.get(KEY.name, "")
    if not re.fullmatch(KEY.pattern, key):
        header = Message("the header {header} is missing or not 1 to 200 visible characters", header=KEY.name)
        raise ApiError(header, HINT)
    return f"api/{call.token.name}/{key}"


def require_same(used: Message, *, same: bool) -> None:
    """Raises KeyReused if the key launched something else before, as `used` says: then it is not random."""
    if not same:
        raise KeyReused(used, HINT)
