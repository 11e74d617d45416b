"""A query for a job's events: filters, language, order and one page."""

from collections.abc import Sequence
from dataclasses import dataclass

from aisbench_sandbox.events import PlatformEvent
from aisbench_sandbox.service.state import parameters


@dataclass(frozen=True, slots=True)
class EventSearch:
    """One query. `offset` counts events, or pages if it `counts_pages`; times are in ms, and given together."""

    offset: int
    limit: int
    order: str
    language: str
    level: str = ""
    source: str = ""
    pattern: str = ""
    start_time: int | None = None
    end_time: int | None = None
    counts_pages: bool = False

    def find_matching(self, events: Sequence[PlatformEvent]) -> list[PlatformEvent]:
        """All matching events, in order."""
        selected = [event for event in events if self._is_match(event)]
        # Events of the same millisecond are in the order of their recording.
        return selected[::-1] if self.order == "desc" else selected

    def page(self, matching: Sequence[PlatformEvent]) -> Sequence[PlatformEvent]:
        """The events of the requested page."""
        return parameters.page_of(matching, self.offset, self.limit, counts_pages=self.counts_pages)

    def _is_match(self, event: PlatformEvent) -> bool:
        return (
            self.level in ("", event.level)
            and self.source in ("", event.source)
            and self.pattern in event.message(self.language)
            and (self.start_time is None or event.at >= self.start_time)
            and (self.end_time is None or event.at <= self.end_time)
        )
