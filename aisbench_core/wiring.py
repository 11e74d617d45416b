"""Composes the services; the only module that names concrete adapters."""

import logging
import threading
from datetime import UTC, datetime, timedelta

from aisbench_core.access.guard import record_with
from aisbench_core.access.operations import Operations
from aisbench_core.accounts.audit import Audit
from aisbench_core.accounts.audit_heads import AuditHeads
from aisbench_core.accounts.identities import Identities
from aisbench_core.accounts.open_sessions import OpenSessions
from aisbench_core.accounts.people import People
from aisbench_core.accounts.sessions import Sessions
from aisbench_core.accounts.sign_in_audit import SignInAudit
from aisbench_core.accounts.sign_ins import SignIns
from aisbench_core.annotations import AnnotationService
from aisbench_core.authoring.software import SoftwarePackages
from aisbench_core.authoring.workloads import Workloads
from aisbench_core.backups.creating import Backups
from aisbench_core.backups.ledger_copies import LedgerCopies
from aisbench_core.cleaning.service import Cleaning
from aisbench_core.cloud.ports import Cloud, Connect
from aisbench_core.console_log import ConsoleLogFile
from aisbench_core.credentials import Credentials, find_credentials
from aisbench_core.data_folder import prepare_data_folder
from aisbench_core.diagnosing.ascend_fd import AscendFd
from aisbench_core.diagnosing.service import Causes
from aisbench_core.doctor.examination import Doctor
from aisbench_core.errors import AisbenchError, ConfigError
from aisbench_core.health import HealthChecks
from aisbench_core.importing.service import ResultImport
from aisbench_core.job_secrets import JobSecrets
from aisbench_core.logs.run_logs import RunLogs
from aisbench_core.messages import Message
from aisbench_core.mlflow.exporting import MlflowExport
from aisbench_core.model import Api, Clock
from aisbench_core.notifications.service import Notifications
from aisbench_core.preflight.service import Preflight
from aisbench_core.private_files import is_read_only
from aisbench_core.progress.overview import RunOverviews
from aisbench_core.progress.snapshots import RunSnapshots
from aisbench_core.region_files import RegionFiles
from aisbench_core.region_resources import RegionResources
from aisbench_core.regions import Regions
from aisbench_core.report.reports import Reports
from aisbench_core.reproducing.reproductions import Clones, Reproductions
from aisbench_core.rulesets.ruleset import Rulesets
from aisbench_core.run_names import RunNames
from aisbench_core.running.algorithms import Algorithms
from aisbench_core.running.budgets.alerts import BudgetAlerts
from aisbench_core.running.budgets.approvals import Approvals
from aisbench_core.running.budgets.ledger import BudgetLedger
from aisbench_core.running.budgets.service import Budgets
from aisbench_core.running.follower import Following
from aisbench_core.running.jobs import Jobs
from aisbench_core.running.ledger import Ledger
from aisbench_core.running.ledger_file import require_known_schema
from aisbench_core.running.ledger_schedules import ScheduleLedger
from aisbench_core.running.ledger_series import SeriesLedger
from aisbench_core.running.ledger_tokens import TokenLedger
from aisbench_core.running.ledger_watches import WatchLedger
from aisbench_core.running.publishing.code import LaunchedCode
from aisbench_core.running.publishing.location import run_folders
from aisbench_core.running.publishing.migrating import FolderPublishing
from aisbench_core.running.run_files import RunFiles, SeriesFiles
from aisbench_core.running.runs import Launches, Runs
from aisbench_core.schedules.launching import ScheduledLaunches
from aisbench_core.schedules.service import ScheduleService
from aisbench_core.seals.comparing import SealComparing
from aisbench_core.seals.service import Seals
from aisbench_core.series.service import SeriesService
from aisbench_core.settings import Profile, Settings, load_profile, load_settings
from aisbench_core.storage import Storage, ledger_location, warehouse_location
from aisbench_core.system.systems import Systems
from aisbench_core.tokens.service import Tokens
from aisbench_core.upstream.configs.service import Configs
from aisbench_core.upstream.packages.service import Packages
from aisbench_core.warehouse import Warehouse
from aisbench_core.warehouse.exporting.limited import Exports
from aisbench_core.warehouse.store.reading import Reader, reader


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
        self.watches = WatchLedger(ledger)
        heads = AuditHeads(settings.audit_heads_path, settings.ledger)
        self.audit = Audit(ledger, settings.keep_audit_days, clock, heads)
        self.people = People(ledger, clock)
        self.sign_in_audit = SignInAudit(self.audit.record, clock)
        self.sessions = Sessions(settings, self.people, clock, self.sign_in_audit)
        self.sign_ins = SignIns(ledger, self.sessions, self.people, Identities(ledger), self.sign_in_audit)
        self.open_sessions = OpenSessions(ledger, self.sessions, clock)
        self.tokens = Tokens(TokenLedger(ledger), clock, self.people.role_of, self.people.require_program_name)
        self.warehouse = warehouse
        self.operations = Operations(settings.data_dir, settings.operations_at_once)
        self.exports = Exports(warehouse, self.operations, settings.export_most_runs)
        self.workloads = workloads = Workloads(settings.workloads_dir, settings.own_workloads_dir)
        self.regions = regions = Regions(settings, interactive)
        self.region_resources = RegionResources(regions, interactive)
        self.region_files = RegionFiles(interactive)
        self.folders = folders = run_folders(settings, ledger, interactive)
        check_folders = folders.check if folders.are_published else None
        check_warehouse = warehouse.revision if settings.has_team_warehouse else None
        seals = Seals(ledger, folders, self.audit, clock)
        self.doctor = Doctor(
            settings,
            interactive,
            clock,
            ledger=ledger if settings.has_team_ledger else None,
            run_folders=check_folders,
        )
        self.configs = Configs(settings, workloads)
        self.packages = Packages(settings, workloads)
        self.software = SoftwarePackages(settings.software_dir)
        secrets = JobSecrets(settings)
        self.preflight = preflight = Preflight(settings, workloads, regions, secrets, interactive, ledger.find)
        self.systems = Systems(settings, ledger, folders, warehouse.record, seals, clock)
        launches = Launches(settings.data_dir / "launching", folders, ledger.has)
        code = LaunchedCode(settings, folders, workloads, connect)
        self.runs = runs = Runs(
            settings,
            ledger,
            folders,
            workloads,
            regions,
            launches,
            preflight,
            self.systems.take_over,
            code.send,
            seals.seal_launched,
            clock,
        )
        budgets = BudgetLedger(ledger)
        self.budgets = Budgets(budgets, clock)
        self.approvals = Approvals(ledger, SeriesLedger(ledger), budgets, clock)
        self.jobs = Jobs(ledger, interactive, runs, clock)
        self.algorithms = Algorithms(workloads, connect, interactive, runs.open_folders, settings.shared_code)
        self.files = RunFiles(folders, ledger)
        overviews = RunOverviews(self.files, warehouse, clock)
        self.snapshots = RunSnapshots(self.files, overviews, clock)
        self.causes = Causes(folders, ledger, self.watches, workloads)
        self.logs = RunLogs(self.files.log_files)
        self.cleaning = Cleaning(settings, ledger, folders, interactive, warehouse.record, seals, clock)
        plans = SeriesFiles(settings.series_dir, SeriesLedger(ledger).all if folders.are_published else tuple)
        self.series = SeriesService(
            ledger, SeriesLedger(ledger), plans, warehouse, workloads, regions, secrets, preflight, runs,
            self.tokens.acting, clock,
        )  # fmt: skip
        schedules = ScheduleLedger(ledger)
        self.schedules = ScheduleService(schedules, self.series, self.tokens, clock, settings.console_follows)
        held = self.schedules.held
        self.health = HealthChecks(settings, interactive, ledger, clock, held, check_folders, check_warehouse)
        self.notifications = Notifications(settings, ledger, warehouse, self.causes.sentence, clock)
        self.following = Following(
            settings, ledger, self.watches, workloads, launches, run_folders(settings, ledger, connect),
            secrets, connect, self.series.record, seals.begin_collecting, seals.expect, seals.seal_recorded,
            seals.resolving, self.series.admission,
            ScheduledLaunches(schedules, self.series, self.schedules, clock).tick,
            BudgetAlerts(ledger, budgets, clock).tick,
            self.notifications.tick, AscendFd(settings.ascend_fd_venv).diagnose, self.slow_share, clock,
        )  # fmt: skip
        self.annotations = AnnotationService(settings, ledger, folders, warehouse, clock)
        self.run_names = RunNames(workloads, self.annotations)
        self.reader = reader(warehouse.location)
        are_all_here = folders.are_published or not settings.has_team_ledger
        comparing = SealComparing(ledger, folders, self._rehearses, are_all_here)
        self.storage = Storage(settings, warehouse, self.files, plans, seals, comparing)
        self.backups = Backups(settings, ledger, warehouse, comparing, clock)
        self.ledger_copies = LedgerCopies(settings, clock)
        self.folder_publishing = FolderPublishing(folders)
        self.rulesets = Rulesets(settings.rulesets_dir)
        self.imports = ResultImport(
            settings, folders, warehouse, workloads, regions, connect, self.operations, seals, clock
        )
        self.clones = Clones(ledger, warehouse, workloads)
        self.reproductions = Reproductions(
            settings, ledger, warehouse, workloads, regions, self.systems, self.clones, runs
        )
        self.reports = Reports(warehouse, clock)
        self.mlflow = MlflowExport(self.reader)

    def default_region(self) -> str:
        """The region of the default profile; without that profile, the first that has results. Raises ConfigError."""
        if self.settings.profile in self.regions.names():
            return self.regions.profile().region
        regions = self.warehouse.regions()
        if not regions:
            raise ConfigError(Message("no results yet, and no profile with a region"), Message("use --region"))
        return regions[0].region

    def _rehearses(self, profile: str) -> bool | None:
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


def utc_now() -> datetime:
    """The time, aware and in UTC."""
    return datetime.now(UTC)


def open_core(settings: Settings | None = None, clock: Clock | None = None, machine: Clock = utc_now) -> Core:
    """The services of the settings. Raises ConfigError or SpecError when the settings cannot be used.

    `clock`: by default the ledger's, as measured against this `machine`'s.

    With a read-only data folder everything can be read, and whatever stores something raises ReadOnlyFolder."""
    settings = settings or load_settings()
    prepare_data_folder(settings)
    if not settings.has_team_ledger:
        require_known_schema(settings.ledger_path)
    _log_to_file(settings)
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
    return reader(warehouse_location(load_settings()))


class Clouds:
    """Clouds by profile; adapters are reused until the profile or its keys change."""

    def __init__(self, settings: Settings, request_seconds: float, machine: Clock = utc_now) -> None:
        self._settings = settings
        self._machine = machine
        self._request_seconds = request_seconds
        self._guard = threading.Lock()
        self._opened: dict[tuple[str, Api], tuple[Profile, Credentials, Cloud]] = {}

    def __call__(self, profile: str, api: Api | None = None) -> Cloud:
        """The cloud of a profile. Raises ConfigError when the profile or its keys cannot be used.

        `api`: the one that a run was launched with; None means the profile's own."""
        loaded = load_profile(self._settings, profile)
        keys = find_credentials(self._settings, loaded)
        chosen_api = api or loaded.api
        with self._guard:
            opened = self._opened.get((profile, chosen_api))
            if opened is None or opened[:2] != (loaded, keys):
                opened = (loaded, keys, self._open(loaded, keys, chosen_api))
                self._opened[profile, chosen_api] = opened
            return opened[2]

    def _open(self, profile: Profile, keys: Credentials, api: Api) -> Cloud:
        # The SDKs take a second to load, which commands that only read results should not pay.
        from aisbench_core.cloud.modelarts_package.sdk_v1_calls import SdkV1Calls
        from aisbench_core.cloud.modelarts_package.service import ModelArtsSdk
        from aisbench_core.cloud.modelarts_v1.service import ModelArtsV1
        from aisbench_core.cloud.modelarts_v2.service import ModelArtsV2
        from aisbench_core.cloud.obs.objects import ObsStore
        from aisbench_core.cloud.swr.registry import SwrRegistry

        seconds = self._request_seconds
        objects = ObsStore(profile, keys, self._settings.transfers, seconds, machine=self._machine)

        def ahead() -> timedelta | None:
            return objects.clock.ahead

        images = SwrRegistry(profile, keys, seconds)
        match api:
            case Api.V2:
                return Cloud(profile, objects, ModelArtsV2(profile, keys, seconds), images, ahead)
            case Api.V1:
                return Cloud(profile, objects, ModelArtsV1(profile, keys, seconds), images, ahead)
            case Api.SDK:
                return Cloud(profile, objects, ModelArtsSdk(profile, keys, seconds), images, ahead)
            case Api.SDK_V1:
                return Cloud(profile, objects, ModelArtsV1(profile, keys, seconds, SdkV1Calls), images, ahead)


def _log_to_file(settings: Settings) -> None:
    """Log to data/console.log."""
    log = logging.getLogger("aisbench_core")
    if any(isinstance(handler, ConsoleLogFile) for handler in log.handlers):
        return
    if is_read_only(settings.data_dir):  # without a handler Python prints warnings and errors to stderr
        return
    log.addHandler(ConsoleLogFile(settings.data_dir))
    log.setLevel(logging.INFO)
