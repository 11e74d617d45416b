"""Writes a backup: one archive with everything that cannot be computed again, taken while runs are followed.

The order makes it consistent. The ledger is copied first: what it calls recorded is in the warehouse and in the run
folders, which are copied after it; what was recorded meanwhile, the follower of the restored folder records again."""

import io
import os
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from aisbench_core.access import permitted
from aisbench_core.accounts.audit import newest_entry
from aisbench_core.accounts.audit_heads import AuditHead
from aisbench_core.backups.manifest import MANIFEST, BackupManifest
from aisbench_core.changes import log_change
from aisbench_core.errors import ConfigError, full_disks_named
from aisbench_core.messages import Message
from aisbench_core.model import Actor, Clock
from aisbench_core.private_files import FILE_MODE, draft_of, sync
from aisbench_core.running.ledger import Ledger
from aisbench_core.running.ledger_file import copy_database
from aisbench_core.settings import Settings
from aisbench_core.warehouse import Warehouse

# What others write anew, belongs to a running process, or is a region that is only played.
# The noted heads may be newer than the ledger's copy: the manifest has the head of that.
_EXCLUDED = frozenset({"sandbox", "uploads", "README.md", "audit-heads.json"})
_EXCLUDED_SUFFIXES = (".lock", ".new")


@dataclass(frozen=True, slots=True)
class Backups:
    """Backups of this console."""

    settings: Settings
    ledger: Ledger
    warehouse: Warehouse
    clock: Clock

    @permitted
    def create(self, target: Path, actor: Actor, *, replace: bool = False) -> BackupManifest:
        """Write a backup to a file, which its owner only can read: it holds keys. Raises ConfigError."""
        self._require_location(target, replace)
        log_change(actor, f"backup to {target}")
        draft = draft_of(target)
        try:
            with full_disks_named():
                manifest = self._write(draft)
                draft.replace(target)
                sync(target.parent)
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

    def _write(self, draft: Path) -> BackupManifest:
        now, runs = self.clock(), 0
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE)
        with os.fdopen(handle, "wb") as out:
            with (
                tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive,
                tempfile.TemporaryDirectory(prefix="aisbench-backup-", dir=draft.parent) as name,
            ):
                head = None
                for file in self._databases(Path(name)):
                    archive.add(file, file.name)
                    if file.name == self.settings.ledger_path.name:
                        head = _head_of(Ledger(file))
                if self.settings.has_team_ledger:
                    head = _head_of(self.ledger)
                for file in self._files():
                    runs += _add(archive, file, self.settings.data_dir)
                whole = not self.settings.has_team_warehouse
                manifest = BackupManifest(
                    created_at=now,
                    runs=runs,
                    with_warehouse=whole,
                    with_ledger=not self.settings.has_team_ledger,
                    audit=head,
                )
                _add_text(archive, MANIFEST, manifest.model_dump_json(), now)
            out.flush()
            os.fsync(out.fileno())
        return manifest

    def _databases(self, folder: Path) -> Iterator[Path]:
        """Copies of the ledger, of other SQLite files and of the warehouse's file, each of one moment."""
        ledger = self.settings.ledger_path
        others = sorted(self.settings.data_dir.glob("*.sqlite3"))
        for database in (ledger, *(file for file in others if file != ledger)):
            # A file of the time before the team's ledger is no part of it any more.
            if database.exists() and not (database == ledger and self.settings.has_team_ledger):
                copy_database(database, folder / database.name)
                yield folder / database.name
        if not self.settings.has_team_warehouse:
            self.warehouse.move_to(Warehouse(folder / "warehouse.duckdb"), lambda _done, _total: None)
            yield from sorted(folder.glob("warehouse.duckdb*"))  # with its log, which holds what came last

    def _files(self) -> Iterator[Path]:
        """Everything else in the data folder."""
        for entry in sorted(self.settings.data_dir.iterdir()):
            if not _is_excluded(entry):
                yield from _below(entry)


def _head_of(ledger: Ledger) -> AuditHead | None:
    with ledger.connection() as con:
        return newest_entry(con)


def _below(entry: Path) -> Iterator[Path]:
    if entry.is_symlink():  # of a person; what it leads to is not ours
        return
    if entry.is_file():
        yield entry
    elif entry.is_dir():
        for inner in sorted(entry.iterdir()):
            yield from _below(inner)


def _is_excluded(entry: Path) -> bool:
    name = entry.name
    is_database = name.startswith("warehouse.duckdb") or ".sqlite3" in name
    return is_database or name in _EXCLUDED or name.endswith(_EXCLUDED_SUFFIXES) or name.startswith("console.log")


def _add(archive: tarfile.TarFile, file: Path, folder: Path) -> bool:
    """Add a file as it is now; returns whether it is a run's record. One that was removed meanwhile is left out."""
    try:
        source = file.open("rb")
    except FileNotFoundError:
        return False
    with source:
        info = archive.gettarinfo(arcname=file.relative_to(folder).as_posix(), fileobj=source)
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        # A log may grow meanwhile: only what it had when it was opened is read.
        archive.addfile(info, source)
    return file.name == "record.json"


def _add_text(archive: tarfile.TarFile, name: str, text: str, at: datetime) -> None:
    content = text.encode()
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = len(content), int(at.timestamp()), FILE_MODE
    archive.addfile(info, io.BytesIO(content))
