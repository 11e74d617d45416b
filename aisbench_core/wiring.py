"""Composes the services."""

from dataclasses import replace
from functools import partial

from aisbench_core.base.clock import utc_now
from aisbench_core.base.console_log import start_console_log
from aisbench_core.base.errors import AisbenchError, ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import is_read_only
from aisbench_core.cloud.clouds import Clouds
from aisbench_core.cloud.ports import Connect
from aisbench_core.cloud.region_files import RegionFiles
from aisbench_core.cloud.region_resources import RegionResources
from aisbench_core.cloud.regions import Regions
from aisbench_core.config.data_folder import prepare_data_folder
from aisbench_core.config.job_secrets import JobSecrets
from aisbench_core.config.settings import Settings, load_settings
from aisbench_core.domain.acceptance.suite import Suites
from aisbench_core.domain.access.guard import record_with
from aisbench_core.domain.access.operations import Operations
from aisbench_core.domain.authoring.software import SoftwarePackages
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.llm.chips import read_chips
from aisbench_core.domain.logs.run_logs import RunLogs
from aisbench_core.domain.preflight.service import Preflight
from aisbench_core.domain.rulesets.ruleset import Rulesets
from aisbench_core.exchange.evidence.file_statements import FileStatements
from aisbench_core.exchange.evidence.importing import BundleImports
from aisbench_core.exchange.evidence.making import Bundles
from aisbench_core.exchange.importing.service import ResultImport
from aisbench_core.exchange.lab_reports.service import LabReports
from aisbench_core.exchange.mlflow.exporting import MlflowExport
from aisbench_core.exchange.mlperf.writing import MlperfExport
from aisbench_core.exchange.publishing.publishing import Publishing
from aisbench_core.exchange.report.reports import Reports
from aisbench_core.exchange.upstream.configurations import Configs
from aisbench_core.exchange.upstream.packages.service import Packages
from aisbench_core.maintenance.backups.creating import Backups
from aisbench_core.maintenance.backups.ledger_copies import LedgerCopies
from aisbench_core.maintenance.doctor.examination import Doctor
from aisbench_core.maintenance.health import HealthChecks
from aisbench_core.maintenance.storage import Storage, ledger_location, warehouse_location
from aisbench_core.model import Clock
from aisbench_core.people.accounts.identities import Identities
from aisbench_core.people.accounts.open_sessions import OpenSessions
from aisbench_core.people.accounts.people import People
from aisbench_core.people.accounts.sessions import Sessions
from aisbench_core.people.accounts.sign_in_audit import SignInAudit
from aisbench_core.people.accounts.sign_ins import SignIns
from aisbench_core.people.budgets.alerts import BudgetAlerts
from aisbench_core.people.budgets.approvals import Approvals
from aisbench_core.people.budgets.ledger import BudgetLedger
from aisbench_core.people.budgets.service import Budgets
from aisbench_core.people.notifications.service import Notifications
from aisbench_core.people.tokens.service import Tokens
from aisbench_core.running.accepting.carrying import start_admission
from aisbench_core.running.accepting.service import AcceptanceService
from aisbench_core.running.algorithms import Algorithms
from aisbench_core.running.annotations import AnnotationService
from aisbench_core.running.cleaning.deletions import Deletions, DeletionWork
from aisbench_core.running.cleaning.service import Cleaning
from aisbench_core.running.diagnosing.ascend_fd import AscendFd
from aisbench_core.running.diagnosing.service import Causes
from aisbench_core.running.expecting import Expectations
from aisbench_core.running.follower import Following
from aisbench_core.running.head_publishing import HeadPublishing
from aisbench_core.running.jobs import Jobs
from aisbench_core.running.launches import Launches
from aisbench_core.running.lineages import Lineages
from aisbench_core.running.progress.overview import RunOverviews
from aisbench_core.running.progress.snapshots import RunSnapshots
from aisbench_core.running.published_code import LaunchedCode
from aisbench_core.running.reproducing.reproductions import Clones, Reproductions
from aisbench_core.running.run_files import RunFiles, SeriesFiles
from aisbench_core.running.run_names import RunNames
from aisbench_core.running.runs import Runs
from aisbench_core.running.schedules.launching import ScheduledLaunches
from aisbench_core.running.schedules.service import ScheduleService
from aisbench_core.running.series.service import SeriesService
from aisbench_core.running.systems.systems import Systems
from aisbench_core.running.time_stamps import TimeStamps
from aisbench_core.store.audit.audit import Audit
from aisbench_core.store.audit.audit_heads import AuditHeads
from aisbench_core.store.ledger.acceptances import AcceptanceLedger
from aisbench_core.store.ledger.deletions import DeletionLedger
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.ledger_file import require_known_schema
from aisbench_core.store.ledger.lineage import LineageLedger
from aisbench_core.store.ledger.schedules import ScheduleLedger
from aisbench_core.store.ledger.series import SeriesLedger
from aisbench_core.store.ledger.tokens import TokenLedger
from aisbench_core.store.ledger.watches import WatchLedger
from aisbench_core.store.run_folders.location import run_folders
from aisbench_core.store.run_folders.migrating import FolderPublishing
from aisbench_core.store.seals.comparing import SealComparing
from aisbench_core.store.seals.service import Seals
from aisbench_core.store.signing.heads import Heads
from aisbench_core.store.signing.private_key import KeyFile
from aisbench_core.store.signing.service import SigningKeys
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.limited_exports import Exports
from aisbench_core.warehouse.open.reading import Reader, make_reader


class Core:
    """The services that pages and command line use, one per noun. Threads may share them."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        warehouse: Warehouse,
        connect: Connect,
        interactive: Connect,
        clock: Clock,
    ) -> None:
        """`connect` has the follower's timeouts, `interactive` those for a person who waits."""
        self.settings = settings
        self.clock = clock
        self.ledger = ledger
        self.warehouse = warehouse
        self._connect = connect
        self._interactive = interactive
        self.workloads = Workloads(settings.workloads_dir, settings.own_workloads_dir)
        self.regions = Regions(settings, interactive)
        self.folders = run_folders(settings, ledger, interactive)
        self._add_people()
        self._add_region()
        self._add_runs()
        self._add_series()
        self._add_results()
        self._add_machine()
        self._add_following()

    def _add_people(self) -> None:
        """Who acts, and what of it is recorded."""
        settings, ledger, clock = self.settings, self.ledger, self.clock
        self.audit = Audit(
            ledger, settings.keep_audit_days, clock, AuditHeads(settings.audit_heads_path, settings.ledger)
        )
        self.signing_keys = SigningKeys(KeyFile(settings.signing_key_path), ledger, self.audit, clock)
        self.heads = Heads(ledger, self.audit, self.signing_keys)
        self.time_stamps = TimeStamps(settings)
        self.people = People(ledger, clock)
        self.sign_in_audit = SignInAudit(self.audit.record, clock)
        self.sessions = Sessions(settings, self.people, clock, self.sign_in_audit)
        self.sign_ins = SignIns(ledger, self.sessions, self.people, Identities(ledger), self.sign_in_audit)
        self.open_sessions = OpenSessions(ledger, self.sessions, clock)
        self.tokens = Tokens(TokenLedger(ledger), clock, self.people.role_of, self.people.require_program_name)
        self._budget_ledger = BudgetLedger(ledger)
        self.budgets = Budgets(self._budget_ledger, clock)
        self.approvals = Approvals(ledger, SeriesLedger(ledger), self._budget_ledger, clock)

    def _add_region(self) -> None:
        """What a region offers, and what is brought to it."""
        settings, workloads = self.settings, self.workloads
        self.region_resources = RegionResources(self.regions, self._interactive)
        self.region_files = RegionFiles(self._interactive)
        self.configs = Configs(settings, workloads)
        self.packages = Packages(settings, workloads)
        self.software = SoftwarePackages(settings.software_dir)

    def _add_runs(self) -> None:
        """Runs from their launch on, one by one."""
        settings, ledger, folders, clock = self.settings, self.ledger, self.folders, self.clock
        record, workloads, interactive = self.warehouse.record, self.workloads, self._interactive
        self.watches = WatchLedger(ledger)
        self._seals = seals = Seals(ledger, folders, self.audit, clock)
        self._secrets = JobSecrets(settings)
        self.preflight = Preflight(settings, workloads, self.regions, self._secrets, interactive, ledger.find)
        self.systems = Systems(settings, ledger, folders, record, seals, clock)
        self._launches = Launches(settings.data_dir / "launching", folders, ledger.has)
        self.runs = runs = Runs(
            settings=settings,
            ledger=ledger,
            folders=folders,
            workloads=workloads,
            regions=self.regions,
            launches=self._launches,
            preflight=self.preflight,
            describe_system=self.systems.take_over,
            send_code=LaunchedCode(settings, folders, workloads, self._connect).send,
            seal=seals.seal_launched,
            clock=clock,
        )
        self.jobs = Jobs(ledger, interactive, runs, clock)
        self.algorithms = Algorithms(workloads, self._connect, interactive, runs.open_folders, settings.shared_code)
        self.files = RunFiles(folders, ledger)
        self.snapshots = RunSnapshots(self.files, RunOverviews(self.files, self.warehouse, clock), clock)
        self.expectations = Expectations(self.warehouse, workloads, self.regions)
        self.causes = Causes(folders, ledger, self.watches, workloads)
        self.logs = RunLogs(self.files.log_files)
        self.cleaning = Cleaning(settings, ledger, folders, interactive, record, seals, clock)
        self.annotations = AnnotationService(settings, ledger, folders, self.warehouse, clock)
        self._deletion_ledger = DeletionLedger(ledger)
        self.deletions = Deletions(ledger, self._deletion_ledger, clock)
        self.run_names = RunNames(workloads, self.annotations)
        self.clones = Clones(ledger, self.warehouse, workloads)
        self.reproductions = Reproductions(
            settings, ledger, self.warehouse, workloads, self.regions, self.systems, self.clones, runs
        )
        self.lineages = Lineages(ledger, LineageLedger(ledger), self.reproductions.of)

    def _add_series(self) -> None:
        """Many runs, and those that are launched by the clock."""
        ledger = SeriesLedger(self.ledger)
        self._plans = SeriesFiles(self.settings.series_dir, ledger.all if self.folders.are_published else tuple)
        self.series = SeriesService(
            run_ledger=self.ledger,
            ledger=ledger,
            files=self._plans,
            warehouse=self.warehouse,
            workloads=self.workloads,
            regions=self.regions,
            job_secrets=self._secrets,
            preflight=self.preflight,
            runs=self.runs,
            acting=self.tokens.find_actor,
            clock=self.clock,
        )
        suites = Suites(self.settings.suites_dir)
        self.acceptances = AcceptanceService(
            AcceptanceLedger(self.ledger), self.series, suites, self.regions, self.clock
        )
        self._schedule_ledger = ScheduleLedger(self.ledger)
        self.schedules = ScheduleService(
            self._schedule_ledger, self.series, self.tokens, self.clock, self.settings.console_follows
        )

    def _add_results(self) -> None:
        """What was measured, here and elsewhere, and its ways out."""
        settings, warehouse, folders = self.settings, self.warehouse, self.folders
        self.operations = Operations(settings.data_dir, settings.operations_at_once)
        self.exports = Exports(warehouse, self.operations, settings.export_most_runs, self.heads.find_entry)
        self.reader = make_reader(warehouse.location)
        self.rulesets = Rulesets(settings.rulesets_dir)
        self.read_chips = partial(read_chips, settings.chips_path)
        self.imports = ResultImport(
            settings=settings,
            folders=folders,
            warehouse=warehouse,
            workloads=self.workloads,
            regions=self.regions,
            connect=self._connect,
            operations=self.operations,
            seals=self._seals,
            clock=self.clock,
        )
        self.bundle_imports = BundleImports(
            data_dir=settings.data_dir,
            most_mb=settings.import_most_mb,
            folders=folders,
            ledger=self.ledger,
            warehouse=warehouse,
            seals=self._seals,
            operations=self.operations,
            find_key=self.signing_keys.find,
            rehearsed_regions=self.imports.list_rehearsal_regions,
            clock=self.clock,
        )
        self.reports = Reports(warehouse, self.clock, self.heads.attach)
        are_all_here = folders.are_published or not settings.has_team_ledger
        self._comparing = SealComparing(self.ledger, folders, self._is_rehearsal, are_all_here)
        self.bundles = Bundles(
            folders=folders,
            warehouse=warehouse,
            reports=self.reports,
            rulesets=self.rulesets,
            ledger=self.ledger,
            comparing=self._comparing,
            keys=self.signing_keys,
            heads=self.heads,
            stamps=self.time_stamps,
            connect=self._interactive,
            clock=self.clock,
        )
        self.file_statements = FileStatements(self.signing_keys, self.heads.sign, self.clock)
        self.publishing = Publishing(warehouse, self.clock, self.heads.find_entry)
        self.lab_reports = LabReports(
            self.reports, warehouse, self.ledger, self.rulesets, self.signing_keys, self.clock
        )
        self.mlflow = MlflowExport(self.reader)
        self.mlperf = MlperfExport(folders, self.systems)

    def _add_machine(self) -> None:
        """Health, storage and backups."""
        settings, ledger, folders, clock = self.settings, self.ledger, self.folders, self.clock
        check_folders = folders.check if folders.are_published else None
        self.doctor = Doctor(
            settings,
            self._interactive,
            clock,
            ledger=ledger if settings.has_team_ledger else None,
            run_folders=check_folders,
        )
        self.health = HealthChecks(
            settings=settings,
            connect=self._interactive,
            ledger=ledger,
            clock=clock,
            held=self.schedules.list_held,
            check_folders=check_folders,
            check_warehouse=self.warehouse.revision if settings.has_team_warehouse else None,
        )
        self.storage = Storage(settings, self.warehouse, self.files, self._plans, self._seals, self._comparing)
        self.backups = Backups(settings, ledger, self.warehouse, self._comparing, clock)
        self.ledger_copies = LedgerCopies(settings, clock)
        self.folder_publishing = FolderPublishing(folders)

    def _add_following(self) -> None:
        """What a follower does, and what it tells people."""
        settings, ledger, clock, seals = self.settings, self.ledger, self.clock, self._seals
        self.notifications = Notifications(settings, ledger, self.warehouse, self.causes.sentence, clock)
        self.head_publishing = HeadPublishing(
            settings, ledger, self.heads, self.audit, self._interactive, self.time_stamps, self.notifications, clock
        )
        folders = run_folders(settings, ledger, self._connect)
        cleaning = Cleaning(settings, ledger, folders, self._connect, self.warehouse.record, seals, clock)
        self.following = Following(
            settings=settings,
            ledger=ledger,
            watches=self.watches,
            workloads=self.workloads,
            launches=self._launches,
            folders=folders,
            secrets=self._secrets,
            connect=self._connect,
            record=self.series.record,
            begin_collecting=seals.begin_collecting,
            expect=seals.expect,
            seal=seals.seal_recorded,
            resolving=seals.seal_resolved,
            admission=partial(start_admission, self.acceptances, self.tokens.find_actor),
            schedule=ScheduledLaunches(self._schedule_ledger, self.series, self.schedules, clock).tick,
            delete=DeletionWork(self._deletion_ledger, cleaning, self.annotations, clock).tick,
            alert=BudgetAlerts(ledger, self._budget_ledger, clock).tick,
            notify=self.notifications.tick,
            publish_head=replace(self.head_publishing, connect=self._connect).tick,
            diagnose=AscendFd(settings.ascend_fd_venv).diagnose,
            slow_share=self.slow_share,
            clock=clock,
        )

    def default_region(self) -> str:
        """The region of the default profile; without that profile, the first that has results. Raises ConfigError."""
        if self.settings.profile in self.regions.names():
            return self.regions.profile().region
        regions = self.warehouse.facets.list_regions()
        if not regions:
            raise ConfigError(Message("no results yet, and no profile with a region"), Message("use --region"))
        return regions[0].region

    def _is_rehearsal(self, profile: str) -> bool | None:
        """Whether a profile is that of a sandbox; None if it cannot be read."""
        try:
            return self.regions.profile(profile).rehearsal
        except AisbenchError:
            return None

    def slow_share(self) -> float | None:
        """The share of the median card below which the ruleset calls a card a straggler; None: it has no such rule."""
        try:
            rule = Rulesets(self.settings.rulesets_dir).get(self.settings.ruleset).run.V05
        except AisbenchError:  # whoever records the run is told
            return None
        return rule.share if rule else None


def open_core(settings: Settings | None = None, clock: Clock | None = None, machine: Clock = utc_now) -> Core:
    """The services of the settings. Raises ConfigError or SpecError when the settings cannot be used.

    `clock`: by default the ledger's, as measured against this `machine`'s.

    With a read-only data folder everything can be read, and whatever stores something raises ReadOnlyFolder."""
    settings = settings or load_settings()
    prepare_data_folder(settings)
    if not settings.has_team_ledger:
        require_known_schema(settings.ledger_path)
    if not is_read_only(settings.data_dir):  # without a handler Python prints warnings and errors to stderr
        start_console_log(settings.data_dir)
    ledger = Ledger(ledger_location(settings), machine)
    core = Core(
        settings,
        ledger,
        Warehouse(warehouse_location(settings), rulesets=Rulesets(settings.rulesets_dir), ruleset_id=settings.ruleset),
        Clouds(settings, settings.request_seconds, machine),
        Clouds(settings, settings.look_seconds, machine),
        clock or ledger.now,
    )
    record_with(core.audit.record)
    return core


def open_reader() -> Reader:
    """A reader of the settings' warehouse that needs neither ledger nor data folder. Raises ConfigError."""
    return make_reader(warehouse_location(load_settings()))
