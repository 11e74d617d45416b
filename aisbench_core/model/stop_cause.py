"""Why the job of a run was stopped."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from aisbench_core.base.messages import Message
from aisbench_core.base.messages.stored import from_data, to_data


class StopKind(StrEnum):
    """Who or what stopped a job."""

    PERSON = "person"
    SEARCH = "search"
    STALL = "stall"


@dataclass(frozen=True, slots=True)
class StopCause:
    """Why a job was stopped. `value`: the person's name, the search's reason, or minutes without a sign of life."""

    kind: StopKind
    value: str | int
    """Minutes, where it is a number."""

    @property
    def sentence(self) -> Message:
        """In words."""
        match self.kind:
            case StopKind.PERSON:
                return Message("stopped by {who}", who=self.value)
            case StopKind.SEARCH:
                return Message("stopped by the search: {search_reason}", search_reason=self.value)
            case StopKind.STALL:
                return Message("no sign of life for {stalled_minutes} minutes", stalled_minutes=self.value)

    def to_json(self) -> str:
        """As the ledger stores it; `data` is what the value is translated from."""
        data = to_data(self.value) if isinstance(self.value, str) else None
        return json.dumps({"kind": self.kind, "value": self.value, "data": data}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`; a warehouse has no `data`."""
        stored = json.loads(text)
        value = stored["value"]
        return cls(StopKind(stored["kind"]), from_data(value, stored.get("data")) if isinstance(value, str) else value)
