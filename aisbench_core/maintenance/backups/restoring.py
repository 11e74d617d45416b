"""Restores a backup into a new data folder: all of it, or nothing."""

import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from aisbench_core.base.errors import ConfigError, full_disks_named
from aisbench_core.base.messages import Message, make_verbatim
from aisbench_core.base.private_files import (
    is_orphan,
    is_shared,
    make_private_folder,
    open_private,
    process_name,
    sync_path,
)
from aisbench_core.config.settings import Settings
from aisbench_core.maintenance.backups.manifest import MANIFEST, BackupManifest
from aisbench_core.store.audit.audit import newest_entry
from aisbench_core.store.audit.audit_heads import AuditHead, AuditHeads
from aisbench_core.store.ledger.ledger_file import check_database, open_connection

# Of the folder that is unpacked to; the process follows.
_DRAFT = ".restore-"


def restore_backup(backup: Path, settings: Settings) -> BackupManifest:
    """Unpack a backup as the settings' data folder, which must be missing or empty.

    Raises ConfigError for a file that is no whole backup, and DamagedLedger for a damaged database in it; the data
    folder is empty then."""
    target = settings.data_dir
    _remove_drafts(target)
    _require_empty(target)
    with full_disks_named():
        _make_folder(target)
        # Below the folder itself: it may be a mount, or lie where its owner can create nothing.
        with tempfile.TemporaryDirectory(prefix=f"{_DRAFT}{process_name()}", dir=target) as name:
            draft = Path(name)
            if is_shared(target):  # temporary folders are private
                draft.chmod(target.stat().st_mode)
            manifest = _unpack_archive(backup, draft)
            for database in draft.glob("*.sqlite3"):
                check_database(database)
            if manifest.with_ledger and manifest.audit:
                _require_audit(draft / settings.ledger_path.name, manifest.audit, backup)
                AuditHeads(draft / settings.audit_heads_path.name, "").write(manifest.audit)
            # The ledger comes last: without it nothing is followed, and nothing is taken for whole.
            for entry in sorted(draft.iterdir(), key=lambda entry: entry.name.startswith(settings.ledger_path.name)):
                entry.rename(target / entry.name)
        sync_path(target)
    return manifest


def _remove_drafts(target: Path) -> None:
    """Those of restores that were killed on this machine; another machine may share the folder and be restoring."""
    for draft in target.glob(f"{_DRAFT}*"):
        if is_orphan(draft.name.removeprefix(_DRAFT)):
            shutil.rmtree(draft)


def _require_audit(ledger: Path, head: AuditHead, backup: Path) -> None:
    """Refuse a ledger whose audit does not end as the manifest says."""
    with open_connection(ledger) as con:
        found = newest_entry(con)
    if found != head:
        why = Message("the audit in it does not end with entry {number}, as its manifest says", number=head.number)
        raise _no_backup(backup, why)


def _make_folder(target: Path) -> None:
    try:
        make_private_folder(target)
    except (PermissionError, FileExistsError, NotADirectoryError) as error:
        raise ConfigError(
            Message(
                "the data folder {folder} cannot be created: {reason}",
                folder=target,
                reason=make_verbatim(error.strerror),
            ),
            Message("create it for this account first, with mode 0700, or name another one in AISBENCH_DATA_DIR"),
        ) from error


def _require_empty(target: Path) -> None:
    # The page that stands in the folder of a fresh clone is no data.
    there = sorted(entry.name for entry in target.iterdir() if entry.name != "README.md") if target.exists() else []
    if there:
        raise ConfigError(
            Message("the data folder {folder} is not empty: it holds {name}", folder=target, name=there[0]),
            Message("move what it holds away first, or name another folder in AISBENCH_DATA_DIR"),
        )


def _unpack_archive(backup: Path, folder: Path) -> BackupManifest:
    try:
        with tarfile.open(backup, "r:gz") as archive:
            for member in archive:
                _unpack_member(archive, member, folder, backup)
        manifest = folder / MANIFEST
        found = BackupManifest.model_validate_json(manifest.read_bytes())
        manifest.unlink()
        _remove_older(folder / "runs", found.rewritten)
    except (tarfile.TarError, EOFError, zlib.error, ValidationError) as error:
        raise _no_backup(backup, make_verbatim(str(error).splitlines()[0])) from error
    except FileNotFoundError as error:
        why = Message("it has no end") if backup.exists() else Message("there is no such file")
        raise _no_backup(backup, why) from error
    except OSError as error:
        raise _no_backup(backup, make_verbatim(error.strerror or error)) from error
    return found


def _unpack_member(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path, backup: Path) -> None:
    """Write one file. Only files: links and devices, or names that lead out of the folder, are nobody's backup."""
    path = PurePosixPath(member.name)
    source = archive.extractfile(member) if member.isfile() else None
    if source is None or path.is_absolute() or ".." in path.parts:
        raise _no_backup(backup, Message("it holds {name}, which is not a file of a data folder", name=member.name))
    target = folder / path
    make_private_folder(target.parent)
    target.unlink(missing_ok=True)  # an older one, of a folder that changed while the backup was taken
    with source, os.fdopen(open_private(target, os.O_WRONLY | os.O_EXCL), "wb") as out:
        shutil.copyfileobj(source, out)
        out.flush()
        os.fsync(out.fileno())
    os.utime(target, (member.mtime, member.mtime))


def _remove_older(runs: Path, rewritten: Mapping[str, Collection[str]]) -> None:
    """Remove files that a run no longer had when its folder was archived again."""
    for run_id, names in rewritten.items():
        folder = runs / Path(run_id).name
        for file in [file for file in folder.rglob("*") if file.is_file()]:
            if file.relative_to(folder).as_posix() not in names:
                file.unlink()
        if not names:
            shutil.rmtree(folder, ignore_errors=True)


def _no_backup(backup: Path, why: Message) -> ConfigError:
    return ConfigError(
        Message("{file} cannot be restored: {why}", file=backup, why=why),
        Message("name a file that `aisbench backup` wrote"),
    )
