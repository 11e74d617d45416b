"""The services that the API's calls use, and the type of its routes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from aisbench_sandbox.capacity import DedicatedPool
from aisbench_sandbox.jobs import Clock
from aisbench_sandbox.service.state.diagnosis_tasks import DiagnosisTasks
from aisbench_sandbox.service.state.experiments import Experiments
from aisbench_sandbox.service.state.images import Images
from aisbench_sandbox.service.state.legacy_jobs import LegacyJobs
from aisbench_sandbox.service.state.quotas import Quotas
from aisbench_sandbox.service.state.saved_algorithms import SavedAlgorithms
from aisbench_sandbox.service.state.training_jobs import TrainingJobs


@dataclass(frozen=True, slots=True)
class Services:
    """The services behind the routes. `counts_pages`: whether offsets count pages instead of entries."""

    jobs: TrainingJobs
    quotas: Quotas
    experiments: Experiments
    algorithms: SavedAlgorithms
    images: Images
    diagnoses: DiagnosisTasks
    legacy: LegacyJobs
    pools: Callable[[], Sequence[DedicatedPool]]
    clock: Clock
    counts_pages: Callable[[], bool]

    def now(self) -> int:
        """The time in ms since the epoch."""
        return self.jobs.jobs.now()


Call = Callable[[Services, Request], Response]
"""The handler of one route; it runs in a worker thread."""

Routes = Sequence[tuple[str, str, Call]]
"""Method, path below /v2/{project_id}/ (or /v1/…), and handler."""
