"""What the console and the command line can do; both call this and nothing below it."""

import getpass
import os
import secrets
import socket
import string
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime

from aisbench_core import health
from aisbench_core.authoring import preflight as offline
from aisbench_core.authoring.packages.importing import Packages
from aisbench_core.authoring.preflight_online import OnProgress, no_progress, online
from aisbench_core.authoring.rules import subject_of
from aisbench_core.authoring.software import SoftwareShelf
from aisbench_core.authoring.specfile import to_yaml
from aisbench_core.authoring.upstream.configs import Configs
from aisbench_core.authoring.workloads import Workloads
from aisbench_core.doctor.examination import Doctor
from aisbench_core.errors import DamagedLedger, Problem, SpecError, StaleRun, full_disks_named
from aisbench_core.importing.history import ResultImport
from aisbench_core.job_secrets import JobSecrets
from aisbench_core.messages import Message
from aisbench_core.mlflow.exporting import MlflowExport
from aisbench_core.model import (
    Attempt,
    Clock,
    Event,
    Finding,
    Level,
    Phase,
    Run,
    RunSpec,
    RunState,
    Series,
)
from aisbench_core.private_files import write_whole
from aisbench_core.read_only import require_writable
from aisbench_core.regions import Regions
from aisbench_core.remarks import RemarkBook
from aisbench_core.report.reports import Reports
from aisbench_core.reproducing.clones import Clones
from aisbench_core.reproducing.reproductions import Reproductions
from aisbench_core.rulesets.shelf import Rulesets
from aisbench_core.running import launch_facts, places
from aisbench_core.running.collecting import Collecting
from aisbench_core.running.follower import Follower
from aisbench_core.running.jobs import Jobs
from aisbench_core.running.launches import Launches
from aisbench_core.running.ledger import Beat, Ledger
from aisbench_core.running.ledger_series import SeriesLedger
from aisbench_core.running.moves import launched
from aisbench_core.running.places import RunFolder
from aisbench_core.running.run_files import RunFiles
from aisbench_core.running.series_files import SeriesFiles
from aisbench_core.running.steps import Connect, Steps
from aisbench_core.series.desk import SeriesDesk
from aisbench_core.settings import Profile, Settings
from aisbench_core.storage import Storage
from aisbench_core.system.systems import Systems
from aisbench_core.warehouse import Warehouse
from aisbench_core.warehouse.store.reading import reader

STOP_TRIES = 20
RUN_ID_LETTERS = 6
LETTERS = string.ascii_lowercase + string.digits


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run would cost: the user's own price per node hour, times nodes, times hours."""

    total: float
    price_per_node_hour: float
    currency: str


class Core:
    """The product without its faces. Threads may share it."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        warehouse: Warehouse,
        workloads: Workloads,
        connect: Connect,
        look: Connect,
        clock: Clock,
    ) -> None:
        """`connect` leads to the clouds for the follower, `look` for a person who waits for the answer."""
        self.settings = settings
        self.ledger = ledger
        self.warehouse = warehouse
        self.workloads = workloads
        self.regions = Regions(settings, look)
        self._secrets = JobSecrets(settings)
        self.files = RunFiles(settings.runs_dir, ledger)
        self._launches = Launches(settings.data_dir / "launching", settings.runs_dir, ledger.has)
        self.configs = Configs(settings, workloads)
        self.systems = Systems(settings, ledger, warehouse.record, clock)
        self.packages = Packages(settings, workloads)
        self.software = SoftwareShelf(settings.software_dir)
        self.jobs = Jobs(ledger, look, self.stop)
        self.reader = reader(warehouse.place)
        self.mlflow = MlflowExport(self.reader)
        series_files = SeriesFiles(settings.series_dir)
        self.storage = Storage(settings, warehouse, self.files, series_files)
        self.doctor = Doctor(settings, look, clock)
        self.history = ResultImport(settings, warehouse, workloads, self.regions, connect, clock)
        self.clones = Clones(ledger, warehouse, workloads)
        self.series = SeriesDesk(
            ledger,
            series_files,
            warehouse,
            workloads,
            self.regions,
            self._secrets,
            self.preflight_online,
            self._launch_cell,
            self.stop,
            clock,
        )
        self.rulesets = Rulesets(settings.rulesets_dir)
        self.reproductions = Reproductions(
            settings, ledger, warehouse, workloads, self.regions, self.systems, self.clones, self.launch
        )
        self.reports = Reports(warehouse, clock)
        self.remarks = RemarkBook(settings, ledger, warehouse, clock)
        self.clock = clock
        self._connect = connect
        self._look = look

    # --- before a run -----------------------------------------------------------------------------

    def health(self, profile: str = "") -> health.Health:
        """Whether the cloud answers, who follows, and how much is stored."""
        return health.look(self.settings, profile or self.settings.profile, self._look, self.ledger)

    def filled(self, spec: RunSpec) -> RunSpec:
        """The spec with everything that the workload's manifest decides. Raises ConfigError."""
        return self.workloads.get(spec.workload).filled(spec)

    def preflight(self, spec: RunSpec, profile: str = "") -> list[Finding]:
        """What is wrong with a spec, errors first; asks no cloud."""
        place = self.regions.profile(profile)
        return offline.preflight(spec, place, self.workloads, self.regions.known_flavors(place), self._secrets)

    def preflight_online(self, spec: RunSpec, profile: str = "", told: OnProgress = no_progress) -> list[Finding]:
        """What the region says against a spec, within `look_seconds`. Raises CloudError when it cannot be asked."""
        place = self.regions.profile(profile)
        cloud = self._look(place.name, subject_of(spec, place, self.workloads).spec.api)
        seconds = self.settings.look_seconds
        return online(spec, place, self.workloads, cloud.objects, cloud.training, seconds, told)

    def estimate(self, spec: RunSpec, profile: str, hours: float) -> Cost | None:
        """What so many hours would cost; None when the profile has no price for the flavor."""
        place = self.regions.profile(profile)
        total = offline.estimate(spec, place, hours)
        if total is None:
            return None
        return Cost(total, place.price_per_node_hour[spec.flavor or place.flavor], place.currency)

    # --- a run ------------------------------------------------------------------------------------

    def launch(self, spec: RunSpec, profile: str, who: str, token: str = "", reproduces: str = "") -> Run:
        """Write down a run; the follower does the rest. The same token is launched once.

        `reproduces`: the run whose result it is to give again.
        Raises SpecError with every preflight error."""
        place = self.regions.profile(profile)
        errors = [finding for finding in self.preflight(spec, place.name) if finding.level is Level.ERROR]
        if errors:
            raise SpecError(
                Message("this cannot be launched"), [Problem(finding.field, finding.sentence) for finding in errors]
            )
        spec = subject_of(spec, place, self.workloads).spec
        return self._write_down(spec, place, who, lambda run, event: self.ledger.add(run, event, token), reproduces)

    def stop(self, run_id: str, who: str) -> Run:
        """Ask a run to end; one that is ending or has ended stays as it is.

        A run whose results cannot be fetched ends as failed, and can be collected again."""
        for _ in range(STOP_TRIES):
            run = self.ledger.get(run_id)
            if not run.can_stop:
                return run
            now, asked = self.clock(), Message("stop asked for by {who}", who=who)
            try:
                return self.ledger.advance(
                    run, _stopping(run, who, now), Event(run.run_id, now, "console", Level.INFO, asked, who)
                )
            except StaleRun:  # the follower was quicker; look again
                continue
        raise StaleRun(Message("run {run_id} changes too often", run_id=run_id), Message("try again"))

    def collect_again(self, run_id: str, who: str) -> Run:
        """Collect a failed run once more, to rescue results that can be read by now. Raises SpecError if it cannot."""
        run = self.ledger.get(run_id)
        if not run.can_collect_again:
            kept = Message("only a failed run whose job was created can be collected again")
            raise SpecError(Message("run {run_id}", run_id=run.run_id), [Problem("state", kept, run.state)])
        now = self.clock()
        completed = run.phase == Phase.COMPLETED
        verdict = RunState.COMPLETED if completed else RunState.FAILED
        after = run.to(
            RunState.COLLECTING,
            verdict=verdict,
            detail="" if completed else run.detail,
            updated_at=now,
            next_step_at=now,
        )
        message = Message("collected again by {who}", who=who)
        return self.ledger.advance(run, after, Event(run.run_id, now, "console", Level.INFO, message, who))

    # --- following --------------------------------------------------------------------------------

    def followed(self) -> Beat | None:
        """Who follows the runs, and when it was last seen."""
        return self.ledger.last_beat()

    def follower(self, leaving: threading.Event | None = None) -> Follower:
        """A follower of all runs. `leaving`: set it to let a long upload end early."""
        leaving = leaving or threading.Event()
        with suppress(DamagedLedger):  # nobody can launch then either; the next launch clears
            self._launches.clear()
        steps = Steps(self.settings, self.ledger, self.workloads, self._connect, self.clock, leaving)
        collecting = Collecting(self.ledger, self._connect, self.series.record, self.clock, self._secrets)
        who = Message(
            "{user}@{host} (process {process})",
            user=getpass.getuser(),
            host=socket.gethostname(),
            process=os.getpid(),
        )
        return Follower(
            self.settings, self.ledger, steps, collecting, self._connect, self.clock, who, self.series.admitting().admit
        )

    @contextmanager
    def following(self) -> Iterator[None]:
        """Follow in a thread for as long as this lasts, whenever no other process does."""
        stop = threading.Event()
        thread = threading.Thread(target=self.follower(stop).run_forever, args=(stop,), name="follower", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _launch_cell(self, ledger: SeriesLedger, series: Series, attempt: Attempt) -> Run:
        """Make a try at a series' cell a run. Raises StaleRun when it is one already, or was cancelled."""

        def admit(run: Run, event: Event) -> Run:
            of_series = replace(run, series_id=series.series_id, series_index=attempt.cell)
            return ledger.admit(attempt, of_series, event)

        place = self.regions.profile(series.profile)
        return self._write_down(series.rows[attempt.row].spec, place, attempt.asked_by, admit)

    def _write_down(
        self, spec: RunSpec, place: Profile, who: str, add: Callable[[Run, Event], Run], reproduces: str = ""
    ) -> Run:
        """A new run with its folder; `add` stores it, or gives the run that has its place already."""
        require_writable(self.settings.data_dir)
        now = self.clock()
        run = self._new_run(spec, place.name, who, now)
        with full_disks_named(), self._launches.unfinished(run.run_id):
            self._write_facts(run, place, reproduces)
            said = launched(run, self.systems.take_over(run), reproduces)
            return add(run, Event(run.run_id, now, "console", Level.INFO, said, who))

    def _new_run(self, spec: RunSpec, profile: str, who: str, now: datetime) -> Run:
        run_id = f"r{now:%Y%m%d-%H%M%S}-{''.join(secrets.choice(LETTERS) for _ in range(RUN_ID_LETTERS))}"
        run = Run(run_id, spec, profile, RunState.PREPARING, now, who, now, now)
        return replace(run, job_name=places.job_name(spec, run_id))

    def _write_facts(self, run: Run, place: Profile, reproduces: str) -> None:
        folder = RunFolder(self.settings.runs_dir / run.run_id)
        facts = launch_facts.launch_facts(
            run.spec,
            self.workloads.get(run.spec.workload),
            place,
            self.regions.flavors_if_reachable(place.name),
            reproduces,
        )
        launch_facts.write_facts(facts, folder.launch)
        write_whole(folder.spec, to_yaml(run.spec).encode())


def _stopping(run: Run, who: str, now: datetime) -> Run:
    if run.can_give_up:
        why = Message("collecting was given up by {who}: {trouble}", who=who, trouble=run.trouble)
        return run.to(RunState.FAILED, updated_at=now, ended_at=run.ended_at or now, attempts=0, detail=why)
    why = Message("stopped by {who}", who=who)
    return run.to(RunState.STOPPING, updated_at=now, next_step_at=now, attempts=0, detail=why)
