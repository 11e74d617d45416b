"""Runs a workload as a job of a sandbox, through the cloud adapters: upload, create, wait, read what it wrote."""

import threading
import time
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from aisbench_core.cloud.modelarts_v2.service import ModelArtsV2
from aisbench_core.cloud.obs.objects import ObsStore
from aisbench_core.config.credentials import find_credentials
from aisbench_core.config.settings import Profile, Settings
from aisbench_core.domain.authoring.workloads import Workload
from aisbench_core.domain.summaries.event_files import is_event_file
from aisbench_core.model import JobRequest, JobStatus, RunSpec
from tests.sandbox_process import SandboxProcess

LONGEST_SECONDS = 180.0


class Region:
    """A sandbox as the product's adapters see it."""

    def __init__(self, sandbox: SandboxProcess) -> None:
        profile = Profile.model_validate({"name": "sandbox", **sandbox.profile})
        credentials = find_credentials(Settings(), profile, {})
        self.bucket = profile.bucket
        self.objects = ObsStore(profile, credentials, transfers=4, request_seconds=30)
        self.training = ModelArtsV2(profile, credentials, request_seconds=30)

    def run(self, workload: Workload, spec: RunSpec) -> tuple[JobStatus, str]:
        """Run the spec to its end: the job's last status, and the OBS directory it wrote to."""
        spec = workload.fill_spec(spec)
        start = f"/{self.bucket}/{spec.name}"
        self._upload(workload, Path(spec.code_dir), f"{start}/code/")
        self.objects.make_directory(f"{start}/out/")
        created = self.training.create(
            JobRequest(
                name=spec.name,
                spec=spec,
                code_path=f"{start}/code/",
                boot_path=f"{start}/code/{spec.boot_file}",
                log_path=f"{start}/log/",
                inputs=spec.inputs,
                outputs=tuple(channel.model_copy(update={"path": f"{start}/out/"}) for channel in spec.outputs),
                environments=spec.environments,
                parameters={name: str(value) for name, value in spec.parameters.items()},
            )
        )
        return self._ended(created.job_id), f"{start}/out/"

    def written(self, directory: str) -> Mapping[str, str]:
        """Every object of an OBS directory with its text, by its path below the directory; event files have none."""
        listed = (stat.path for stat in self.objects.list(directory) if not stat.path.endswith("/"))
        paths = [path for path in listed if not is_event_file(PurePosixPath(path).name)]
        found = self.objects.read_many(paths)
        return {path.removeprefix(directory): content.decode() for path, content in sorted(found.items())}

    def log(self, spec_name: str) -> str:
        """All log lines of a job, for a person who reads why a test failed."""
        return "\n".join(self.written(f"/{self.bucket}/{spec_name}/log/").values())

    def _upload(self, workload: Workload, code: Path, target: str) -> None:
        files = [file for file in code.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
        pairs = [(target + str(file.relative_to(code)), file) for file in files]
        pairs += [(target + module.name, module) for module in workload.reporter_files]
        self.objects.put_many(pairs, lambda _done, _total: None)

    def _ended(self, job_id: str) -> JobStatus:
        deadline = time.monotonic() + LONGEST_SECONDS
        pause = threading.Event()
        while time.monotonic() < deadline:
            status = self.training.detail(job_id)
            if status.has_ended:
                return status
            pause.wait(0.2)  # a real process works; there is nothing to be told by
        self.training.stop(job_id)
        raise AssertionError(f"the job did not end within {LONGEST_SECONDS:g} s")
