"""Imports bundles of another console: its runs with their folders, as verified if their signer is trusted here."""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from aisbench_core.base.errors import ResultError, full_disks_named
from aisbench_core.base.messages import Message, join_parts
from aisbench_core.base.private_files import require_writable
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import log_change
from aisbench_core.domain.access.operations import Operations
from aisbench_core.domain.results.record import read_annotations, read_record, read_stated, write_record
from aisbench_core.exchange.evidence.checking import CheckedBundle, FindKey, check_content
from aisbench_core.exchange.importing.sizes import require_size
from aisbench_core.exchange.importing.turn import import_turn
from aisbench_core.model import Actor, Clock, Imported, RunRecord, RunSpec
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.cache import is_plain
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.store.seals.service import Seals
from aisbench_core.warehouse.facade import Warehouse

_DRAFTS = ".import-"

NAMED = 8  # problems that a sentence names

_RUN_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)


@dataclass(frozen=True, slots=True)
class BundleImport:
    """What an import of a bundle does or would do.

    `verified_by`: whose trusted key signed it; empty for claims. `new`, `existing` and `excluded`: its runs that are
    not here yet, those that are, and rehearsals."""

    verified_by: str
    fingerprint: str
    new: tuple[str, ...]
    existing: int
    excluded: int


@dataclass(frozen=True, slots=True)
class BundleImports:
    """Imports bundles. Threads may share it."""

    data_dir: Path
    most_mb: int
    folders: RunFolders
    ledger: Ledger
    warehouse: Warehouse
    seals: Seals
    operations: Operations
    find_key: FindKey
    rehearsed_regions: Callable[[], Collection[str]]
    clock: Clock

    @permitted
    def preview(self, content: BinaryIO, name: str, actor: Actor) -> BundleImport:  # noqa: ARG002  # the guard reads it
        """What `save` would do; raises as it does."""
        checked = self._check(content, name)
        with tempfile.TemporaryDirectory(prefix="aisbench-import-") as drafts:
            return self._choose(checked, _unpack_runs(checked, Path(drafts)))[0]

    @permitted
    def save(self, content: BinaryIO, name: str, actor: Actor) -> BundleImport:
        """Store the runs of a bundle that are not here, with their folders; `name`: of the file, as it is shown.

        Can be repeated after an interruption. Raises ResultError if anything in it is not as it was signed."""
        require_writable(self.data_dir)
        checked = self._check(content, name)
        log_change(actor, f"import of {name}, signed with {checked.fingerprint}")
        with (
            self.operations.count_operation(actor.name),
            import_turn(self.data_dir),
            full_disks_named(),
            self._make_drafts() as drafts,
        ):
            outcome, records = self._choose(checked, _unpack_runs(checked, Path(drafts)))
            now = self.clock()
            stored = [
                self._store(_import_record(record, name, now, outcome.verified_by), Path(drafts, record.run.run_id))
                for record in records
            ]
            self.seals.seal_recorded(outcome.new, actor)
            self.warehouse.imports.add(stored)
        return outcome

    @contextmanager
    def _make_drafts(self) -> Iterator[str]:
        """A folder for files that are not in their place yet; those of imports that were killed are removed."""
        for left in self.data_dir.glob(f"{_DRAFTS}*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=_DRAFTS, dir=self.data_dir) as drafts:
            yield drafts

    def _check(self, content: BinaryIO, name: str) -> CheckedBundle:
        require_size([content.seek(0, os.SEEK_END)], self.most_mb)
        checked = check_content(content, name, self.find_key)
        if checked.problems:
            raise ResultError(
                Message(
                    "{file} is not as it was signed: {problems}",
                    file=name,
                    problems=join_parts("; ", checked.problems[:NAMED]),
                ),
                Message("`aisbench verify` names everything that differs; ask for the file again"),
            )
        return checked

    def _choose(self, checked: CheckedBundle, records: list[RunRecord]) -> tuple[BundleImport, list[RunRecord]]:
        run_ids, rehearsed = [record.run.run_id for record in records], self.rehearsed_regions()
        here = self.warehouse.runs.select_recorded(run_ids)
        launched = self.warehouse.runs.find_by_job([record.run.job_id for record in records if record.run.job_id])
        unknown = [
            record
            for record in records
            if record.run.run_id not in here
            and record.run.job_id not in launched
            and self.ledger.find(record.run.run_id) is None
        ]
        new = [record for record in unknown if not record.rehearsal and record.region not in rehearsed]
        signer = checked.signer if checked.is_trusted else None
        outcome = BundleImport(
            verified_by=(signer.owner or "aisbench") if signer else "",
            fingerprint=checked.fingerprint,
            new=tuple(record.run.run_id for record in new),
            existing=len(records) - len(unknown),
            excluded=len(unknown) - len(new),
        )
        return outcome, new

    def _store(self, record: RunRecord, draft: Path) -> RunRecord:
        """Move a run's files into its folder, and write its record as that of an imported run."""
        folder = self.folders.path(record.run.run_id)
        shutil.rmtree(folder.path, ignore_errors=True)  # of an import that was interrupted
        shutil.move(draft, folder.path)
        write_record(record, folder.record, folder.metrics, folder.events)
        self.folders.publish(record.run.run_id)
        return replace(record, described=read_stated(folder.path), annotations=read_annotations(folder.path))


def _unpack_runs(checked: CheckedBundle, drafts: Path) -> list[RunRecord]:
    """Write the runs' folders below `drafts`, and read their records. Raises ResultError."""
    for run_id in checked.run_ids:
        start = f"runs/{run_id}/"
        names = [name for name in checked.files if name.startswith(start)]
        hidden = [name for name in names if not is_plain(name) or "/." in name]
        if hidden or not _RUN_ID.fullmatch(run_id):
            raise ResultError(Message("a bundle has no file like {file!r}", file=(hidden or [start])[0][:100]))
        for name in names:
            file = drafts / name.removeprefix("runs/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(checked.files[name])
    return [_read_record(RunFolder(drafts / run_id)) for run_id in checked.run_ids]


def _read_record(folder: RunFolder) -> RunRecord:
    record = read_record(folder.record, folder.metrics, folder.events)
    if record.run.run_id != folder.path.name:
        raise ResultError(Message("the record of {run} is that of another run", run=folder.path.name))
    return record


def _import_record(record: RunRecord, source: str, now: datetime, verified_by: str) -> RunRecord:
    """All fields of its spec are known, unless it was imported there, too."""
    imported = record.imported or Imported(source, now, tuple(RunSpec.model_fields))
    return replace(record, imported=replace(imported, source=source, imported_at=now, verified_by=verified_by))
