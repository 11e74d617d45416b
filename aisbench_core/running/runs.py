"""Launches, stops and recollects runs. All of it only writes to the ledger; the follower does the work."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from aisbench_core.base.errors import Problem, SpecError, StaleRun, full_disks_named
from aisbench_core.base.messages import Message, join_parts
from aisbench_core.base.private_files import require_writable, write_whole
from aisbench_core.cloud.regions import Regions
from aisbench_core.config.settings import Profile, Settings
from aisbench_core.domain.access import permitted, permitted_for
from aisbench_core.domain.access.changes import note_values
from aisbench_core.domain.access.server_files import require_open_files
from aisbench_core.domain.authoring.specfile import to_yaml
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.costs import expected_cost, price_of
from aisbench_core.domain.preflight.service import Preflight
from aisbench_core.model import (
    Actor,
    Clock,
    Event,
    Launched,
    Phase,
    Run,
    RunPart,
    RunSpec,
    RunState,
    StopCause,
    StopKind,
)
from aisbench_core.people.budgets.holds import hold_reason, launch_check
from aisbench_core.people.budgets.ledger import PlannedLaunch
from aisbench_core.running.launches import Launches
from aisbench_core.running.run_files import LaunchFacts, write_facts
from aisbench_core.store.ledger.database.connection import LedgerConnection
from aisbench_core.store.ledger.deletions import DeletionLedger
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.limits import LaunchLimits
from aisbench_core.store.ledger.lineage import Parent, ParentKind, add_parents
from aisbench_core.store.run_folders import run_paths
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.parts import FolderPart
from aisbench_core.store.run_folders.removals import read_removals, removal_of
from aisbench_core.store.run_folders.run_paths import RunFolder

# The follower may advance a run between our read and our write; it does so a few times per run, never this often.
STOP_TRIES = 20

Store = Callable[[Run, Event], Run]
"""Stores a new run with its first event; returns it, or the run that was stored in its stead before."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Changes of runs by people. Threads may share it; every method about one run raises RunNotFound.

    `describe_system` gives a new run the system description of its profile; it returns the number of fields.
    `send_code` sends what only this machine may have; `seal` seals what a launch has written."""

    settings: Settings
    ledger: Ledger
    folders: RunFolders
    workloads: Workloads
    regions: Regions
    launches: Launches
    preflight: Preflight
    describe_system: Callable[[Run], int]
    send_code: Callable[[Run], None]
    seal: Callable[[str, Actor], None]
    clock: Clock

    @permitted
    def launch(
        self,
        spec: RunSpec,
        profile: str,
        actor: Actor,
        token: str = "",
        reproduces: str = "",
        *,
        clone_of: str = "",
    ) -> Run:
        """Store a new run, held if no budget has room for it. A token launches once: again, it returns the first run.

        `reproduces`: the id of the run whose result this one is to repeat; `clone_of`: of the one whose spec this one's
        was made from. Raises SpecError with every preflight error, TooManyRuns, ConfigError, NotAllowed."""
        require_open_files(spec, actor, self.open_folders)
        chosen = self.regions.profile(profile)
        spec = self.preflight.complete_spec(spec, chosen)
        check = launch_check(self.limits, expected_cost(spec, chosen), self.settings.approval_days)
        named = {ParentKind.REPRODUCTION: reproduces, ParentKind.CLONE: clone_of}
        parents = [Parent(run_id, kind) for kind, run_id in named.items() if run_id]

        def admit(con: LedgerConnection, run: Run) -> Run:
            admitted = check(con, run)
            add_parents(con, admitted, parents)
            return admitted

        def store(run: Run, event: Event) -> Run:
            return self.ledger.add(run, event, token, admit)

        return self.create(spec, chosen, actor, store, reproduces)

    def why_held(self, spec: RunSpec, profile: str, who: str) -> Message | None:
        """Why a launch by this person would now wait for an approval; None if each budget has room for it.

        Other launches can change that until it is stored. Raises ConfigError without such a profile."""
        chosen = self.regions.profile(profile)
        cost = expected_cost(spec, chosen)
        with self.ledger.connection() as con:
            return hold_reason(con, PlannedLaunch(who, cost, self.clock()))

    @permitted
    def create(self, spec: RunSpec, profile: Profile, actor: Actor, store: Store, reproduces: str = "") -> Run:
        """Create and publish a run's folder, then store the run. The spec must have passed preflight.

        Raises CloudError and ConfigError where run folders are published, and cannot be."""
        require_writable(self.settings.data_dir)
        now = self.clock()
        run = _new_run(spec, profile, actor, now)
        with full_disks_named(), self.launches.prepare_run(run.run_id):
            self._write_facts(run, profile, reproduces)
            message = _describe_launch(run, self.describe_system(run), reproduces)
            self.send_code(run)
            self.folders.publish(run.run_id)
            stored = store(run, Event.by(actor, run.run_id, now, message))
            if stored.run_id == run.run_id:  # and not the one that was launched with the same token before
                self.seal(run.run_id, actor)
            return stored

    @permitted_for(lambda self, run_id, **_: self.ledger.get(run_id).created_by)
    def stop(self, run_id: str, actor: Actor) -> Run:
        """Request the end of a run; one that is ending or has ended stays as it is.

        A run whose results cannot be fetched ends as failed, and can be collected again."""
        message = Message("stop requested by {who}", who=actor.name)

        def mark_stopping(run: Run) -> Run:
            return _build_stopping(run, actor, self.clock()) if run.can_stop else run

        return self._stop_run(run_id, actor, message, mark_stopping)

    @permitted_for(lambda self, run_id, **_: self.ledger.get(run_id).created_by)
    def stop_early(self, run_id: str, reason: Message, actor: Actor) -> Run:
        """Stop the job of a run that the search of its series gives up; one that has ended by itself stays as it is."""
        cause = StopCause(StopKind.SEARCH, reason)

        def mark_stopping(run: Run) -> Run:
            return run.to_stopping(cause, self.clock()) if run.state is RunState.RUNNING else run

        return self._stop_run(run_id, actor, cause.sentence, mark_stopping)

    def _stop_run(self, run_id: str, actor: Actor, message: Message, stopping: Callable[[Run], Run]) -> Run:
        for _ in range(STOP_TRIES):
            run = self.ledger.get(run_id)
            after = stopping(run)
            note_values(run.state, after.state)
            if after is run:
                return run
            try:
                return self.ledger.advance(run, after, Event.by(actor, run.run_id, self.clock(), message))
            except StaleRun:
                continue
        raise StaleRun(Message("run {run_id} changes too often", run_id=run_id), Message("try again"))

    @permitted
    def collect_again(self, run_id: str, actor: Actor) -> Run:
        """Collect a failed run's results once more. Raises SpecError unless it failed after its job was created."""
        run = self.ledger.get(run_id)
        if not run.can_collect_again:
            reason = Message("only a failed run whose job was created can be collected again")
            raise SpecError(Message("run {run_id}", run_id=run.run_id), [Problem("state", reason, run.state)])
        if deletion := DeletionLedger(self.ledger).find(run.run_id):
            deleted = Message("it was deleted by {who}", who=deletion.who)
            raise SpecError(Message("run {run_id}", run_id=run.run_id), [Problem("state", deleted)])
        if removal := removal_of(read_removals(self.folder(run)), RunPart.OUTPUTS):
            removed = Message("its outputs were removed by {who}", who=removal.who)
            raise SpecError(Message("run {run_id}", run_id=run.run_id), [Problem("outputs", removed)])
        now = self.clock()
        completed = run.phase == Phase.COMPLETED
        after = run.to(
            RunState.COLLECTING,
            final_state=RunState.COMPLETED if completed else RunState.FAILED,
            detail="" if completed else run.detail,
            updated_at=now,
            next_step_at=now,
        )
        message = Message("collected again by {who}", who=actor.name)
        return self.ledger.advance(run, after, Event.by(actor, run.run_id, now, message))

    def _write_facts(self, run: Run, profile: Profile, reproduces: str) -> None:
        """Store the facts of workload and region as they are now, and the spec."""
        folder = self.folders.path(run.run_id)
        workload = self.workloads.get(run.spec.workload)
        offered = self.regions.flavors_if_reachable(profile.name)
        flavor = next((flavor for flavor in offered if flavor.flavor_id == run.spec.flavor), None)
        accelerator = (flavor.product or flavor.accelerator) if flavor else ""
        launched = Launched(workload.manifest_sha256, reproduces)
        facts = LaunchFacts(workload.facts(run.spec), profile.region, profile.rehearsal, accelerator, launched)
        write_facts(facts, folder.launch)
        write_whole(folder.spec, to_yaml(run.spec).encode())

    @property
    def limits(self) -> LaunchLimits:
        """What one person may launch."""
        return LaunchLimits(self.settings.launches_per_hour, self.settings.runs_at_once)

    @property
    def open_folders(self) -> tuple[Path, ...]:
        """Folders whose files everybody who may launch may name in a spec."""
        of_console = (self.settings.workloads_dir, self.settings.own_workloads_dir, self.settings.software_dir)
        return (*of_console, *self.settings.shared_code)

    def folder(self, run: Run) -> RunFolder:
        """The run's folder, for reading what describes it."""
        return self.folders.read(run.run_id)

    def folder_with_logs(self, run: Run) -> RunFolder:
        """The run's folder, for reading its logs."""
        return self.folders.read(run.run_id, FolderPart.LOGS)


def _describe_launch(run: Run, described: int, reproduces: str) -> Message:
    """What was launched; `described`: the number of fields of the system description that it took over."""
    nodes, cards = run.spec.node_count, run.spec.cards_per_node
    parts = [
        Message("launched: {nodes} x {cards} cards, profile {profile}", nodes=nodes, cards=cards, profile=run.profile)
    ]
    if described:
        parts.append(Message("{count} saved fields of the system description applied", count=described))
    if reproduces:
        parts.append(Message("reproduces {run_id}", run_id=reproduces))
    return join_parts("; ", parts)


def _new_run(spec: RunSpec, profile: Profile, actor: Actor, now: datetime) -> Run:
    run_id = run_paths.new_id("r", now)
    run = Run(run_id, spec, profile.name, RunState.PREPARING, now, actor.name, now, now)
    price = price_of(spec, profile)
    currency = "" if price is None else profile.currency
    return replace(run, job_name=run_paths.job_name(spec, run_id), price_per_node_hour=price, currency=currency)


def _build_stopping(run: Run, actor: Actor, now: datetime) -> Run:
    if run.can_give_up:
        detail = Message("collecting was given up by {who}: {trouble}", who=actor.name, trouble=run.detail)
        return run.to(RunState.FAILED, updated_at=now, ended_at=run.ended_at or now, attempts=0, detail=detail)
    return run.to_stopping(StopCause(StopKind.PERSON, actor.name), now)
