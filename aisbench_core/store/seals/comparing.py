"""Compares run folders with their seals and with the ledger: what was recorded here, and what is different now."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from aisbench_core.base.errors import DamagedLedger, ResultError
from aisbench_core.base.messages import Message
from aisbench_core.domain.results.record import ANNOTATIONS_FILE, annotations_sha256
from aisbench_core.model import Origin, Run, RunRecord
from aisbench_core.store.audit.bound import bound_annotations
from aisbench_core.store.ledger.database.connection import LedgerConnection
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.parts import FolderPart
from aisbench_core.store.seals.ledger import Seal, audited_numbers, iter_seals, newest_statements, read_run, read_seal
from aisbench_core.store.seals.manifest import sealed_names
from aisbench_core.store.seals.service import RESTORE, changed_files, difference_of, is_same

Rehearses = Callable[[str], bool | None]
"""Whether a profile is that of a sandbox; None if it is not known any more."""


class Recording(StrEnum):
    """What this console knows of the recording of a run whose folder is there."""

    SEALED = "sealed"
    BEFORE_SEALS = "before seals"  # the ledger has the run, which ended before folders were sealed
    ACTIVE = "active"  # it has not ended, so its follower records it
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SealComparison:
    """What is known of a record, and the error if it must not be believed."""

    recording: Recording
    error: ResultError | None = None


@dataclass(frozen=True, slots=True)
class SealComparing:
    """Opens comparisons. `are_all_here`: whether every folder that was recorded with this ledger must be here."""

    ledger: Ledger
    folders: RunFolders
    rehearses: Rehearses
    are_all_here: bool

    @contextmanager
    def open_runs(self) -> Iterator["SealedRuns"]:
        """A comparison of many runs. A damaged ledger knows nothing of any."""
        try:
            with self.ledger.connection() as con:
                yield SealedRuns(self, AuditedSeals(con))
        except DamagedLedger:
            yield SealedRuns(self, None)


class AuditedSeals:
    """The seals of a ledger, each believed if the audit's newest entry about its run says the same."""

    def __init__(self, con: LedgerConnection) -> None:
        self.con = con
        self._read_audit()

    def _read_audit(self) -> None:
        self._first, self._last = audited_numbers(self.con)
        self.annotations = bound_annotations(self.con)
        self._statements = newest_statements(self.con)

    def find(self, run_id: str) -> Seal | None:
        """A run's seal; None if it has none. Raises ResultError if the audit says something else."""
        seal = read_seal(self.con, run_id)
        if not self._is_audited(run_id, seal):
            if audited_numbers(self.con)[1] != self._last:  # written to meanwhile
                self._read_audit()
                seal = read_seal(self.con, run_id)
            if not self._is_audited(run_id, seal):
                raise ResultError(
                    Message("its seal in the ledger is not the one that the audit names"),
                    Message("restore the ledger from a backup"),
                )
        return seal

    def _is_audited(self, run_id: str, seal: Seal | None) -> bool:
        statement = self._statements.get(run_id)
        if seal is None or statement is None:  # retention removes entries of seals, too
            return statement is None and (seal is None or seal.entry < self._first)
        return statement == (seal.entry, seal.statement)


class SealedRuns:
    """What one ledger knows of runs. For one thread, and a moment."""

    def __init__(self, parts: SealComparing, seals: AuditedSeals | None) -> None:
        self._parts, self._seals = parts, seals

    @property
    def is_damaged(self) -> bool:
        """Whether the ledger cannot be read, so that nothing is known."""
        return self._seals is None

    def compare(self, record: RunRecord, *, whole: bool) -> SealComparison:
        """Compare a record with the ledger and its folder with its seal: all files, or only those that describe it."""
        if self._seals is None:
            return SealComparison(Recording.UNKNOWN)
        run_id, seals = record.run.run_id, self._seals
        run = read_run(seals.con, run_id)
        if run and not run.state.is_terminal:
            return SealComparison(Recording.ACTIVE)
        try:
            seal = seals.find(run_id)
            error = self._find_error(record, seal, run, whole=whole)
            if error and seals.find(run_id) != seal:  # written to meanwhile
                self._parts.folders.fetch(run_id, FolderPart.RECORD)
                error = self._find_error(record, seals.find(run_id), run, whole=whole)
        except ResultError as contradicted:
            return SealComparison(Recording.SEALED, contradicted)
        if seal is None:
            return SealComparison(Recording.BEFORE_SEALS if run else Recording.UNKNOWN, error)
        return SealComparison(Recording.SEALED, error)

    def find_missing(self) -> Iterator[tuple[str, ResultError]]:
        """Runs that were recorded here, and whose folder is gone without a removal by this console."""
        if self._seals is None or not self._parts.are_all_here:
            return
        for seal in iter_seals(self._seals.con):
            folder = self._parts.folders.path(seal.run_id)
            if seal.is_recorded and not seal.gone_at and not folder.record.exists():
                what = Message("record.json is missing") if folder.path.is_dir() else Message("its folder is missing")
                yield seal.run_id, ResultError(what, RESTORE)

    def _find_error(self, record: RunRecord, seal: Seal | None, run: Run | None, *, whole: bool) -> ResultError | None:
        """Why a record must not be believed, as far as ledger and seal say."""
        if seal and seal.gone_at:
            return ResultError(
                Message("was removed by {who} at {at}", who=seal.gone_by, at=f"{seal.gone_at:%Y-%m-%d %H:%M:%S %Z}"),
                Message("import it again, if it is to be there"),
            )
        if seal and not (seal.is_recorded or self._was_about_to_be_recorded(seal)):
            return never_recorded()
        if seal and (differing := [*self._differing_files(seal, whole=whole), *self._differing_annotations(record)]):
            return changed_files(differing)
        return self._differing_fields(record, run) if run else None

    def _was_about_to_be_recorded(self, seal: Seal) -> bool:
        """Whether its record is the one that was about to be written when recording it was given up."""
        folder = self._parts.folders.path(seal.run_id)
        records = [file for file in seal.expected if file.name == folder.record.name]
        return any(is_same(file, folder.path, file.name) for file in records)

    def _differing_files(self, seal: Seal, *, whole: bool) -> Iterator[str]:
        """Names with what is wrong. Of published files that need not be here, the size is compared, and their objects
        with the MD5 in the ledger, with which each is compared again whenever it is fetched."""
        folders = self._parts.folders
        folder = folders.path(seal.run_id).path
        is_compared = FolderPart.ALL.holds if whole else FolderPart.RECORD.holds
        here = {name for name in sealed_names(folder) if is_compared(name)}
        remote: Mapping[str, int] = {}
        if folders.are_published:
            published = folders.removable(seal.run_id, is_compared)
            remote = {name: size for name, size in published.items() if not FolderPart.RECORD.holds(name)}
            here = {name for name in here if FolderPart.RECORD.holds(name)}
        damaged = folders.find_damaged(seal.run_id, remote)
        for file in (file for file in seal.files if is_compared(file.name) and seal.decides(file.name)):
            if file.name in remote:
                is_size_known = remote[file.name] in {one.size for one in seal.versions(file.name)}
                if file.name in damaged or not is_size_known:
                    yield Message("{file} (changed)", file=file.name)
            elif file.name not in here or not any(is_same(one, folder, file.name) for one in seal.versions(file.name)):
                yield difference_of(file, folder)
        yield from (Message("{file} (added)", file=name) for name in _find_added(seal, folder, {*here, *remote}))

    def _differing_annotations(self, record: RunRecord) -> Iterator[str]:
        """The file of annotations, if the audit binds another content, or not all of it."""
        bound = self._seals.annotations.get(record.run.run_id) if self._seals else None
        if bound is None:
            return
        number, sha256 = bound
        changes = record.annotations.changes
        lengths = range(len(changes), -1, -1)
        length = next((one for one in lengths if annotations_sha256(changes[:one]) == sha256), None)
        if length == len(changes) or self._is_annotated_again(record.run.run_id, bound):
            return
        if length is None:
            yield Message("{file} (not as entry {number} of the audit says)", file=ANNOTATIONS_FILE, number=number)
        else:
            added = changes[length]
            yield Message("{file} ({kind} by {who} at {at} is not in the audit)", file=ANNOTATIONS_FILE,
                          kind=str(added.kind), who=added.who, at=f"{added.at:%Y-%m-%d %H:%M:%S %Z}")  # fmt: skip

    def _is_annotated_again(self, run_id: str, bound: tuple[int, str]) -> bool:
        """Whether somebody annotated the run since the audit was read."""
        return self._seals is not None and bound_annotations(self._seals.con).get(run_id) != bound

    def _differing_fields(self, record: RunRecord, run: Run) -> ResultError | None:
        """Fields of a record that the ledger has as well, with other values."""
        pairs = {name: (getattr(record.run, name), getattr(run, name)) for name in _FIELDS}
        names = [name for name, (recorded, known) in pairs.items() if recorded != known]
        names += ["origin"] * (record.origin is not Origin.LAUNCHED)
        names += ["rehearsal"] * (self._parts.rehearses(run.profile) is True and not record.rehearsal)
        if not names:
            return None
        return ResultError(Message("the record differs from the ledger: {names}", names=", ".join(names)), RESTORE)


_FIELDS = ("job_id", "job_name", "profile", "created_at", "created_by", "spec")


def never_recorded() -> ResultError:
    """The error for a folder that is not of a run of this console."""
    return ResultError(
        Message("was never recorded by this console"),
        Message(
            "import its results with `aisbench import`; if the ledger was lost, or this data folder is of another"
            " console: `aisbench warehouse rebuild --believe-folders`"
        ),
    )


def _find_added(seal: Seal, folder: Path, names: Collection[str]) -> list[str]:
    """Files that were never there; what was about to be removed may still be, and what was about to be written."""
    new = sorted(filter(seal.decides, names - seal.by_name.keys()))
    known = (*seal.removed, *seal.expected)
    return [name for name in new if not any(file.name == name and is_same(file, folder, name) for file in known)]
