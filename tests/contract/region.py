"""One region as a contract test sees it."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from aisbench_core.cloud.modelarts_package.sdk_v1_calls import SdkV1Calls
from aisbench_core.cloud.modelarts_package.service import ModelArtsSdk
from aisbench_core.cloud.modelarts_v1.service import ModelArtsV1
from aisbench_core.cloud.modelarts_v2.service import ModelArtsV2
from aisbench_core.cloud.obs.objects import ObsStore
from aisbench_core.cloud.ports import TrainingService
from aisbench_core.config.credentials import Credentials, find_credentials
from aisbench_core.config.settings import Profile, load_profile, load_settings
from aisbench_core.model import Api, Channel, JobRequest, JobStatus, RunSpec
from tests.sandbox_process import SandboxProcess

TRANSFERS = 16
REQUEST_SECONDS = 20.0

BOOT = b"print('a job of the contract tests')\n"


@dataclass
class Region:
    """Its adapters, made when they are first wanted; `folder` is an OBS directory of the test's own."""

    profile: Profile
    credentials: Credentials
    folder: str
    request_seconds: float = REQUEST_SECONDS
    job_ids: list[str] = field(default_factory=list)

    @cached_property
    def objects(self) -> ObsStore:
        return ObsStore(self.profile, self.credentials, TRANSFERS, self.request_seconds)

    @cached_property
    def training(self) -> TrainingService:
        adapters: Mapping[Api, Callable[[Profile, Credentials, float], TrainingService]]
        by_package = partial(ModelArtsV1, open_calls=SdkV1Calls)
        adapters = {Api.V2: ModelArtsV2, Api.V1: ModelArtsV1, Api.SDK: ModelArtsSdk, Api.SDK_V1: by_package}
        return adapters[self.profile.api](self.profile, self.credentials, self.request_seconds)

    def path(self, name: str) -> str:
        return self.folder + name

    def create(self, name: str = "", parameters: Mapping[str, str] | None = None) -> JobStatus:
        """A small job of the test's own, which is stopped and deleted at the end of the test."""
        job = self.training.create(self.job(name or f"contract-{uuid.uuid4().hex[:12]}", parameters or {}))
        self.job_ids.append(job.job_id)
        return job

    def job(self, name: str, parameters: Mapping[str, str]) -> JobRequest:
        boot = self.path("code/train.py")
        self.objects.put(boot, BOOT)
        output = self.path(f"out/{name}/")
        for directory in (output, self.path("log/")):
            self.objects.make_directory(directory)
        engine = next(engine for engine in self.training.engines() if engine.name == "Ascend-Powered-Engine")
        return JobRequest(
            name=name,
            spec=RunSpec(
                workload="contract",
                description="a test of the console",
                engine_name=engine.name,
                engine_version=engine.version,
                flavor=self.profile.flavor,
                pool_id=self.profile.pool_id,
                auto_stop_hours=1,
            ),
            code_path=self.path("code/"),
            boot_path=boot,
            log_path=self.path("log/"),
            inputs=(Channel(name="data_url", path=self.path("data/")),) if self.profile.api is Api.SDK_V1 else (),
            outputs=(Channel(name="train_url", path=output),),
            environments={"AISBENCH_RUN_ID": "contract"},
            parameters=dict(parameters),
        )


def sandbox_region(sandbox: SandboxProcess, request_seconds: float = REQUEST_SECONDS, api: Api = Api.V2) -> Region:
    profile = Profile.model_validate({"name": "sandbox", **sandbox.profile, "api": api})
    access_key, secret_key = sandbox.keys
    credentials = Credentials.model_validate({"access_key": access_key, "secret_key": secret_key})
    return Region(profile, credentials, profile.path("contract"), request_seconds)


def sdk_region(
    sandbox: SandboxProcess, venv: Path, request_seconds: float = REQUEST_SECONDS, api: Api = Api.SDK
) -> Region:
    """The sandbox through the package `modelarts` of a virtual environment."""
    region = sandbox_region(sandbox, request_seconds, api)
    return replace(region, profile=region.profile.model_copy(update={"sdk_venv": str(venv)}))


def live_region(name: str) -> Region:
    """A real region, by the name of its profile."""
    settings = load_settings({})
    profile = load_profile(settings, name)
    return Region(profile, find_credentials(settings, profile, {}), profile.path(f"contract-{uuid.uuid4().hex[:8]}"))


def left_as_found(region: Region) -> Iterator[Region]:
    """The region; afterwards the test's jobs are ended and forgotten, and its directory is emptied."""
    yield region
    for job_id in region.job_ids:
        region.training.stop(job_id)
        region.training.delete(job_id)
    for stat in region.objects.list(region.folder):
        region.objects.delete(stat.path)
