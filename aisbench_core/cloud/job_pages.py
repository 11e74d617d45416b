"""The list of jobs, page by page."""

from collections.abc import Iterator, Sequence
from typing import Any

from huaweicloudsdkmodelarts.v1 import JobSearches, ListTrainingJobsRequest

from aisbench_core.cloud import replies
from aisbench_core.cloud.modelarts_client import Caller
from aisbench_core.model import JobStatus

PAGE = 50
"""The most that one call gives."""

MOST_PAGES = 1000


class JobPages:
    """Reads the list whichever way the region counts its pages.

    The API's text says that `offset` counts pages, the SDK's that it counts jobs. So the first list that has a second
    page asks for offset 1: nearly the same jobs again mean that jobs are counted. The answer is kept."""

    def __init__(self, caller: Caller, workspace_id: str) -> None:
        self._caller = caller
        self._workspace_id = workspace_id
        self._step: int | None = None

    def newest_first(self, operation: str, filters: Sequence[Any] = ()) -> Iterator[list[JobStatus]]:
        """Pages of jobs, newest first; the next page is asked for when the reader wants it."""
        first = self._search(operation, 0, filters)
        yield first
        if len(first) < PAGE:
            return
        for number in range(1, MOST_PAGES):
            page = self._page(operation, number, filters, first)
            yield page
            if len(page) < PAGE:
                return

    def _page(self, operation: str, number: int, filters: Sequence[Any], first: Sequence[JobStatus]) -> list[JobStatus]:
        if self._step is None:
            page = self._search(operation, 1, filters)
            known = {job.job_id for job in first}
            again = sum(job.job_id in known for job in page)
            self._step = PAGE if again > PAGE // 2 else 1
            if self._step == 1:
                return page
        return self._search(operation, number * self._step, filters)

    def _search(self, operation: str, offset: int, filters: Sequence[Any]) -> list[JobStatus]:
        body = JobSearches(
            offset=offset,
            limit=PAGE,
            sort_by="create_time",
            order="desc",
            workspace_id=self._workspace_id,
            filters=list(filters) or None,
        )
        call = self._caller.sdk.list_training_jobs_invoker(ListTrainingJobsRequest(body=body))
        return self._caller.read(operation, call, _jobs)


def _jobs(reply: Any) -> list[JobStatus]:
    return [replies.job_status(item) for item in reply.get("items") or ()]
