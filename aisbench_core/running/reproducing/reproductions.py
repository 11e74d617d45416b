"""Clones and reproductions of a run: its spec, what is still the same, the launch, and how the new result compares."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from aisbench_core.base.documents import parse_document
from aisbench_core.base.errors import AisbenchError, ConfigError, RunNotFound
from aisbench_core.base.messages import Hint, Message, choose_plural, make_verbatim
from aisbench_core.cloud.regions import Regions
from aisbench_core.config.settings import Profile, Settings
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.server_files import closed_files
from aisbench_core.domain.authoring.workloads import Workload, Workloads
from aisbench_core.domain.preflight.rule import subject_of
from aisbench_core.domain.statistics.summary import prediction_interval
from aisbench_core.model import Actor, Finding, Origin, Run, RunSpec, RunState, canonical_json, flatten_spec
from aisbench_core.model.spec_fields import fields_where
from aisbench_core.running.code import files_beside, read_code
from aisbench_core.running.reproducing.values import Aspect, Original, Repeated, ReproductionCheck, Sameness
from aisbench_core.running.run_files import LaunchFacts, read_facts
from aisbench_core.running.runs import Runs
from aisbench_core.running.systems.systems import Systems
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.compared import Comparability
from aisbench_core.warehouse.values.histories import Trend
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow

# The newest runs of the original's group that are used.
MOST = 1000

NOT_RECORDED = Message("was not recorded then")
NOT_AVAILABLE = Message("is unknown now")
NEVER_READ = Message("only the job reads it; compared when it has run")
NO_REGION = Message("the region did not answer")
NOT_OFFERED = Message("the region does not offer the flavor")


@dataclass(frozen=True, slots=True)
class Clones:
    """Clones specs of runs. Threads may share it."""

    ledger: Ledger
    warehouse: Warehouse
    workloads: Workloads

    def original(self, run_id: str) -> Original:
        """A run's spec. Raises RunNotFound, and SpecError when a newer version wrote it."""
        try:
            run = self.ledger.get(run_id)
        except RunNotFound:
            return self._find_recorded(run_id)
        return Original(run.run_id, run.spec, run.profile)

    def spec(self, original: Original) -> RunSpec:
        """A spec equal to the original's; fields that an imported run does not have keep their defaults.

        The workload's own code may have another path on this machine: the spec then names the one here."""
        if original.known is not None:
            answers = original.spec.model_dump(include=set(original.known))
            answers = {"workload": original.spec.workload, **answers}
            return parse_document(RunSpec, answers, Message("run {run_id}", run_id=original.run_id))
        spec = original.spec
        with suppress(AisbenchError):  # the workload is not installed here
            workload, path = self.workloads.get(spec.workload), Path(spec.code_dir)
            if workload.ships_code and path.parts[-2:] == workload.code_dir.parts[-2:] and not path.is_dir():
                return spec.model_copy(update={"code_dir": ""})
        return spec

    def _find_recorded(self, run_id: str) -> Original:
        """A run that only the warehouse has: imported, of another machine, or older than this ledger."""
        row, requested = self.warehouse.runs.find_row(run_id), self.warehouse.runs.find_spec(run_id)
        if row is None or requested is None:
            raise RunNotFound(
                Message("there is no run {run_id!r}", run_id=run_id),
                Message("`aisbench runs` and `aisbench leaderboard` list them"),
            )
        answers: Mapping[str, Any] = {"workload": row.workload, **requested.spec}
        spec = parse_document(RunSpec, answers, Message("the spec of run {run_id}", run_id=run_id))
        return Original(run_id, spec, row.profile, frozenset(requested.spec) if row.origin is Origin.IMPORTED else None)


@dataclass(frozen=True, slots=True)
class Reproductions:
    """Checks, launches and evaluates reproductions. Threads may share it."""

    settings: Settings
    ledger: Ledger
    warehouse: Warehouse
    workloads: Workloads
    regions: Regions
    systems: Systems
    clones: Clones
    runs: Runs

    def check(self, run_id: str, reader: Actor, profile: str = "") -> ReproductionCheck:
        """Compare everything that decides the result with the original; launches nothing.

        `reader`: who reads the answer; code on this machine that is closed to them is not read. `profile`: where to
        run; by default where the original ran, or else the settings' profile. Raises RunNotFound, and ConfigError when
        there is no such workload or profile."""
        original = self.clones.original(run_id)
        own = original.profile if original.profile in self.regions.names() else ""
        chosen = self.regions.profile(profile or own)
        spec = self.clones.spec(original)
        workload = self.workloads.get(spec.workload)
        now = subject_of(spec, chosen, self.workloads).spec
        row, facts = self.warehouse.runs.find_row(original.run_id), self._read_launch(original.run_id)
        compared = (
            *self._of_region(original, row, facts, now, chosen),
            *self._of_code(original, row, facts, now, workload, closed_files(spec, reader, self.runs.open_folders)),
            *_of_spec(original, now),
            *_of_data(row, now),
            self._of_system(original, now, chosen),
        )
        return ReproductionCheck(original, spec, chosen.name, compared)

    @permitted
    def launch(self, check: ReproductionCheck, actor: Actor, token: str = "") -> Run:
        """Launch the checked spec; the new run records which run it reproduces. Raises SpecError as a launch does."""
        return self.runs.launch(check.spec, check.profile, actor, token, check.original.run_id)

    def of(self, run_id: str) -> str:
        """The id of the run that this one reproduces; empty if none."""
        row = self.warehouse.runs.find_row(run_id)
        if row:
            return row.reproduces
        facts = self._read_launch(run_id)
        return facts.launched.reproduces if facts and facts.launched else ""

    def result(self, run_id: str) -> Repeated | None:
        """The reproduction's result against the original's; None while one of them is not recorded."""
        row = self.warehouse.runs.find_row(run_id)
        original = self.warehouse.runs.find_row(row.reproduces) if row and row.reproduces else None
        return _compare_repeated(self.warehouse, original, row) if original and row else None

    def _of_region(
        self, original: Original, row: RunRow | None, facts: LaunchFacts | None, now: RunSpec, chosen: Profile
    ) -> Iterator[Aspect]:
        then = row or facts
        yield _make_aspect("profile", original.profile, chosen.name)
        yield _make_aspect("region", then.region if then else "", chosen.region)
        offered = self.regions.flavors_if_reachable(chosen.name)
        flavor = next((candidate for candidate in offered if candidate.flavor_id == now.flavor), None)
        accelerator = then.accelerator if then else ""
        if offered and now.flavor and flavor is None:
            yield Aspect("accelerator", accelerator or now.flavor, "", Sameness.DIFFERENT, NOT_OFFERED)
        else:
            chip = (flavor.product or flavor.accelerator) if flavor else ""
            yield _make_aspect("accelerator", accelerator, chip, "" if offered else NO_REGION)

    def _of_code(
        self,
        original: Original,
        row: RunRow | None,
        facts: LaunchFacts | None,
        now: RunSpec,
        workload: Workload,
        closed: Sequence[Finding],
    ) -> Iterator[Aspect]:
        """The workload's manifest, the code, and what the manifest says of the measurement."""
        manifest = row.manifest_sha256 if row else ""
        manifest = manifest or (facts.launched.manifest_sha256 if facts and facts.launched else "")
        yield _make_aspect("manifest_sha256", manifest, workload.manifest_sha256)
        if now.code_dir or original.spec.code_dir:
            then = row.code_sha256 if row else ""
            with suppress(RunNotFound):
                then = self.ledger.get(original.run_id).code_sha256 or then
            unread = Aspect("code_sha256", then, "", Sameness.NOT_KNOWN, closed[0].message) if closed else None
            yield unread or _compare_code(then, now, workload)
        answers = workload.facts(now)
        for name in ("throughput_definition", "dataset", "accuracy_target"):
            yield _make_aspect(name, _to_text(getattr(row, name, None)), _to_text(getattr(answers, name)))
        requested = self.warehouse.runs.find_spec(original.run_id)
        speed = requested.speed_parameters if requested else None
        then = "" if speed is None else canonical_json(speed)
        yield _make_aspect("speed_parameters", then, canonical_json(answers.speed_parameters))

    def _of_system(self, original: Original, now: RunSpec, chosen: Profile) -> Aspect:
        """The original's system description against the one that a new run would get."""
        defaults = self.systems.template_for(chosen.name, now)
        counted = choose_plural(len(defaults), "{number} field stated", "{number} fields stated")
        try:
            then = self.systems.of(original.run_id).stated.values
        except AisbenchError:
            missing = Message("the run's folder is not on this machine")
            return Aspect("system", "", counted, Sameness.NOT_KNOWN, missing)
        changed = sorted(name for name in {*then, *defaults} if str(then.get(name, "")) != str(defaults.get(name, "")))
        same = {name: str(value) for name, value in then.items()} == {name: str(v) for name, v in defaults.items()}
        return Aspect(
            "system",
            choose_plural(len(then), "{number} field stated", "{number} fields stated"),
            counted,
            Sameness.SAME if same else Sameness.DIFFERENT,
            make_verbatim(", ".join(changed)) if changed else "",
        )

    def _read_launch(self, run_id: str) -> LaunchFacts | None:
        try:
            return read_facts(self.runs.folders.read(run_id).launch)
        except AisbenchError:  # imported, or launched on another machine
            return None


def _compare_code(then: str, now: RunSpec, workload: Workload) -> Aspect:
    """The hash of the code with packages and script, as it would be uploaded."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "ma-pre-start.sh"
            sha256 = read_code(now, workload, files_beside(now, script)).sha256 if now.code_dir else ""
    except ConfigError as error:
        return Aspect("code_sha256", then, "", Sameness.NOT_KNOWN, error.message)
    return _make_aspect("code_sha256", then, sha256)


def _of_spec(original: Original, now: RunSpec) -> Iterator[Aspect]:
    """Aspects of the specs; those that neither spec sets are left out."""
    for name in fields_where(lambda field: field.is_reproduced):
        fields = ("engine_name", name) if name == "engine_version" else (name,)
        before, after = _field_text(original.spec, fields), _field_text(now, fields)
        if original.known is not None and not set(fields) <= original.known:
            yield Aspect(name, "", after, Sameness.NOT_KNOWN, Message("not in the imported result"))
        elif before or after:
            same = canonical_json(_get_compared(original.spec, fields)) == canonical_json(_get_compared(now, fields))
            # The path of a package does not matter; its content is part of the code's hash.
            same = same or (name == "update" and before == after)
            yield Aspect(name, before or "–", after or "–", Sameness.SAME if same else Sameness.DIFFERENT)


def _of_data(row: RunRow | None, now: RunSpec) -> Iterator[Aspect]:
    """Only input channels: data that comes with the code is part of the code's hash."""
    if any(channel.path for channel in now.inputs):
        yield Aspect("dataset_sha256", row.dataset_sha256 if row else "", "", Sameness.NOT_KNOWN, NEVER_READ)


def _make_aspect(name: str, then: str, now: str, note: Hint = "") -> Aspect:
    """An aspect; an empty text means "not known"."""
    if not then or not now:
        return Aspect(name, then, now, Sameness.NOT_KNOWN, note or (NOT_RECORDED if now else NOT_AVAILABLE))
    return Aspect(name, then, now, Sameness.SAME if then == now else Sameness.DIFFERENT)


def _get_compared(spec: RunSpec, fields: tuple[str, ...]) -> dict[str, object]:
    """Fields of a spec, flat. Of outputs only how the job gets them: every run writes to a path of its own."""
    values = flatten_spec(spec, fields)
    return values if fields != ("outputs",) else {name: value for name, value in values.items() if name.count(".") > 1}


def _field_text(spec: RunSpec, fields: tuple[str, ...]) -> str:
    """Fields of a spec on one line; packages by their file names."""
    values = _get_compared(spec, fields)
    if fields[0] in values and len(fields) == 1:
        return _to_text(values[fields[0]])
    if fields == ("update",):
        values = {name: PurePath(str(path)).name for name, path in values.items()}
    return ", ".join(f"{name.partition('.')[2] or name}={_to_text(value)}" for name, value in sorted(values.items()))


def _to_text(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _compare_repeated(warehouse: Warehouse, original: RunRow, run: RunRow) -> Repeated:
    """A result against the original's, and against the spread of the original's group.

    The group: valid runs of its benchmark configuration, hardware and software, without reproductions."""
    query = BoardQuery(
        original.region,
        rehearsal=original.rehearsal,
        fingerprint=original.fingerprint,
        framework_versions=(original.framework_version,),
        synthetic_data=original.synthetic_data,
        origin=original.origin,
        sort="created_at",
        limit=MOST,
    )
    group = Trend.of(original)
    rows = [row for row in warehouse.runs.list_rows(query).rows if not row.reproduces and Trend.of(row) == group]
    throughputs = [row.throughput for row in rows if row.throughput is not None]
    expected = prediction_interval(throughputs)
    compared = warehouse.runs.compare([original.run_id, run.run_id])
    comparable = compared.verdict is Comparability.COMPARABLE and run.state is RunState.COMPLETED
    measured = original.throughput is not None and run.throughput is not None and original.throughput > 0
    data = _make_aspect("dataset_sha256", original.dataset_sha256, run.dataset_sha256)
    return Repeated(
        original=original,
        run=run,
        comparability=compared.verdict,
        not_comparable=compared.reasons,
        ratio=(run.throughput or 0.0) / (original.throughput or 1.0) if comparable and measured else None,
        runs=len(throughputs),
        low=expected[0] if expected else None,
        high=expected[1] if expected else None,
        dataset=data.sameness,
    )
