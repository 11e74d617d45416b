"""Reproductions of a run: what is still the same, the launch, and how the new result compares."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from aisbench_core.authoring.workloads import Workload, Workloads
from aisbench_core.errors import AisbenchError, ConfigError, RunNotFound
from aisbench_core.messages import Message
from aisbench_core.model import Actor, Run, RunSpec
from aisbench_core.preflight.rule import subject_of
from aisbench_core.regions import Regions
from aisbench_core.reproducing import aspects
from aisbench_core.reproducing.aspects import aspect_of
from aisbench_core.reproducing.clones import Clones
from aisbench_core.reproducing.results import repeated
from aisbench_core.reproducing.values import Aspect, Original, Repeated, ReproductionCheck, Sameness
from aisbench_core.running.code import files_beside, read_code
from aisbench_core.running.launch_facts import LaunchFacts, read_facts
from aisbench_core.running.ledger import Ledger
from aisbench_core.running.run_paths import RunFolder
from aisbench_core.running.runs import Runs
from aisbench_core.settings import Profile, Settings
from aisbench_core.system.systems import Systems
from aisbench_core.warehouse import RunRow, Warehouse

NEVER_READ = Message("only the job reads it; compared when it has run")
NO_REGION = Message("the region did not answer")
NOT_OFFERED = Message("the region does not offer the flavor")


class Reproductions:
    """Checks, launches and evaluates reproductions. Threads may share it."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        warehouse: Warehouse,
        workloads: Workloads,
        regions: Regions,
        systems: Systems,
        clones: Clones,
        runs: Runs,
    ) -> None:
        self._settings = settings
        self._ledger = ledger
        self._warehouse = warehouse
        self._workloads = workloads
        self._regions = regions
        self._systems = systems
        self._clones = clones
        self._runs = runs

    def check(self, run_id: str, profile: str = "") -> ReproductionCheck:
        """Compare everything that decides the result with the original; launches nothing.

        `profile`: where to run; by default where the original ran, or else the settings' profile. Raises RunNotFound,
        and ConfigError when there is no such workload or profile."""
        original = self._clones.original(run_id)
        chosen = self._regions.profile(profile or self._own(original))
        spec = self._clones.spec(original)
        workload = self._workloads.get(spec.workload)
        now = subject_of(spec, chosen, self._workloads).spec
        row = self._warehouse.run(original.run_id)
        compared = (
            *self._of_place(original, row, now, chosen),
            *self._of_code(original, row, now, workload),
            *aspects.of_spec(original, now),
            *self._of_data(row, now),
            self._of_system(original, now, chosen),
        )
        return ReproductionCheck(original, spec, chosen.name, compared)

    def launch(self, check: ReproductionCheck, actor: Actor, token: str = "") -> Run:
        """Launch the checked spec; the new run records which run it reproduces. Raises SpecError as a launch does."""
        return self._runs.launch(check.spec, check.profile, actor, token, check.original.run_id)

    def of(self, run_id: str) -> str:
        """The id of the run that this one reproduces; empty if none."""
        row = self._warehouse.run(run_id)
        if row:
            return row.reproduces
        facts = self._facts(run_id)
        return facts.launched.reproduces if facts and facts.launched else ""

    def result(self, run_id: str) -> Repeated | None:
        """The reproduction's result against the original's; None while one of them is not recorded."""
        row = self._warehouse.run(run_id)
        original = self._warehouse.run(row.reproduces) if row and row.reproduces else None
        return repeated(self._warehouse, original, row) if original and row else None

    def _own(self, original: Original) -> str:
        return original.profile if original.profile in self._regions.names() else ""

    def _of_place(self, original: Original, row: RunRow | None, now: RunSpec, chosen: Profile) -> Iterator[Aspect]:
        facts = self._facts(original.run_id)
        yield aspect_of("profile", original.profile, chosen.name)
        yield aspect_of("region", row.region if row else facts.region if facts else "", chosen.region)
        offered = self._regions.flavors_if_reachable(chosen.name)
        flavor = next((candidate for candidate in offered if candidate.flavor_id == now.flavor), None)
        accelerator = row.accelerator if row else facts.accelerator if facts else ""
        if offered and now.flavor and flavor is None:
            yield Aspect("accelerator", accelerator or now.flavor, "", Sameness.DIFFERENT, NOT_OFFERED)
        else:
            chip = (flavor.product or flavor.accelerator) if flavor else ""
            yield aspect_of("accelerator", accelerator, chip, "" if offered else NO_REGION)

    def _of_code(self, original: Original, row: RunRow | None, now: RunSpec, workload: Workload) -> Iterator[Aspect]:
        facts = self._facts(original.run_id)
        manifest = row.manifest_sha256 if row else ""
        manifest = manifest or (facts.launched.manifest_sha256 if facts and facts.launched else "")
        yield aspect_of("manifest_sha256", manifest, workload.manifest_sha256)
        if now.code_dir or original.spec.code_dir:
            yield self._code(self._code_then(original, row), now, workload)
        requested = self._warehouse.spec_of(original.run_id)
        answers = workload.facts(now)
        yield from aspects.of_facts(
            row,
            requested.speed_parameters if requested else None,
            {
                "throughput_definition": answers.throughput_definition,
                "dataset": answers.dataset,
                "accuracy_target": answers.accuracy_target,
                "speed_parameters": answers.speed_parameters,
            },
        )

    def _code_then(self, original: Original, row: RunRow | None) -> str:
        try:
            return self._ledger.get(original.run_id).code_sha256 or (row.code_sha256 if row else "")
        except RunNotFound:
            return row.code_sha256 if row else ""

    def _code(self, then: str, now: RunSpec, workload: Workload) -> Aspect:
        """The hash of the code with packages and script, as it would be uploaded."""
        try:
            with tempfile.TemporaryDirectory() as folder:
                script = Path(folder) / "ma-pre-start.sh"
                sha256 = read_code(now, workload, files_beside(now, script)).sha256 if now.code_dir else ""
        except ConfigError as error:
            return Aspect("code_sha256", then, "", Sameness.NOT_KNOWN, error.message)
        return aspect_of("code_sha256", then, sha256)

    def _of_data(self, row: RunRow | None, now: RunSpec) -> Iterator[Aspect]:
        """Only input channels: data that comes with the code is part of the code's hash."""
        if any(channel.path for channel in now.inputs):
            yield Aspect("dataset_sha256", row.dataset_sha256 if row else "", "", Sameness.NOT_KNOWN, NEVER_READ)

    def _of_system(self, original: Original, now: RunSpec, chosen: Profile) -> Aspect:
        defaults = self._systems.template_for(chosen.name, now)
        try:
            return aspects.stated(self._systems.of(original.run_id).stated.values, defaults)
        except AisbenchError:
            return aspects.stated(None, defaults)

    def _facts(self, run_id: str) -> LaunchFacts | None:
        try:
            return read_facts(RunFolder(self._settings.runs_dir / Path(run_id).name).launch)
        except AisbenchError:  # imported, or launched on another machine
            return None
