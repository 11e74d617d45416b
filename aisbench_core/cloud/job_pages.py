"""The list of jobs, page by page, and what is found by reading it."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from aisbench_core.messages import Message
from aisbench_core.model import ENDED_PHASES, JobStatus, Phase

PAGE = 50
"""The most that one call gives."""

MOST_PAGES = 1000

CLOCK_SKEW = timedelta(minutes=15)
"""How far the cloud's clock may be from ours; requests signed further off are refused."""

SPARE_PAGES = 3
"""How many pages of jobs that are not ours are read past; a job behind them is asked for by itself."""

ACTIVE_PAGES = 4


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs a list shows: those whose `key` is like, or is in, the values."""

    key: str
    operator: str
    values: tuple[str, ...]


Search = Callable[[Message, int, Sequence[JobFilter]], list[JobStatus]]
"""One page, newest first: the operation for errors, the API's `offset`, and which jobs."""


class JobPages:
    """Reads the list whichever way the region counts its pages.

    The API's text says that `offset` counts pages, the SDK's that it counts jobs. So the first list that has a second
    page asks for offset 1: nearly the same jobs again mean that jobs are counted. The answer is kept."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._step: int | None = None

    def find(self, name: str) -> JobStatus | None:
        """The job with exactly this name (the newest of several), or None."""
        return next(self._all_named(name), None)

    def named(self, name: str) -> Sequence[JobStatus]:
        """Every job with exactly this name, newest first."""
        return list(self._all_named(name))

    def status(self, job_ids: Iterable[str], since: datetime) -> Mapping[str, JobStatus]:
        """Many jobs at once, by as few list calls as possible. A job that the first pages do not hold is left out."""
        missing = set(job_ids)
        found: dict[str, JobStatus] = {}
        if not missing:
            return found
        most = math.ceil(len(missing) / PAGE) + SPARE_PAGES
        for page in islice(self._newest_first(Message("list jobs")), most):
            found |= {job.job_id: job for job in page if job.job_id in missing}
            missing -= found.keys()
            if not missing or _is_before(page, since - CLOCK_SKEW):
                break
        return found

    def active(self) -> Sequence[JobStatus]:
        """Jobs that have not ended, newest first; at most ACTIVE_PAGES pages of them."""
        phases = tuple(str(phase) for phase in Phase if phase not in ENDED_PHASES)
        pages = islice(
            self._newest_first(Message("list active jobs"), [JobFilter("phase", "in", phases)]), ACTIVE_PAGES
        )
        return [job for page in pages for job in page if not job.has_ended]

    def _all_named(self, name: str) -> Iterator[JobStatus]:
        like = [JobFilter("name", "like", (name,))]
        found = (job for page in self._newest_first(Message("find job {name}", name=name), like) for job in page)
        return (job for job in found if job.name == name)

    def _newest_first(self, operation: Message, filters: Sequence[JobFilter] = ()) -> Iterator[list[JobStatus]]:
        """Pages of jobs; the next one is asked for when the reader wants it."""
        first = self._search(operation, 0, filters)
        yield first
        if len(first) < PAGE:
            return
        for number in range(1, MOST_PAGES):
            page = self._page(operation, number, filters, first)
            yield page
            if len(page) < PAGE:
                return

    def _page(
        self, operation: Message, number: int, filters: Sequence[JobFilter], first: Sequence[JobStatus]
    ) -> list[JobStatus]:
        if self._step is None:
            page = self._search(operation, 1, filters)
            known = {job.job_id for job in first}
            again = sum(job.job_id in known for job in page)
            self._step = PAGE if again > PAGE // 2 else 1
            if self._step == 1:
                return page
        return self._search(operation, number * self._step, filters)


def _is_before(page: Sequence[JobStatus], moment: datetime) -> bool:
    oldest = page[-1].created_at if page else None
    return oldest is not None and oldest < moment
