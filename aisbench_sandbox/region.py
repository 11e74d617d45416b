"""One emulated region: everything behind the sandbox's two ports, and its profile and credentials files."""

import os
import secrets
import time
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import yaml
from starlette.types import ASGIApp, Receive, Scope, Send

from aisbench_sandbox.admin import Admin, LocalOnly, admin_app, push_address, subscribe_address
from aisbench_sandbox.capacity import Capacity, Plan
from aisbench_sandbox.engine.engine import EngineLimits, JobEngine, SubprocessEngine
from aisbench_sandbox.engine.node.container import Containers, build_visibility
from aisbench_sandbox.engine.node.isolation import RealKeys, choose_isolation
from aisbench_sandbox.engine.node.layout import Site
from aisbench_sandbox.engine.node.variables import for_pip_at
from aisbench_sandbox.engine.scripted import ScriptedEngine
from aisbench_sandbox.engine.training import TrainingContext
from aisbench_sandbox.files import remove_tree, write_atomically
from aisbench_sandbox.jobs import JobStore
from aisbench_sandbox.obs.routes import obs_app
from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.service.routes import modelarts_app
from aisbench_sandbox.service.services import Services
from aisbench_sandbox.service.state.diagnosis_tasks import DiagnosisTasks
from aisbench_sandbox.service.state.experiments import Experiments
from aisbench_sandbox.service.state.images import Images
from aisbench_sandbox.service.state.json_store import JsonStore
from aisbench_sandbox.service.state.legacy_jobs import LegacyJobs
from aisbench_sandbox.service.state.quotas import Quotas
from aisbench_sandbox.service.state.saved_algorithms import SavedAlgorithms
from aisbench_sandbox.service.state.training_jobs import TrainingJobs

PROJECT = "sandbox-project"
BUCKET = "sandbox-bench"
FLAVOR = "sandbox.cpu.2cards"
ADMIN_PATH = "/_sandbox"


class EngineKind(StrEnum):
    """Whether jobs really run, or follow a script."""

    SUBPROCESS = "subprocess"
    SCRIPTED = "scripted"


@dataclass(frozen=True, slots=True)
class RegionLocation:
    """The location of a region: its data folder and the URLs of its two ports."""

    data: Path
    modelarts_url: str
    obs_url: str


@dataclass(frozen=True, slots=True)
class Protected:
    """What jobs must not read: hidden paths, and real keys, beside which some machines run no jobs at all."""

    hidden: tuple[Path, ...] = ()
    keys: RealKeys = field(default_factory=RealKeys)


NOTHING = Protected()


class Region:
    """One emulated region: objects, jobs, their engine, keys, and the admin API."""

    def __init__(
        self,
        location: RegionLocation,
        kind: EngineKind,
        limits: EngineLimits,
        containers: Containers = Containers.AUTO,
        plan: Plan | None = None,
        protected: Protected = NOTHING,
    ) -> None:
        self.location = location
        self._caution = self._caution_in_chinese = ""
        self.keys = _read_keys(location.data / "credentials.yaml")
        self._admin = Admin()
        self._objects = Objects(location.data / "obs")
        self._jobs = JobStore(location.data / "jobs", time.time)
        self._store = JsonStore(location.data / "service")
        self._make_bucket()
        self._capacity = Capacity(location.data / "capacity.json", plan, limits.cards)
        # Last, because it goes on with the jobs of a previous sandbox at once.
        self._engine = self._make_engine(kind, limits, containers, protected)

    def modelarts_app(self) -> ASGIApp:
        """The ModelArts port: the service and the admin API."""
        script = lambda: self._admin.script.model_dump(mode="json")  # noqa: E731 - the script of the moment
        store = self._store
        quotas = Quotas(store, lambda: len(self._jobs.all()))
        experiments = Experiments(store, self._jobs.now, self._jobs.all)
        obs_url = self.location.obs_url
        shared = (self._jobs, self._engine, self._objects, obs_url, self.keys, script)
        algorithms, images = SavedAlgorithms(store, self._jobs.now, self._objects), Images(store)
        jobs = TrainingJobs(*shared, quotas, experiments, self._capacity, algorithms)
        services = Services(
            jobs,
            quotas,
            experiments,
            algorithms,
            images,
            DiagnosisTasks(store, self._jobs.now),
            LegacyJobs(store, jobs),
            lambda: self._capacity.plan.pools,
            time.time,
            self._counts_pages,
        )
        app = self._admin.wrap(modelarts_app(services, PROJECT, self.keys, self._admin.lockout), "modelarts")
        # Beside the wrapped service, so that faults and latency never keep a test from ending them.
        held = [subscribe_address(algorithms.subscribe), push_address(images.push)]
        return _side_by_side(
            app, LocalOnly(admin_app(self._admin, self._wipe_region, self._engine, self._capacity, held))
        )

    def obs_app(self) -> ASGIApp:
        """The OBS port."""
        return self._admin.wrap(obs_app(self._objects, self.keys), "obs")

    @property
    def caution(self) -> str:
        """A warning for users of this region; usually empty."""
        return self._caution

    def write_profile(self) -> None:
        """Write the file from which clients get the region's addresses."""
        profile = {
            "region": "sandbox",
            "project_id": PROJECT,
            "obs_server": self.location.obs_url,
            "modelarts_endpoint": self.location.modelarts_url,
            "swr_endpoint": self.location.modelarts_url,
            "bucket": BUCKET,
            "rehearsal": True,
            "caution": self._caution,
            "caution_zh": self._caution_in_chinese,
            "flavor": FLAVOR,
            "credentials_file": str(self.location.data / "credentials.yaml"),
        }
        # At each start: with port 0 the addresses change.
        write_atomically(self.location.data / "profile.yaml", yaml.safe_dump(profile, sort_keys=False).encode())

    def close(self) -> None:
        """End everything that runs."""
        self._engine.close()

    def _counts_pages(self) -> bool:
        return self._admin.readings.offset == "pages"

    def _wipe_region(self) -> None:
        # Before the objects go, into which the jobs would still write.
        self._engine.end_all()
        for job in self._jobs.all():
            self._jobs.remove(job.job_id)
        self._store.clear()
        remove_tree(self.location.data / "shares")
        self._capacity.reset()
        for bucket in self._objects.buckets():
            self._objects.empty_bucket(bucket.name)
            self._objects.delete_bucket(bucket.name)
        self._make_bucket()

    def _make_engine(
        self, kind: EngineKind, limits: EngineLimits, containers: Containers, protected: Protected
    ) -> JobEngine:
        if kind is EngineKind.SCRIPTED:
            return ScriptedEngine(self._jobs, self._objects, self._capacity)
        data = self.location.data
        isolated = choose_isolation(
            containers, data, build_visibility(*for_pip_at(os.environ), hidden=[data, *protected.hidden])
        )
        self._caution, self._caution_in_chinese = isolated.caution, isolated.caution_in_chinese
        ((access_key, secret_key),) = self.keys.items()
        site = Site(
            access_key,
            secret_key,
            self.location.modelarts_url,
            isolated.without_containers,
            isolated.visibility,
            isolated.user,
            self.location.data / "shares",
        )
        return SubprocessEngine(
            TrainingContext(
                self._jobs,
                self._objects,
                isolated.work,
                self.location.obs_url,
                self._capacity,
                limits.grace,
                site,
                # Asked for each job: a file of real keys may be filled at any time.
                lambda: protected.keys.why_no_jobs(isolated),
            )
        )

    def _make_bucket(self) -> None:
        if not self._objects.has_bucket(BUCKET):
            self._objects.create_bucket(BUCKET)


def _read_keys(file: Path) -> dict[str, str]:
    """Secret keys by access key; created at the first start."""
    if not file.exists():
        made = {"access_key": f"SANDBOX{secrets.token_hex(7).upper()}", "secret_key": secrets.token_urlsafe(30)}
        write_atomically(file, yaml.safe_dump(made).encode(), mode=0o600)
    stored = yaml.safe_load(file.read_text("utf-8"))
    return {str(stored["access_key"]): str(stored["secret_key"])}


def _side_by_side(service: ASGIApp, admin: ASGIApp) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(f"{ADMIN_PATH}/"):
            scope = {**scope, "path": scope["path"].removeprefix(ADMIN_PATH)}
            return await admin(scope, receive, send)
        return await service(scope, receive, send)

    return app
