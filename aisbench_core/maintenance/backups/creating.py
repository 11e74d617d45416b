"""Writes a backup: one archive with everything that cannot be computed again, taken while runs are followed.

Run folders, the warehouse and the ledger are copied one after the other. Folders that were written meanwhile are
archived again, until they are as the ledger's copy says, and stored in the warehouse's copy."""

import io
import os
import tarfile
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from dataclasses import replace as replace_in
from datetime import datetime
from pathlib import Path

from aisbench_core.base.errors import ConfigError, ResultError, RunsStillDiffer, full_disks_named
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import FILE_MODE, draft_of, is_read_only, sync_path
from aisbench_core.config.settings import Settings
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import log_change
from aisbench_core.domain.rulesets.ruleset import Rulesets
from aisbench_core.exchange.importing.turn import import_turn
from aisbench_core.maintenance.backups.manifest import MANIFEST, BackupManifest
from aisbench_core.model import Actor, Clock, RunRecord
from aisbench_core.running.run_files import read_own_record
from aisbench_core.store.audit.audit import newest_entry
from aisbench_core.store.audit.audit_heads import AuditHead
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.ledger.ledger_file import copy_database
from aisbench_core.store.seals.comparing import Recording, SealComparing
from aisbench_core.store.seals.ledger import Writing, read_writings, recorded_runs, written_since
from aisbench_core.warehouse.facade import Warehouse

# What others write anew, belongs to a running process, or is a region that is only played.
# The noted heads may be newer than the ledger's copy: the manifest has the head of that.
# Whoever has an archive could sign with the key.
_EXCLUDED = frozenset(
    {"sandbox", "uploads", "README.md", "audit-heads.json", "signing-key.pem", "signing-key-next.pem"}
)
_DRAFT_SUFFIXES = (".new", ".new.wal")

WAREHOUSE = "warehouse.duckdb"

FileState = tuple[str, int, int, int]
"""A file's path below its folder, size, time of change, and number: a file written anew has another."""


@dataclass(frozen=True, slots=True)
class Backups:
    """Backups of this console."""

    settings: Settings
    ledger: Ledger
    warehouse: Warehouse
    comparing: SealComparing
    clock: Clock

    @permitted
    def create(self, target: Path, actor: Actor, *, replace: bool = False) -> BackupManifest:
        """Write a backup to a file, which its owner only can read: it holds keys. Raises ConfigError."""
        self._require_location(target, replace)
        log_change(actor, f"backup to {target}")
        draft = draft_of(target)
        try:
            with full_disks_named():
                manifest = self._write_archive(draft)
                draft.replace(target)
                sync_path(target.parent)
        except OSError as error:
            raise ConfigError(Message("{file} cannot be written: {why}", file=target, why=error.strerror)) from error
        finally:
            draft.unlink(missing_ok=True)
        return manifest

    def _require_location(self, target: Path, replace: bool) -> None:
        if target.resolve().is_relative_to(self.settings.data_dir.resolve()):
            raise ConfigError(
                Message("{file} lies in the data folder, and the next backup would hold it", file=target),
                Message("name a file elsewhere, on another disk as a rule"),
            )
        if target.exists() and not replace:
            raise ConfigError(
                Message("{file} already exists", file=target), Message("name another file, or add --replace")
            )

    def _write_archive(self, draft: Path) -> BackupManifest:
        now = self.clock()
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE)
        with os.fdopen(handle, "wb") as out:
            with (
                tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive,
                tempfile.TemporaryDirectory(prefix="aisbench-backup-", dir=draft.parent) as name,
            ):
                contents = _DataArchive(archive, self.settings.data_dir)
                self._add_all(contents, Path(name))
                copy = Path(name, self.settings.ledger_path.name)
                manifest = BackupManifest(
                    created_at=now,
                    runs=len(contents.recorded),
                    with_warehouse=not self.settings.has_team_warehouse,
                    with_ledger=not self.settings.has_team_ledger,
                    audit=_head_of(self.ledger if self.settings.has_team_ledger else Ledger(copy)),
                    rewritten=contents.rewritten,
                )
                _add_text(archive, MANIFEST, manifest.model_dump_json(exclude_defaults=True), now)
            out.flush()
            os.fsync(out.fileno())
        return manifest

    def _add_all(self, contents: "_DataArchive", copies: Path) -> None:
        """Add everything; databases are copied to a folder first, each as it is at one moment."""
        ledger = self.settings.ledger_path
        has_ledger = ledger.exists() and not self.settings.has_team_ledger
        before = _list_writings(self.ledger) if has_ledger else {}
        for database in sorted(self.settings.data_dir.glob("*.sqlite3")):
            # A file of the time before the team's ledger is no part of it any more.
            if database != ledger:
                copy_database(database, copies / database.name)
                contents.archive.add(copies / database.name, database.name)
        for file in self._iterate_files():
            contents.add(file)
        warehouse = None
        if not self.settings.has_team_warehouse:
            rulesets = Rulesets(self.settings.rulesets_dir)
            warehouse = Warehouse(copies / WAREHOUSE, rulesets=rulesets, ruleset_id=self.settings.ruleset)
            # Runs that are written faster than copied are stored again when the folders settle.
            with suppress(RunsStillDiffer) if has_ledger else nullcontext():
                self.warehouse.move_to(warehouse, lambda _done, _total: None)
        if has_ledger:
            self._copy_changes(contents, copies / ledger.name, before, warehouse)
            contents.archive.add(copies / ledger.name, ledger.name)
        for file in sorted(copies.glob(f"{WAREHOUSE}*")):  # with its log, which holds what came last
            contents.archive.add(file, file.name)

    def _copy_changes(
        self, contents: "_DataArchive", copy: Path, before: Mapping[str, Writing], warehouse: Warehouse | None
    ) -> None:
        """Copy the ledger, and add the folders again that were written since `before`, until none was meanwhile.

        Each writer states in the ledger what it is about to write, which nobody can in the last round."""
        folders = self.comparing.folders
        for is_last in (False, False, True):
            with self._no_imports(), self.ledger.transaction() if is_last else nullcontext():
                copy_database(self.settings.ledger_path, copy)
                now = _list_writings(Ledger(copy))
                for run_id in sorted(written_since(before, now)):
                    contents.add_again(folders.path(run_id).path)
                if warehouse:
                    self._store_again(contents.rewritten, Ledger(copy), warehouse)
            if now == before or is_read_only(self.settings.data_dir):
                return
            before = now

    def _store_again(self, run_ids: Collection[str], ledger: Ledger, warehouse: Warehouse) -> None:
        """Let the warehouse's copy say of these runs, and of sealed ones that it lacks, what their folders say."""
        with ledger.connection() as con:
            recorded = recorded_runs(con)
        here = [run_id for run_id, is_gone in recorded.items() if not is_gone]
        missing = set(here) - warehouse.runs.select_recorded(here)
        warehouse.record_many(
            self._iterate_records([run_id for run_id in here if run_id in {*run_ids, *missing}], ledger)
        )
        gone = warehouse.runs.find_rows([run_id for run_id in run_ids if recorded.get(run_id)])
        for at in sorted({row.imported_at for row in gone.values() if row.imported_at}):
            warehouse.imports.forget(at, keep_annotations=False)

    def _iterate_records(self, run_ids: Iterable[str], ledger: Ledger) -> Iterator[RunRecord]:
        """The records in these folders that are as the ledger says."""
        with replace_in(self.comparing, ledger=ledger).open_runs() as sealed:
            for run_id in run_ids:
                with suppress(ResultError):
                    record = read_own_record(self.comparing.folders.path(run_id))
                    comparison = sealed.compare(record, whole=False)
                    if comparison.recording is Recording.SEALED and comparison.error is None:
                        yield record

    def _no_imports(self) -> AbstractContextManager[None]:
        """While nobody imports on this machine."""
        data_dir = self.settings.data_dir
        return nullcontext() if is_read_only(data_dir) else import_turn(data_dir)

    def _iterate_files(self) -> Iterator[Path]:
        """Everything else in the data folder."""
        for entry in sorted(self.settings.data_dir.iterdir()):
            if not _is_excluded(entry):
                yield from _walk_files(entry)


@dataclass(frozen=True, slots=True)
class _DataArchive:
    """What was added to an archive of a data folder. `recorded`: run folders with a record; `rewritten`: the files of
    those that were added again; `states`: of these files, their sizes and times of change as they were added."""

    archive: tarfile.TarFile
    data_dir: Path
    recorded: set[Path] = field(default_factory=set)
    rewritten: dict[str, tuple[str, ...]] = field(default_factory=dict)
    states: dict[str, frozenset[FileState]] = field(default_factory=dict)

    def add(self, file: Path) -> bool:
        """Add a file as it is now; False if it was removed meanwhile."""
        try:
            source = file.open("rb")
        except FileNotFoundError:
            return False
        with source:
            info = self.archive.gettarinfo(arcname=file.relative_to(self.data_dir).as_posix(), fileobj=source)
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            # A log may grow meanwhile: only what it had when it was opened is read.
            self.archive.addfile(info, source)
        if file.name == "record.json":
            self.recorded.add(file.parent)
        return True

    def add_again(self, folder: Path) -> None:
        """Add a run's folder, which replaces what was added of it before, unless that is what was added again last.

        A collecting that was given up leaves its folder as one that is being written."""
        state = frozenset(_iterate_states(folder))
        if self.states.get(folder.name) == state:
            return
        self.states[folder.name] = state
        self.recorded.discard(folder)
        files = [file for file in _walk_files(folder) if self.add(file)]
        self.rewritten[folder.name] = tuple(file.relative_to(folder).as_posix() for file in files)


def _list_writings(ledger: Ledger) -> dict[str, Writing]:
    with ledger.connection() as con:
        return read_writings(con)


def _head_of(ledger: Ledger) -> AuditHead | None:
    with ledger.connection() as con:
        return newest_entry(con)


def _walk_files(entry: Path) -> Iterator[Path]:
    # A link is of a person, and what it leads to is not ours.
    if entry.is_symlink() or (entry.name.startswith(".") and entry.name.endswith(_DRAFT_SUFFIXES)):
        return
    if entry.is_file():
        yield entry
    elif entry.is_dir():
        for inner in sorted(entry.iterdir()):
            yield from _walk_files(inner)


def _iterate_states(folder: Path) -> Iterator[FileState]:
    for file in _walk_files(folder):
        with suppress(FileNotFoundError):  # removed meanwhile
            stat = file.stat()
            yield file.relative_to(folder).as_posix(), stat.st_size, stat.st_mtime_ns, stat.st_ino


def _is_excluded(entry: Path) -> bool:
    name = entry.name
    is_database = name.startswith(WAREHOUSE) or ".sqlite3" in name
    return is_database or name in _EXCLUDED or name.endswith(".lock") or name.startswith("console.log")


def _add_text(archive: tarfile.TarFile, name: str, text: str, at: datetime) -> None:
    content = text.encode()
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = len(content), int(at.timestamp()), FILE_MODE
    archive.addfile(info, io.BytesIO(content))
