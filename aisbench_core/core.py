"""The services that pages and command line use. `aisbench_core/wiring.py` composes them."""

from dataclasses import dataclass

from aisbench_core.annotations import AnnotationService
from aisbench_core.authoring.software import SoftwarePackages
from aisbench_core.authoring.workloads import Workloads
from aisbench_core.doctor.examination import Doctor
from aisbench_core.health import HealthChecks
from aisbench_core.importing.service import ResultImport
from aisbench_core.mlflow.exporting import MlflowExport
from aisbench_core.model import Clock
from aisbench_core.preflight.service import Preflight
from aisbench_core.regions import Regions
from aisbench_core.report.reports import Reports
from aisbench_core.reproducing.clones import Clones
from aisbench_core.reproducing.reproductions import Reproductions
from aisbench_core.rulesets.registry import Rulesets
from aisbench_core.running.following import Following
from aisbench_core.running.jobs import Jobs
from aisbench_core.running.ledger import Ledger
from aisbench_core.running.run_files import RunFiles
from aisbench_core.running.runs import Runs
from aisbench_core.series.service import SeriesService
from aisbench_core.settings import Settings
from aisbench_core.storage import Storage
from aisbench_core.system.systems import Systems
from aisbench_core.upstream.configs.service import Configs
from aisbench_core.upstream.packages.service import Packages
from aisbench_core.warehouse import Warehouse
from aisbench_core.warehouse.store.reading import Reader


@dataclass(frozen=True, slots=True)
class Core:
    """One service per noun. Threads may share them."""

    settings: Settings
    clock: Clock
    regions: Regions
    health: HealthChecks
    doctor: Doctor
    workloads: Workloads
    configs: Configs
    packages: Packages
    software: SoftwarePackages
    preflight: Preflight
    ledger: Ledger
    runs: Runs
    files: RunFiles
    series: SeriesService
    jobs: Jobs
    following: Following
    systems: Systems
    annotations: AnnotationService
    warehouse: Warehouse
    reader: Reader
    storage: Storage
    rulesets: Rulesets
    imports: ResultImport
    clones: Clones
    reproductions: Reproductions
    reports: Reports
    mlflow: MlflowExport
