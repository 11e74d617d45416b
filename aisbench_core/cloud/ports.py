"""What the product needs from a cloud: an object store and a training service.

Both raise only CloudUnavailable (try again later) and the CloudRejected family (give up, show the text); ConfigError
where a package that an adapter needs is not on this machine.
The contract of each method is its docstring and `tests/contract/`, which runs against every implementation.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from aisbench_core.model import (
    Engine,
    Flavor,
    JobEvent,
    JobRequest,
    JobStatus,
    LogPreview,
    MetricSample,
    Pool,
)

OnProgress = Callable[[int, int], None]
"""Called with (done, total) after each finished object; it must be quick and may be called from any thread."""


@dataclass(frozen=True, slots=True)
class ObjectStat:
    """One stored object: its path /bucket/key, size in bytes and ETag without quotes (MD5 for a single PUT)."""

    path: str
    size: int
    etag: str


class ObjectStore(Protocol):
    """OBS as we use it. Every path is absolute: `/bucket/key`; a directory's path ends with `/`."""

    def put(self, path: str, source: Path | bytes) -> ObjectStat:
        """Store one object, replacing what was there."""

    def put_many(self, pairs: Sequence[tuple[str, Path]], on_progress: OnProgress) -> None:
        """Store many files with bounded concurrency; the first failure is raised once the others have ended."""

    def get(self, path: str, target: Path) -> None:
        """Fetch one object into a file: wholly, or the file does not appear. CloudNotFound if it is not there."""

    def read(self, path: str, start: int = 0) -> bytes:
        """The object's bytes from `start` on; empty when `start` is at or past its end.

        Raises CloudNotFound if the object is not there."""

    def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        """The contents of many small objects, read with bounded concurrency; missing ones are left out."""

    def list(self, prefix: str) -> Sequence[ObjectStat]:
        """Every object whose path starts with `prefix`, all pages, in key order. Empty when there is none.

        Raises CloudNotFound if the bucket is not there."""

    def first(self, prefix: str, most: int) -> Sequence[ObjectStat]:
        """The first objects whose path starts with `prefix`, in key order, by one request; at most `most` <= 1000.

        Raises CloudNotFound if the bucket is not there."""

    def location(self, bucket: str) -> str:
        """The region that a bucket lies in; empty when the cloud does not say. CloudNotFound if it is not there."""

    def head(self, path: str) -> ObjectStat | None:
        """One object's facts, or None when it is not there."""

    def copy(self, path: str, target: str) -> None:
        """Copy one object to another path inside OBS. CloudNotFound if it is not there."""

    def delete(self, path: str) -> None:
        """Remove one object; one that is not there is fine."""

    def make_directory(self, path: str) -> None:
        """Make sure that a directory (a path that ends with `/`) can be seen by the job."""


class TrainingService(Protocol):
    """ModelArts training jobs as we use them."""

    def create(self, job: JobRequest) -> JobStatus:
        """Create the job. Not repeatable by itself: look with `find` first."""

    def find(self, name: str) -> JobStatus | None:
        """The job with exactly this name (the newest of several), or None."""

    def named(self, name: str) -> Sequence[JobStatus]:
        """Every job with exactly this name, newest first; where jobs have versions, each version of it."""

    def status(self, job_ids: Iterable[str], since: datetime) -> Mapping[str, JobStatus]:
        """Many jobs at once, by as few list calls as possible (50 jobs a page, newest first).

        `since`: none of them was created before. A job that the first pages do not hold is left out: ask `detail`."""

    def active(self) -> Sequence[JobStatus]:
        """Jobs of this workspace that have not ended, newest first; at most some hundred."""

    def detail(self, job_id: str) -> JobStatus:
        """One job with its message and exit codes. CloudNotFound if it is gone."""

    def stop(self, job_id: str) -> None:
        """Ask the job to end; one that has ended or is gone is fine."""

    def delete(self, job_id: str) -> None:
        """Remove the job's record; one that is gone is fine."""

    def log_preview(self, job_id: str, task: str) -> LogPreview:
        """The newest part of a task's log, also while no log object exists yet; empty when there is none."""

    def log_paths(self, job: JobStatus, log_path: str) -> Mapping[int, str]:
        """Where each node's log object is found, by node index, under the run's log directory."""

    def metrics(self, job_id: str, task: str, start: datetime) -> Sequence[MetricSample]:
        """The task's per-minute samples, the first of them at `start`; values that were not measured are left out."""

    def events(self, job_id: str) -> Sequence[JobEvent]:
        """All events of the job, oldest first."""

    def flavors(self) -> Sequence[Flavor]:
        """The instance types that training jobs can use."""

    def engines(self) -> Sequence[Engine]:
        """The preset images."""

    def pools(self) -> Sequence[Pool] | None:
        """The dedicated pools that training jobs can use; None where they cannot be asked for."""
