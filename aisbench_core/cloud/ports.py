"""The interface to a cloud: an object store and a training service.

Both raise only CloudUnavailable (retry later), the CloudRejected family (do not retry) and, if a package that an
adapter needs is not installed, ConfigError. The contract of each method is its docstring here and `tests/contract/`,
which runs against every implementation.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from aisbench_core.config.settings import Profile
from aisbench_core.model import (
    Algorithm,
    Api,
    DiagnosisTask,
    DirectoryPage,
    Engine,
    EventLanguage,
    Flavor,
    ImageVersion,
    JobDiagnosis,
    JobEvent,
    JobRequest,
    JobStage,
    JobStatus,
    JobTask,
    MetricSample,
    Organisation,
    Pool,
    Quota,
    Repository,
    SubscribedAlgorithm,
    WaitingJob,
)

OnProgress = Callable[[int, int], None]
"""Called with (done, total) after each object, from any thread; must return quickly."""


@dataclass(frozen=True, slots=True)
class ObjectStat:
    """An object: its path /bucket/key, size in bytes and ETag without quotes (the MD5 after a single PUT)."""

    path: str
    size: int
    etag: str


class ObjectStore(Protocol):
    """OBS. Paths are `/bucket/key`; those of directories end with `/`."""

    def put(self, path: str, source: Path | bytes) -> ObjectStat:
        """Store an object, replacing any previous one."""

    def put_many(self, pairs: Sequence[tuple[str, Path]], on_progress: OnProgress) -> None:
        """Store many files concurrently; the first failure is raised once the running uploads have ended."""

    def get(self, path: str, target: Path) -> None:
        """Download an object to a file, which only appears when it is complete. CloudNotFound if it is missing."""

    def read(self, path: str, start: int = 0) -> bytes:
        """The object's bytes from `start` on; empty if that is at or past its end. CloudNotFound if it is missing."""

    def read_range(self, path: str, start: int, size: int) -> bytes:
        """At most `size` > 0 bytes from `start` on; empty if that is at or past the end. CloudNotFound if missing."""

    def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        """The contents of many small objects, read concurrently; missing ones are left out."""

    def list(self, prefix: str) -> Sequence[ObjectStat]:
        """All objects whose path starts with `prefix`, in key order. CloudNotFound if the bucket is missing."""

    def pages(self, prefix: str) -> Iterator[Sequence[ObjectStat]]:
        """The objects of `list` in pages of at most 1000, each requested when it is needed.

        Objects of earlier pages may be deleted meanwhile."""

    def first(self, prefix: str, most: int) -> Sequence[ObjectStat]:
        """The first `most` <= 1000 objects of `list`, by one request."""

    def directory(self, path: str, most: int, after: str = "") -> DirectoryPage:
        """The first `most` <= 1000 entries directly inside a directory (or behind the path `after`), by one request.

        Objects below are not listed, so the size of the bucket does not matter. The empty object with which consoles
        create a directory is no entry of it; a directory without objects is empty. CloudNotFound if the bucket is
        missing."""

    def location(self, bucket: str) -> str:
        """The region of a bucket; empty if unknown. CloudNotFound if it is missing."""

    def head(self, path: str) -> ObjectStat | None:
        """Size and ETag of an object; None if it is missing."""

    def copy(self, path: str, target: str) -> None:
        """Copy an object of any size within OBS. CloudNotFound if it is missing."""

    def delete(self, path: str) -> None:
        """Remove an object, if it exists."""

    def delete_many(self, paths: Sequence[str]) -> None:
        """Remove objects of one bucket, by a request for each 1000; missing ones are no error.

        Raises CloudRejected, naming the first of them, if OBS keeps some; others may be gone then."""

    def make_directory(self, path: str) -> None:
        """Create a directory (a path that ends with `/`) as an empty object, so that jobs see it."""


class TrainingService(Protocol):
    """ModelArts training jobs."""

    def create(self, job: JobRequest) -> JobStatus:
        """Create the job. Not idempotent: call `find` first."""

    def find(self, name: str) -> JobStatus | None:
        """The newest job with exactly this name, or None."""

    def list_by_name(self, name: str) -> Sequence[JobStatus]:
        """Every job with exactly this name, newest first; every version, if jobs have versions."""

    def status(self, job_ids: Iterable[str], since: datetime) -> Mapping[str, JobStatus]:
        """Many jobs, by as few list calls as possible (pages of 50, newest first).

        `since`: none of them was created before. Jobs beyond the first pages are left out: use `detail` for them."""

    def active(self) -> Sequence[JobStatus]:
        """Jobs of this workspace that have not ended, newest first; at most some hundred of them."""

    def detail(self, job_id: str) -> JobStatus:
        """One job with its message and exit codes. CloudNotFound if it is gone."""

    def describe(self, job_id: str) -> Mapping[str, Any]:
        """One job in the API's own words, with what it was created from. CloudNotFound if it is gone."""

    def stop(self, job_id: str) -> None:
        """Ask the job to end; does nothing if it has ended or is gone."""

    def delete(self, job_id: str) -> None:
        """Remove the job's record, if it exists."""

    def set_priority(self, job_id: str, priority: int) -> int | None:
        """Change the priority (1 to 3) of a job that waits in a dedicated pool; returns the one it had.

        None, and no request, if the API cannot change priorities. CloudRejected when the account may not set this one;
        CloudUnavailable when the job no longer waits, too: the API has no code of its own for that."""

    def log_paths(self, job: JobStatus, log_path: str) -> Mapping[int, str]:
        """The path of each node's log object below the run's log directory, by node index."""

    def metrics(self, job_id: str, task: str, start: datetime) -> Sequence[MetricSample]:
        """The task's per-minute samples, the first of them at `start`; without minutes that were not measured."""

    def events(
        self, job_id: str, since: datetime | None = None, language: EventLanguage = EventLanguage.ENGLISH
    ) -> Sequence[JobEvent]:
        """The job's events, oldest first; all of them, or those at and after `since`. Empty in APIs without events."""

    def stages(self, job_id: str) -> Sequence[JobStage]:
        """The stages of all attempts so far, in their order; empty in APIs without stages."""

    def tasks(self, job_id: str, attempt: int = 0) -> Sequence[JobTask]:
        """An attempt's tasks and nodes; attempts count from 1, 0 is the last one. Empty in APIs without tasks."""

    def diagnosis(self, job_id: str) -> JobDiagnosis | None:
        """What the platform found in the job's log; None if the API or the region offers no diagnosis, or not of it."""

    def request_diagnosis(self, job_id: str) -> str | None:
        """Start a diagnosis task of a job; returns its id, None if the API or the region offers none, or not of it."""

    def diagnosis_tasks(self, job_id: str) -> Sequence[DiagnosisTask]:
        """The newest diagnosis task of each kind; empty in APIs and regions without any."""

    def flavors(self) -> Sequence[Flavor]:
        """The instance types that training jobs can use."""

    def engines(self) -> Sequence[Engine]:
        """The preset images."""

    def pools(self) -> Sequence[Pool] | None:
        """The dedicated pools that training jobs can use; None if the API cannot list them."""

    def list_waiting(self, pool_id: str) -> Sequence[WaitingJob] | None:
        """The first 500 jobs in the queue of a dedicated pool; None if the API cannot list them."""

    def quotas(self) -> Sequence[Quota] | None:
        """How many jobs the project may have; None if the API cannot tell."""

    def algorithms(self) -> Sequence[Algorithm] | None:
        """The newest 500 algorithms of the workspace, newest first; None if the API has none."""

    def algorithm(self, algorithm_id: str) -> Algorithm:
        """One algorithm. CloudNotFound if it is missing, CloudRejected if the API has none."""

    def create_algorithm(self, job: JobRequest) -> Algorithm:
        """Create an algorithm with the code, engine, parameters and names of inputs and outputs of this job."""

    def delete_algorithm(self, algorithm_id: str) -> None:
        """Delete an algorithm, if it exists; jobs that were created from it stay."""

    def subscribed_algorithms(self) -> Sequence[SubscribedAlgorithm] | None:
        """All versions of the 50 newest subscriptions, newest first; None if the API has none."""

    def subscribed_versions(self, subscription_id: str) -> Sequence[SubscribedAlgorithm]:
        """The versions of one subscription. CloudNotFound if it is missing, CloudRejected if the API has none."""


class ImageRegistry(Protocol):
    """SWR, which keeps images. Every method raises ConfigError if the profile does not say where that is."""

    def organisations(self) -> Sequence[Organisation]:
        """The organisations that the account may read."""

    def repositories(self, organisation: str) -> Sequence[Repository]:
        """The 1000 repositories of an organisation that changed last, newest first."""

    def versions(self, organisation: str, repository: str) -> Sequence[ImageVersion]:
        """The 1000 newest versions of an image, newest first. CloudNotFound if it is missing."""

    def version(self, organisation: str, repository: str, tag: str) -> ImageVersion:
        """What a tag names now. CloudNotFound if it is missing."""


@dataclass(frozen=True, slots=True)
class Cloud:
    """A profile and the services that it leads to.

    `clock_ahead`: the region's clock less this machine's, ± 1 s; None while it is not known."""

    profile: Profile
    objects: ObjectStore
    training: TrainingService
    images: ImageRegistry
    clock_ahead: Callable[[], timedelta | None] = lambda: None


class Connect(Protocol):
    """Gives the cloud of a profile, by name. Raises ConfigError."""

    def __call__(self, profile: str, api: Api | None = None, /) -> Cloud:
        """`api`: the one that a run was launched with; None means the profile's own."""
