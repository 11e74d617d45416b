"""Files of runs and series: facts stored at launch, logs, metrics, the record, and plans of series."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from aisbench_core.base.errors import DamagedLedger, ResultError, RunNotFound
from aisbench_core.base.messages import Message
from aisbench_core.base.messages.file_names import readable_name
from aisbench_core.base.private_files import write_whole
from aisbench_core.config.settings import Profile
from aisbench_core.domain.liveness.slow_cards import CardRate
from aisbench_core.domain.progress.points import read_points
from aisbench_core.domain.results.card_samples import read_card_samples
from aisbench_core.domain.results.record import (
    Unread,
    get_inner_path,
    make_damage_error,
    read_annotations,
    read_record,
    read_samples,
    read_stated,
)
from aisbench_core.domain.results.reported import read_phases, read_step_times
from aisbench_core.domain.summaries.curves import CurveReader, RunCurves, iter_scalars
from aisbench_core.domain.summaries.events import Scalar
from aisbench_core.model import (
    NOTHING_RESOLVED,
    CardSample,
    JobDetails,
    Launched,
    MetricSample,
    PhaseSpan,
    Resolved,
    Run,
    RunRecord,
    Series,
    StepTime,
    TrainingPoint,
    WorkloadFacts,
)
from aisbench_core.running import logs
from aisbench_core.running.job_watch import read_details
from aisbench_core.running.step_files import read_rates
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders import run_paths
from aisbench_core.store.run_folders.cache import names_in
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.parts import FolderPart
from aisbench_core.store.run_folders.resolved import read_resolved
from aisbench_core.store.run_folders.run_paths import RunFolder


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """The workload's and the region's facts at launch, so that a record does not depend on later edits.

    `accelerator` is empty if the region did not answer, `launched` None for runs of versions that did not store it."""

    workload: WorkloadFacts
    region: str
    rehearsal: bool
    accelerator: str = ""
    launched: Launched | None = None


_FACTS = TypeAdapter(LaunchFacts)
_SERIES = TypeAdapter(Series)


def dump_series(series: Series) -> bytes:
    """The content of a series' file."""
    return _SERIES.dump_json(series, indent=2)


def write_facts(facts: LaunchFacts, file: Path) -> None:
    """Write the facts to a file."""
    write_whole(file, _FACTS.dump_json(facts, indent=2))


def read_facts(file: Path) -> LaunchFacts:
    """Read the facts from a file. Raises ResultError when it is missing or damaged."""
    try:
        return _FACTS.validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise ResultError(Message("{file} cannot be read", file=f"{file.parent.name}/{file.name}")) from error


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The folders of all runs. Every method about one run raises RunNotFound."""

    folders: RunFolders
    ledger: Ledger
    curve_reader: CurveReader = field(default_factory=CurveReader)
    # Whole ids that the ledger has: it never forgets a run, and pages ask for the same one many times a second.
    _known: set[str] = field(default_factory=set)

    def nodes(self, run_id: str) -> list[int]:
        """The nodes that have a log."""
        return logs.list_nodes(self._get_folder(run_id, FolderPart.LOGS))

    def log_files(self, run_id: str) -> dict[int, Path]:
        """The log of each node that has one."""
        folder = self._get_folder(run_id, FolderPart.LOGS)
        return {node: folder.log(node) for node in logs.list_nodes(folder)}

    def log_tail(self, run_id: str, node: int, lines: int = 200) -> str:
        """The last lines of a node's log."""
        return logs.read_tail(self._get_folder(run_id, FolderPart.LOGS).log(node), lines)

    def log_read(self, run_id: str, node: int, start: int) -> tuple[str, int]:
        """A node's log from byte `start` on (at most 1 MB), and the offset of the next read."""
        return logs.read(self._get_folder(run_id, FolderPart.LOGS).log(node), start)

    def sizes(self, run_id: str) -> Mapping[str, int]:
        """Bytes of every file by its path below the run's folder, also of those that are only on OBS."""
        folder = self._get_folder(run_id)
        states = {name: _state_of(folder.path / name) for name in names_in(folder.path)}
        here = {name: state[2] for name, state in states.items() if state}  # others were removed meanwhile
        return dict(sorted({**self.folders.removable(folder.path.name, lambda _: True), **here}.items()))

    def file(self, run_id: str, name: str) -> Path:
        """The file of this name, as `sizes` lists it. Raises RunNotFound also if there is none."""
        folder = self._get_folder(run_id, FolderPart.with_file(name))
        if name not in names_in(folder.path):
            raise RunNotFound(
                Message("run {run_id} has no file {name!r}", run_id=folder.path.name, name=name[:200]),
                Message("`aisbench files {run_id}` lists them", run_id=folder.path.name),
            )
        return folder.path / name

    def training_points(self, run_id: str) -> list[TrainingPoint]:
        """What the log said of the training so far."""
        return read_points(self._get_folder(run_id).progress)

    def has_training(self, run_id: str) -> bool:
        """Whether its log said anything of the training, or its code wrote event files; without reading them."""
        folder = self._get_folder(run_id)
        return folder.progress.exists() or folder.summaries.is_dir()

    def revision(self, run_id: str) -> Hashable:
        """Changes with every change of the job's details, samples, training points and cards' rates."""
        folder = self._get_folder(run_id)
        return str(folder.path), *map(_state_of, (folder.job, folder.metrics, folder.progress, folder.rates))

    def directories(self, run: Run, profile: Profile) -> Mapping[str, str]:
        """Where the run's files are in OBS: code, each input and output, and the log, by name."""
        code = {} if not run.code_sha256 else {"code": run_paths.code_path(run.spec, run.code_sha256, profile)}
        channels = (*run.spec.inputs, *run_paths.list_outputs(run, profile))
        return (
            code
            | {channel.name: channel.path for channel in channels if channel.path}
            | {"log": run_paths.log_path(run, profile)}
        )

    def facts(self, run_id: str) -> LaunchFacts:
        """The facts that were stored at its launch. Raises ResultError when they are missing or damaged."""
        return read_facts(self._get_folder(run_id).launch)

    def read_resolved(self, run_id: str) -> Resolved:
        """What the names in its spec stood for when its job was created. Raises ResultError when that is damaged."""
        return read_resolved(self._get_folder(run_id).resolved) or NOTHING_RESOLVED

    def samples(self, run_id: str) -> list[MetricSample]:
        """The metrics sampled so far."""
        return read_samples(self._get_folder(run_id).metrics)

    def job(self, run_id: str) -> JobDetails:
        """What the platform said about the run's job so far. Raises ResultError when the file is damaged."""
        return read_details(self._get_folder(run_id))

    def card_samples(self, run_id: str) -> list[CardSample]:
        """What was measured on the cards inside the job; nothing before the run was collected."""
        return read_card_samples(self._get_folder(run_id).cards)

    def phases(self, run_id: str) -> list[PhaseSpan]:
        """The phases that its ranks reported, by rank and time; nothing before the run was collected."""
        return read_phases(self._get_folder(run_id, FolderPart.REPORTED).reported)

    def step_times(self, run_id: str) -> list[StepTime]:
        """The steps that its ranks reported, by rank and time; nothing before the run was collected."""
        return read_step_times(self._get_folder(run_id, FolderPart.REPORTED).reported)

    def has_step_times(self, run_id: str) -> bool:
        """Whether its ranks reported steps."""
        return any(self._get_folder(run_id, FolderPart.REPORTED).reported.glob("step_times_*"))

    def card_rates(self, run_id: str) -> list[CardRate]:
        """What the cards of a running job did in the last minutes, as far as it reports its steps."""
        return read_rates(self._get_folder(run_id))

    def curves(self, run_id: str) -> RunCurves:
        """The curves of the event files so far."""
        return self.curve_reader.read(self._get_folder(run_id, FolderPart.SUMMARIES).summaries)

    def scalars(self, run_id: str) -> Iterator[tuple[str, Scalar]]:
        """Every scalar of the event files, with its directory, one after the other."""
        return iter_scalars(self._get_folder(run_id, FolderPart.SUMMARIES).summaries)

    def summaries(self, run_id: str) -> Path:
        """The folder of the event files, whether there are any or not."""
        return self._get_folder(run_id, FolderPart.SUMMARIES).summaries

    def record(self, run_id: str) -> RunRecord | None:
        """The run's record, or None before it was collected. Raises ResultError when the files are damaged."""
        folder = self._get_folder(run_id)
        if not folder.record.exists():
            return None
        return _read_record(folder)

    def records(self, unread: Unread | None = None) -> Iterator[RunRecord]:
        """Every record under data/runs/, by run id; no ledger is needed, so the warehouse survives a lost one.

        `unread` is called with the folder and the error of each damaged one; without it, ResultError is raised. Where
        folders are published, all of them are fetched first; raises CloudError and ConfigError then."""
        damaged_runs = set()
        for run_id, error in self.folders.fetch_all():
            if unread is None:
                raise error
            unread(run_id, error)
            damaged_runs.add(run_id)
        for path in sorted(self.folders.runs_dir.glob("*/record.json")):
            if path.parent.name in damaged_runs:
                continue
            try:
                yield read_own_record(RunFolder(path.parent))
            except ResultError as error:
                if unread is None:
                    raise
                unread(readable_name(path.parent.name), error)

    def problem(self, run_id: str) -> Message | None:
        """Why what is here of a run, except for its logs, may be old or incomplete; None while nothing is wrong."""
        return self.folders.problem(self._find_name(run_id))

    def log_problem(self, run_id: str) -> Message | None:
        """The same of its logs."""
        return self.folders.problem(self._find_name(run_id), FolderPart.LOGS)

    def _get_folder(self, run_id: str, part: FolderPart = FolderPart.RECORD) -> RunFolder:
        return self.folders.read(self._find_name(run_id), part)

    def _find_name(self, run_id: str) -> str:
        if run_id in self._known:
            return run_id
        try:
            name = self.ledger.get(run_id).run_id
            self._known.add(name)
        except DamagedLedger:
            if not self.folders.path(run_id).path.is_dir():
                raise
            name = run_id
        return Path(name).name


def _state_of(file: Path) -> tuple[int, int, int] | None:
    with suppress(OSError):
        stat = file.stat()
        return stat.st_ino, stat.st_mtime_ns, stat.st_size
    return None


def _read_record(folder: RunFolder) -> RunRecord:
    stored = read_record(folder.record, folder.metrics, folder.events)
    cards = tuple(read_card_samples(folder.cards))
    return replace(
        stored, described=read_stated(folder.path), annotations=read_annotations(folder.path), card_samples=cards
    )


def read_own_record(folder: RunFolder) -> RunRecord:
    """The record in a folder, which must be of the run that the folder is named after. Raises ResultError."""
    record = _read_record(folder)
    if record.run.run_id != folder.path.name:
        message = Message("{file} is of run {run_id}", file=get_inner_path(folder.record), run_id=record.run.run_id)
        raise ResultError(message, Message("restore its folder from a backup"))
    return record


@dataclass(frozen=True, slots=True)
class SeriesFiles:
    """The folder data/series/: the plan of each series launched here, so that it survives a lost ledger.

    `launched`: those of a team's ledger, whose other machines have such a folder of their own."""

    folder: Path
    launched: Callable[[], Iterable[Series]] = tuple

    def keep(self, series: Series) -> None:
        """Write a plan, unless its file exists. Raises DiskError."""
        if not self._get_file(series).exists():
            self.replace(series)

    def replace(self, series: Series) -> None:
        """Write a plan anew: the rows of a search get their values one after another. Raises DiskError."""
        write_whole(self._get_file(series), dump_series(series))

    def all(self, unread: Unread) -> Iterator[Series]:
        """All plans, those here first and the oldest of them; `unread` is called for each damaged one."""
        for file in sorted(self.folder.glob("*.json")):
            try:
                yield _SERIES.validate_json(file.read_bytes())
            except (OSError, ValidationError) as error:
                unread(readable_name(file.stem), make_damage_error(get_inner_path(file), error))
        yield from (series for series in self.launched() if not self._get_file(series).exists())

    def _get_file(self, series: Series) -> Path:
        return self.folder / f"{series.series_id}.json"
