"""Algorithms of a region: list, show and delete them, and create one from a workload."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.cloud.ports import Connect, OnProgress
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import log_change
from aisbench_core.domain.access.server_files import require_open_files
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.model import Actor, Algorithm, JobRequest, RunSpec, SubscribedAlgorithm
from aisbench_core.running.code import files_beside, read_code, upload_code
from aisbench_core.store.run_folders import run_paths

SCRIPT = "ma-pre-start.sh"


@dataclass(frozen=True, slots=True)
class Algorithms:
    """Every method raises CloudError when the region does not answer or refuses, ConfigError without a usable profile.

    `connect` has the timeouts of uploads, `interactive` those for a person who waits."""

    workloads: Workloads
    connect: Connect
    interactive: Connect
    open_folders: Sequence[Path]
    shared_code: Sequence[Path]

    def all(self, profile: str) -> Sequence[Algorithm] | None:
        """The newest algorithms, newest first; None if the API of the profile has none."""
        return self.interactive(profile).training.algorithms()

    def show(self, profile: str, algorithm_id: str) -> Algorithm:
        """One algorithm. Raises CloudNotFound."""
        return self.interactive(profile).training.algorithm(algorithm_id)

    def list_subscribed(self, profile: str) -> Sequence[SubscribedAlgorithm] | None:
        """The versions of the newest subscribed algorithms, newest first; None if the API of the profile has none."""
        return self.interactive(profile).training.subscribed_algorithms()

    @permitted
    def create(self, spec: RunSpec, profile: str, actor: Actor, on_progress: OnProgress) -> Algorithm:
        """Upload the spec's code, and create an algorithm that runs it as the spec says.

        Raises SpecError if the spec has no code, ConfigError if the code cannot be read."""
        require_open_files(spec, actor, self.open_folders)
        spec = self.workloads.fill_spec(spec)
        if not spec.code_dir:
            problem = Problem("code_dir", Message("an algorithm needs code of its own"), "")
            raise SpecError(Message("algorithm"), [problem])
        cloud = self.connect(profile)
        if cloud.training.algorithms() is None:  # before the code is uploaded
            problem = Problem("api", Message("the API of this profile has no algorithms"), cloud.profile.api)
            raise SpecError(Message("algorithm"), [problem])
        name = spec.name or spec.workload
        log_change(actor, f"create algorithm {name} in profile {profile}")
        with TemporaryDirectory() as folder:
            beside = files_beside(spec, Path(folder, SCRIPT))
            code = read_code(spec, self.workloads.get(spec.workload), beside, self.shared_code)
            path = run_paths.code_path(spec, code.sha256, cloud.profile)
            upload_code(cloud.objects, code, path, run_paths.shared_path(cloud.profile), on_progress)
        return cloud.training.create_algorithm(_build_request(name, spec, path))

    @permitted
    def delete(self, profile: str, algorithm: Algorithm, actor: Actor) -> None:
        """Delete an algorithm; its code stays in OBS, and jobs that were created from it stay."""
        log_change(actor, f"delete algorithm {algorithm.name} ({algorithm.algorithm_id}) of profile {profile}")
        self.interactive(profile).training.delete_algorithm(algorithm.algorithm_id)


def _build_request(name: str, spec: RunSpec, code_path: str) -> JobRequest:
    return JobRequest(
        name=name,
        spec=spec,
        code_path=code_path,
        boot_path=code_path + spec.boot_file if spec.boot_file else "",
        log_path="",
        inputs=spec.inputs,
        outputs=spec.outputs,
        environments={},
        parameters={name: str(value) for name, value in spec.parameters.items()},
    )
