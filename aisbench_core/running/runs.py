"""Launches, stops and recollects runs. All of it only writes to the ledger; the follower does the work."""

import secrets
import string
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from aisbench_core.authoring.specfile import to_yaml
from aisbench_core.authoring.workloads import Workloads
from aisbench_core.errors import Problem, SpecError, StaleRun, full_disks_named
from aisbench_core.messages import Message
from aisbench_core.model import Actor, Clock, Event, Level, Phase, Run, RunSpec, RunState
from aisbench_core.preflight.rule import subject_of
from aisbench_core.preflight.service import Preflight
from aisbench_core.private_files import require_writable, write_whole
from aisbench_core.regions import Regions
from aisbench_core.running import launch_facts, run_paths
from aisbench_core.running.launches import Launches
from aisbench_core.running.ledger import Ledger
from aisbench_core.running.run_messages import launched
from aisbench_core.running.run_paths import RunFolder
from aisbench_core.settings import Profile, Settings

# The follower may advance a run between our read and our write; it does so a few times per run, never this often.
STOP_TRIES = 20

RUN_ID_LETTERS = 6
LETTERS = string.ascii_lowercase + string.digits

Store = Callable[[Run, Event], Run]
"""Stores a new run with its first event; returns it, or the run that was stored in its stead before."""


class Runs:
    """Changes of runs by people. Threads may share it; every method about one run raises RunNotFound."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        workloads: Workloads,
        regions: Regions,
        preflight: Preflight,
        describe_system: Callable[[Run], int],
        clock: Clock,
    ) -> None:
        """`describe_system` gives a new run the system description of its profile; it returns the number of fields."""
        self._settings = settings
        self._ledger = ledger
        self._workloads = workloads
        self._regions = regions
        self._preflight = preflight
        self._describe_system = describe_system
        self._clock = clock
        self.launches = Launches(settings.data_dir / "launching", settings.runs_dir, ledger.has)

    def launch(self, spec: RunSpec, profile: str, actor: Actor, token: str = "", reproduces: str = "") -> Run:
        """Store a new run. A token launches once: launching with it again returns the first run.

        `reproduces`: the id of the run whose result this one is to repeat. Raises SpecError with every preflight
        error, ConfigError."""
        chosen = self._regions.profile(profile)
        errors = [finding for finding in self._preflight.offline(spec, chosen.name) if finding.level is Level.ERROR]
        if errors:
            problems = [Problem(finding.field, finding.sentence) for finding in errors]
            raise SpecError(Message("this cannot be launched"), problems)
        spec = subject_of(spec, chosen, self._workloads).spec
        return self.create(spec, chosen, actor, lambda run, event: self._ledger.add(run, event, token), reproduces)

    def create(self, spec: RunSpec, profile: Profile, actor: Actor, store: Store, reproduces: str = "") -> Run:
        """Create a run's folder, then store the run. The spec must have passed preflight."""
        require_writable(self._settings.data_dir)
        now = self._clock()
        run = _new_run(spec, profile.name, actor, now)
        with full_disks_named(), self.launches.unfinished(run.run_id):
            self._write_facts(run, profile, reproduces)
            message = launched(run, self._describe_system(run), reproduces)
            return store(run, Event.by(actor, run.run_id, now, message))

    def stop(self, run_id: str, actor: Actor) -> Run:
        """Request the end of a run; one that is ending or has ended stays as it is.

        A run whose results cannot be fetched ends as failed, and can be collected again."""
        for _ in range(STOP_TRIES):
            run = self._ledger.get(run_id)
            if not run.can_stop:
                return run
            now = self._clock()
            event = Event.by(actor, run.run_id, now, Message("stop asked for by {who}", who=actor.name))
            try:
                return self._ledger.advance(run, _stopping(run, actor, now), event)
            except StaleRun:
                continue
        raise StaleRun(Message("run {run_id} changes too often", run_id=run_id), Message("try again"))

    def collect_again(self, run_id: str, actor: Actor) -> Run:
        """Collect a failed run's results once more. Raises SpecError unless it failed after its job was created."""
        run = self._ledger.get(run_id)
        if not run.can_collect_again:
            reason = Message("only a failed run whose job was created can be collected again")
            raise SpecError(Message("run {run_id}", run_id=run.run_id), [Problem("state", reason, run.state)])
        now = self._clock()
        completed = run.phase == Phase.COMPLETED
        after = run.to(
            RunState.COLLECTING,
            verdict=RunState.COMPLETED if completed else RunState.FAILED,
            detail="" if completed else run.detail,
            updated_at=now,
            next_step_at=now,
        )
        message = Message("collected again by {who}", who=actor.name)
        return self._ledger.advance(run, after, Event.by(actor, run.run_id, now, message))

    def _write_facts(self, run: Run, profile: Profile, reproduces: str) -> None:
        folder = RunFolder(self._settings.runs_dir / run.run_id)
        workload = self._workloads.get(run.spec.workload)
        flavors = self._regions.flavors_if_reachable(profile.name)
        facts = launch_facts.launch_facts(run.spec, workload, profile, flavors, reproduces)
        launch_facts.write_facts(facts, folder.launch)
        write_whole(folder.spec, to_yaml(run.spec).encode())


def _new_run(spec: RunSpec, profile: str, actor: Actor, now: datetime) -> Run:
    run_id = f"r{now:%Y%m%d-%H%M%S}-{''.join(secrets.choice(LETTERS) for _ in range(RUN_ID_LETTERS))}"
    run = Run(run_id, spec, profile, RunState.PREPARING, now, actor.name, now, now)
    return replace(run, job_name=run_paths.job_name(spec, run_id))


def _stopping(run: Run, actor: Actor, now: datetime) -> Run:
    if run.can_give_up:
        detail = Message("collecting was given up by {who}: {trouble}", who=actor.name, trouble=run.step_error)
        return run.to(RunState.FAILED, updated_at=now, ended_at=run.ended_at or now, attempts=0, detail=detail)
    detail = Message("stopped by {who}", who=actor.name)
    return run.to(RunState.STOPPING, updated_at=now, next_step_at=now, attempts=0, detail=detail)
