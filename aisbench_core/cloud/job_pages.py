"""Paging through lists of the cloud: the list of jobs of API v2, and the searches in it."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import TypeVar

from aisbench_core.base.messages import Message
from aisbench_core.model import ENDED_PHASES, JobStatus, Phase

PAGE = 50  # the API's maximum
SPARE_PAGES = 3
ACTIVE_PAGES = 4
MOST_PAGES = 1000  # in case a service repeats a page for ever
CLOCK_SKEW = timedelta(minutes=15)  # requests signed with a clock further off are refused

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class JobFilter:
    """A filter of the list: `key` is like, or is in, the values."""

    key: str
    operator: str
    values: tuple[str, ...]


Search = Callable[[Message, int, Sequence[JobFilter]], list[JobStatus]]
"""Requests one page, newest first: (operation, offset, filters)."""


class JobPages:
    """Reads the list of jobs, whether the region's `offset` counts pages or jobs.

    The API reference says pages, the SDK reference says jobs. The first list with a second page requests offset 1: if
    it has mostly the same jobs as the first page, the region counts jobs. The answer is kept."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._step: int | None = None

    def find(self, name: str) -> JobStatus | None:
        """The newest job with exactly this name, or None."""
        return next(self._find_named(name), None)

    def list_by_name(self, name: str) -> Sequence[JobStatus]:
        """Every job with exactly this name, newest first."""
        return list(self._find_named(name))

    def status(self, job_ids: Iterable[str], since: datetime) -> Mapping[str, JobStatus]:
        """The jobs that are among the newest ones, by id."""
        ids = set(job_ids)
        return find_jobs(self._newest_first(Message("list jobs")), ids, since, PAGE, SPARE_PAGES) if ids else {}

    def active(self) -> Sequence[JobStatus]:
        """Jobs that have not ended, newest first; at most ACTIVE_PAGES pages of them."""
        active = JobFilter("phase", "in", tuple(str(phase) for phase in Phase if phase not in ENDED_PHASES))
        newest = islice(self._newest_first(Message("list active jobs"), [active]), ACTIVE_PAGES)
        return [job for page in newest for job in page if not job.has_ended]

    def _find_named(self, name: str) -> Iterator[JobStatus]:
        # The API has no filter for equality.
        like = JobFilter("name", "like", (name,))
        newest = self._newest_first(Message("find job {name}", name=name), [like])
        return (job for page in newest for job in page if job.name == name)

    def _newest_first(self, operation: Message, filters: Sequence[JobFilter] = ()) -> Iterator[Sequence[JobStatus]]:
        first = self._search(operation, 0, filters)

        def page(number: int) -> Sequence[JobStatus]:
            if number == 0:
                return first
            if self._step is None:
                second = self._search(operation, 1, filters)
                # New jobs may have moved some of the first page to the second one, but not half of them.
                again = {job.job_id for job in first} & {job.job_id for job in second}
                self._step = PAGE if len(again) > PAGE // 2 else 1
                if self._step == 1:
                    return second
            return self._search(operation, number * self._step, filters)

        return iter_pages(page, PAGE)


def iter_pages(page: Callable[[int], Sequence[Item]], size: int, most: int = MOST_PAGES) -> Iterator[Sequence[Item]]:
    """`page(0)`, `page(1)`, … until one has less than `size` items. A page is requested when the caller wants it."""
    for number in range(most):
        items = page(number)
        yield items
        if len(items) < size:
            return


def find_jobs(
    job_pages: Iterable[Sequence[JobStatus]], job_ids: Collection[str], since: datetime, size: int, spare: int
) -> dict[str, JobStatus]:
    """The jobs with these ids from pages of `size` jobs, newest first; none was created before `since`.

    Reads at most `spare` more pages than the jobs would fill, because other people's jobs are listed as well."""
    missing = set(job_ids)
    jobs: dict[str, JobStatus] = {}
    for page in islice(job_pages, math.ceil(len(missing) / size) + spare):
        jobs |= {job.job_id: job for job in page if job.job_id in missing}
        missing -= jobs.keys()
        oldest = page[-1].created_at if page else None
        if not missing or (oldest is not None and oldest < since - CLOCK_SKEW):
            break
    return jobs
