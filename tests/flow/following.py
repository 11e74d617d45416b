"""What the flow tests share: a core on a scripted sandbox, a clock that tests move, and a follower driven by hand."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from aisbench_core.base.clock import utc_now
from aisbench_core.cloud.clouds import Clouds
from aisbench_core.cloud.ports import ObjectStore
from aisbench_core.config.settings import Settings
from aisbench_core.model import Run, RunSpec, RunState
from aisbench_core.running.follower import Follower
from aisbench_core.wiring import Core, open_core
from tests.actors import named
from tests.sandbox_process import SandboxProcess
from tests.training_client import await_true

PERSON = "tester"
MOST_TICKS = 400
LONGEST_SECONDS = 180.0
"""That a job may take on a machine that does other work as well."""

GOOD = {"ranksize.json": "2", "throughput_0.json": "100.5", "throughput_1.json": "99.5", "accuracy.json": "0.97"}
SPEC = RunSpec(workload="quickstart_digits", flavor="sandbox.cpu.2cards", cards_per_node=2)


@dataclass
class MovableClock:
    """Tells the time that the test wants."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)


@dataclass
class Bench:
    """A console's core over a data folder, and the follower that a test drives step by step."""

    core: Core
    clock: MovableClock
    follower: Follower

    def launch(self, spec: RunSpec = SPEC) -> Run:
        """A new run."""
        return self.core.runs.launch(spec, "sandbox", named(PERSON))

    def objects(self) -> ObjectStore:
        """The sandbox's OBS, as the product speaks to it."""
        return Clouds(self.core.settings, self.core.settings.request_seconds)("sandbox").objects

    def run(self, run: Run) -> Run:
        """The run as it stands now."""
        return self.core.ledger.get(run.run_id)

    def tick(self, seconds: float = 10.0) -> None:
        """One tick and all the steps that it starts, `seconds` after the last."""
        self.clock.move(seconds)
        self.follower.tick()
        self.follower.settle()

    def submit(self, run: Run) -> None:
        """Submit the run's job while no time passes, so that times of the job, which really runs, come after it."""
        for _ in range(MOST_TICKS):
            if self.run(run).job_id:
                return
            self.tick(0)
        raise AssertionError(f"not submitted: {self.run(run).detail}")

    def await_tick(self, condition: Callable[[], bool], what: str, seconds: float = LONGEST_SECONDS) -> None:
        """Tick until a condition holds for a job that really runs, at most so long."""

        def ticked() -> bool:
            self.tick()
            return condition()

        await_true(ticked, what, seconds)

    def await_end(self, run: Run, seconds: float = LONGEST_SECONDS) -> Run:
        """The run, ticked until its job, which really runs, has ended."""
        self.await_tick(lambda: self.run(run).state.is_terminal, "the end of the run", seconds)
        return self.run(run)

    def follow(self, run: Run, until: RunState | None = None) -> Run:
        """Tick until the run is in a state (default: has ended)."""
        for _ in range(MOST_TICKS):
            run = self.run(run)
            if run.state.is_terminal or run.state is until:
                break
            self.tick()
        assert run.state is until or (until is None and run.state.is_terminal), f"{run.state}: {run.detail}"
        return run


def settings_for(sandbox: SandboxProcess, data_dir: Path, **changes: object) -> Settings:
    """Settings of a console that knows the sandbox as its profile `sandbox`."""
    profiles = data_dir / "profiles"
    profiles.mkdir(parents=True, exist_ok=True)
    (profiles / "sandbox.yaml").write_text((sandbox.data_dir / "profile.yaml").read_text("utf-8"), "utf-8")
    return Settings(data_dir=data_dir, **changes)  # type: ignore[arg-type]  # checked by pydantic


def bench_on(sandbox: SandboxProcess, data_dir: Path, **changes: object) -> Bench:
    """A bench whose clock starts now. Opening another one on the same folder is a new process after a crash."""
    clock = MovableClock(utc_now())
    core = open_core(settings_for(sandbox, data_dir, **changes), clock)
    return Bench(core, clock, core.following.follower())
