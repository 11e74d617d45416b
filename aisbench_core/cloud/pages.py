"""Paging through lists of the cloud."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TypeVar

from aisbench_core.model import JobStatus

Item = TypeVar("Item")

MOST_PAGES = 1000  # in case a service repeats a page for ever
CLOCK_SKEW = timedelta(minutes=15)  # requests signed with a clock further off are refused


def pages(page: Callable[[int], Sequence[Item]], size: int, most: int = MOST_PAGES) -> Iterator[Sequence[Item]]:
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
