"""Imports results that were measured elsewhere: reading, preview, storing, and undoing an import."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from pydantic import TypeAdapter, ValidationError

from aisbench_core.base.errors import ConfigError, Problem, SpecError, full_disks_named
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import require_writable, write_whole
from aisbench_core.cloud.ports import Connect, ObjectStore
from aisbench_core.cloud.regions import Regions
from aisbench_core.config.settings import Settings
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import log_change
from aisbench_core.domain.access.operations import Operations
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.results.record import read_record
from aisbench_core.exchange.importing import demo, records, saving
from aisbench_core.exchange.importing.choices import UNKNOWN_REGION, Choices, Preview, Provenance, Saved
from aisbench_core.exchange.importing.records import Catalogue
from aisbench_core.exchange.importing.sizes import require_size, sizes_below
from aisbench_core.exchange.importing.turn import import_turn
from aisbench_core.exchange.readers.names import is_result_file
from aisbench_core.exchange.readers.reading import (
    columns_of,
    columns_of_stream,
    read_files,
    read_inference_files,
    read_inference_path,
    read_path,
    read_stream,
)
from aisbench_core.exchange.readers.results import (
    PARAMETER,
    UPSTREAM_ZONE,
    ColumnMeaning,
    InputFile,
    ParsedResult,
    Results,
    Table,
    Unread,
    is_parameter,
)
from aisbench_core.model import Actor, Clock, RunRecord
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.seals.service import Seals
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.imported import ID, Import
from aisbench_core.warehouse.values.inference import InferenceResult

COLUMNS_FILE = "import_columns.json"

Upload = tuple[str, BinaryIO]
"""A file's name and the file."""

UPLOADED = "uploaded files"  # the source of result files without a folder


class ResultImport:
    """Imports results into the warehouse. Threads may share it."""

    def __init__(
        self,
        settings: Settings,
        folders: RunFolders,
        warehouse: Warehouse,
        workloads: Workloads,
        regions: Regions,
        connect: Connect,
        operations: Operations,
        seals: Seals,
        clock: Clock,
    ) -> None:
        """`connect`: for directories in OBS."""
        self._settings = settings
        self._folders = folders
        self._warehouse = warehouse
        self._workloads = workloads
        self._regions = regions
        self._connect = connect
        self._operations = operations
        self._seals = seals
        self._clock = clock
        self.columns = Columns(settings.data_dir / COLUMNS_FILE)

    # --- reading ----------------------------------------------------------------------------------

    def where(self, profile: str = "", region: str = "") -> Provenance:
        """Where results of a profile or region were measured. Old rehearsals never join those of a sandbox here.

        Raises ConfigError for an unknown profile, SpecError if both are given."""
        if profile and region:
            problem = Problem("region", Message("a profile has its own region"), repr(region))
            raise SpecError(Message("where the results were measured"), [problem])
        if profile:
            loaded = self._regions.profile(profile)
            return Provenance(UNKNOWN_REGION if loaded.rehearsal else loaded.region, loaded.rehearsal, loaded.name)
        return (
            Provenance(UNKNOWN_REGION, True)
            if region and region in self.list_rehearsal_regions()
            else Provenance(region or UNKNOWN_REGION)
        )

    def read(self, path: Path, mapping: Mapping[str, str], zone: tzinfo = UPSTREAM_ZONE) -> Results:
        """Every result in a file, a folder or an archive, while it is read.

        `mapping`: meanings of columns beside the stored ones. Raises ResultError if the path does not exist, SpecError
        for an unknown meaning or more than `import_most_mb`."""
        require_size(sizes_below(path), self._settings.import_most_mb)
        return read_path(path, self._merge_meanings(mapping), zone)

    def read_uploads(self, files: Sequence[Upload], mapping: Mapping[str, str]) -> Results:
        """The same for uploaded files; result files among them are of one run."""
        meanings = self._merge_meanings(mapping)
        require_size((file.seek(0, os.SEEK_END) for _, file in files), self._settings.import_most_mb)
        for name, file in files:
            if not is_result_file(name):
                file.seek(0)  # a page may read the same upload again after an answer
                yield from read_stream(file, name, meanings)
        parts = [InputFile(name, None, partial(_copy_file, file)) for name, file in files if is_result_file(name)]
        if parts:
            yield from read_files(parts, UPLOADED, meanings)

    def read_obs(
        self, profile: str, directory: str, mapping: Mapping[str, str], zone: tzinfo = UPSTREAM_ZONE
    ) -> Results:
        """The same for a directory in OBS (`obs://bucket/directory/`), with a profile's keys.

        Raises SpecError for another path, CloudError, and ConfigError for an invalid profile or keys."""
        path = obs_path(directory)
        meanings = self._merge_meanings(mapping)
        with files_below(self._connect(profile).objects, path) as files:
            require_size((file.size or 0 for file in files), self._settings.import_most_mb)
            if not files:
                yield Unread(directory, Message("it contains no objects"))
            yield from read_files(files, directory, meanings, zone)

    def read_inference(self, path: Path) -> Iterator[InferenceResult | Unread]:
        """Every result of inference in a file, a folder or an archive; raises as `read` does."""
        require_size(sizes_below(path), self._settings.import_most_mb)
        return read_inference_path(path)

    def read_inference_uploads(self, files: Sequence[Upload]) -> Iterator[InferenceResult | Unread]:
        """The same for uploaded files."""
        require_size((file.seek(0, os.SEEK_END) for _, file in files), self._settings.import_most_mb)
        return read_inference_files(InputFile(name, None, partial(_copy_file, file)) for name, file in files)

    @permitted
    def read_on_server(self, path: Path, actor: Actor) -> tuple[Results, Iterator[Table | Unread]]:  # noqa: ARG002  # the guard reads it
        """What `read` and `tables` find in a file or folder that somebody names who may have no shell there."""
        return self.read(path, {}), self.tables(path, {})

    def tables(self, path: Path, mapping: Mapping[str, str]) -> Iterator[Table | Unread]:
        """The columns of each table in a file, a folder or an archive. `mapping`: as of `read`."""
        return columns_of(path, self._merge_meanings(mapping))

    def tables_in_uploads(self, files: Sequence[Upload]) -> Iterator[Table | Unread]:
        """The same for uploaded files."""
        for name, file in files:
            file.seek(0)
            yield from columns_of_stream(file, name, self._merge_meanings({}))

    def _build_catalogue(self) -> Catalogue:
        return Catalogue(self._workloads.all(), self.list_rehearsal_regions())

    def list_rehearsal_regions(self) -> frozenset[str]:
        """Regions that are sandboxes here."""
        profiles = map(self._regions.profile, self._regions.names())
        return frozenset(profile.region for profile in profiles if profile.rehearsal)

    def _merge_meanings(self, mapping: Mapping[str, str]) -> dict[str, str]:
        return self.columns.read_stored() | check_mapping(mapping)

    # --- storing ----------------------------------------------------------------------------------

    @permitted
    def preview(self, results: Iterable[ParsedResult], choices: Choices, actor: Actor) -> list[Preview]:
        """What would be stored. Raises SpecError for impossible answers."""
        records.check(choices)
        parsed = list(results)
        existing = saving.ExistingRuns(self._warehouse)
        existing.load(parsed)
        catalogue, now = self._build_catalogue(), self._clock()
        previews = []
        for result, duplicate_of in zip(parsed, existing.duplicates(parsed), strict=True):
            record = records.record_of(result, choices, catalogue, actor.name, now)
            verdict = self._warehouse.imports.evaluate(record)
            is_carried = bool(record.imported and record.imported.carried)
            settled = (result, ()) if is_carried else records.settle_throughput(result, choices, catalogue)
            previews.append(Preview(settled[0], record, existing.find(result), duplicate_of, *verdict, settled[1]))
        return previews

    @permitted
    def save(
        self,
        results: Iterable[ParsedResult],
        choices: Choices,
        actor: Actor,
        on_progress: saving.OnSaved = saving.no_progress,
    ) -> Saved:
        """Store results while they are read, in bounded memory. Can be repeated after an interruption.

        Raises SpecError for impossible answers, before anything is stored."""
        require_writable(self._settings.data_dir)
        records.check(choices)
        catalogue, now = self._build_catalogue(), self._clock()  # runs with the same time are one import, undone as one

        def record(result: ParsedResult) -> RunRecord:
            return records.record_of(result, choices, catalogue, actor.name, now)

        with self._operations.count_operation(actor.name):
            saved = saving.save_results(
                results, record, self._warehouse, self._make_sealed_folders(actor), on_progress, choices.replace
            )
        return replace(saved, import_id=now.strftime(ID)) if saved.new else saved

    @permitted
    def save_inference(self, results: Sequence[InferenceResult], actor: Actor) -> int:
        """Store results of inference, apart from runs; returns the number of new ones."""
        require_writable(self._settings.data_dir)
        log_change(actor, f"import of {len(results)} results of inference")
        return self._warehouse.inference.add(results, actor.name, self._clock())

    def record(self, run_id: str) -> RunRecord:
        """The record of a run, launched or imported. Raises ResultError if its folder is unreadable."""
        folder = self._folders.read(run_id)
        return read_record(folder.record, folder.metrics, folder.events)

    @permitted
    def add_demo(self, actor: Actor) -> int:
        """Store the demo history as one import of rehearsals; returns the number of new runs."""
        require_writable(self._settings.data_dir)
        log_change(actor, "add the demo history")
        records = list(demo.demo_records(self._workloads, actor.name, self._clock()))
        return len(saving.save_records(records, self._warehouse, self._make_sealed_folders(actor)))

    def _make_sealed_folders(self, actor: Actor) -> saving.SealedFolders:
        return saving.SealedFolders(self._folders, self._seals, actor)

    # --- undoing -------------------------------------------------------------------------------

    def imports(self, limit: int = 20, offset: int = 0) -> tuple[list[Import], int]:
        """A page of imports, newest first, and the number of all."""
        return self._warehouse.imports.page(limit, offset)

    def get_import(self, import_id: str) -> Import:
        """One import, by its id or a unique prefix of it. Raises RunNotFound."""
        return self._warehouse.imports.get(import_id)

    @permitted
    def remove_demo(self, actor: Actor) -> int:
        """Undo the import of the demo history; returns the number of runs, 0 if there is none."""
        run_ids = sorted(self._warehouse.runs.find_ids([demo.PREFIX]))
        rows = self._warehouse.runs.find_rows(run_ids)
        times = {row.imported_at for row in rows.values() if row.source == demo.SOURCE and row.imported_at}
        return sum(self.forget(self.get_import(at.strftime(ID)), actor) for at in sorted(times))

    @permitted
    def forget(self, one: Import, actor: Actor, *, keep_annotations: bool = False) -> int:
        """Undo an import: remove its runs from the warehouse, and their folders; returns the number of runs.

        Launched runs stay. Raises DiskError and WarehouseError."""
        require_writable(self._settings.data_dir)
        log_change(actor, f"undo of import {one.at:%Y-%m-%d %H:%M:%S %Z}")
        run_ids, removed = self._warehouse.imports.run_ids(one.at), []
        # Folders first: after an interruption the import is still listed, and can be undone again.
        with import_turn(self._settings.data_dir), full_disks_named():
            for run_id in run_ids:
                folder = self._folders.path(run_id)
                if folder.launch.exists() or self._folders.has(folder.path.name, folder.launch.name):
                    continue  # it was launched, and not only imported
                if folder.path.exists():
                    shutil.rmtree(folder.path)
                self._folders.remove_run(folder.path.name)
                removed.append(run_id)
            self._seals.remove_folders(removed, actor)
        return self._warehouse.imports.forget(one.at, keep_annotations=keep_annotations)


def _copy_file(file: BinaryIO) -> BinaryIO:
    """A copy, because the reader closes it; result files are small."""
    file.seek(0)
    return BytesIO(file.read())


_STORED = TypeAdapter(dict[str, str])

NOTHING = ""  # of an ignored column


class Columns:
    """Meanings by header, in an editable file of the data folder."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read_stored(self) -> dict[str, str]:
        """The stored meanings by header. Raises ConfigError if the file is invalid."""
        if not self._file.exists():
            return {}
        try:
            return check_mapping(_STORED.validate_json(self._file.read_bytes()))
        except (OSError, ValidationError, SpecError):
            message = Message("{file} cannot be read", file=self._file)
            raise ConfigError(message, Message("delete it, and choose the meanings of columns again")) from None

    @permitted
    def remember(self, mapping: Mapping[str, str], actor: Actor) -> None:
        """Store more meanings. Raises SpecError for an unknown one."""
        both = self.read_stored() | check_mapping(mapping)
        log_change(actor, f"meanings of {len(mapping)} table columns")
        write_whole(self._file, json.dumps(both, ensure_ascii=False, indent=2, sort_keys=True).encode())


def check_mapping(mapping: Mapping[str, str]) -> dict[str, str]:
    """The same mapping. Raises SpecError with the headers of unknown meanings."""
    allowed = {NOTHING, *ColumnMeaning}
    names = ", ".join([*ColumnMeaning, f"{PARAMETER}NAME"])
    problems = [
        Problem(header, Message("must be one of {columns}, or empty", columns=names), repr(column))
        for header, column in mapping.items()
        if column not in allowed and not is_parameter(column)
    ]
    if problems:
        raise SpecError(Message("column mapping"), problems)
    return dict(mapping)


# --- directories in OBS -----------------------------------------------------------------------------

SCHEME = "obs://"

SMALL = 1024 * 1024  # bytes; smaller objects are fetched in batches, larger ones through a file
BATCH = 64


def obs_path(text: str) -> str:
    """The path `/bucket/directory/` of `obs://bucket/directory`. Raises SpecError."""
    path = text.strip().removeprefix(SCHEME).strip("/")
    if not text.strip().startswith(SCHEME) or not path:
        raise SpecError(
            Message("directory in OBS"),
            [Problem("path", Message("must start with {scheme}bucket/", scheme=SCHEME), repr(text))],
        )
    return f"/{path}/"


@contextmanager
def files_below(objects: ObjectStore, directory: str) -> Iterator[list[InputFile]]:
    """Every object below a directory (`/bucket/directory/`), named by its relative path; valid inside the `with`."""
    stats = [stat for stat in objects.list(directory) if not stat.path.endswith("/")]
    small = _BatchReader(objects, [stat.path for stat in stats if stat.size <= SMALL])
    with tempfile.TemporaryDirectory(prefix="aisbench-import-") as folder:
        large = partial(_download_file, objects, Path(folder))
        yield [
            InputFile(
                stat.path.removeprefix(directory),
                stat.size,
                partial(small.open if stat.size <= SMALL else large, stat.path),
            )
            for stat in stats
        ]


@dataclass(slots=True)
class _BatchReader:
    """Small objects in key order. Opening one also fetches the next ones: the readers open most files in that order."""

    objects: ObjectStore
    paths: Sequence[str]
    batch: Mapping[str, bytes] = field(default_factory=dict)

    def open(self, path: str) -> BinaryIO:
        """The object's bytes. Raises FileNotFoundError if it was deleted since it was listed."""
        if path not in self.batch:
            start = self.paths.index(path)
            self.batch = self.objects.read_many(self.paths[start : start + BATCH])
        if path not in self.batch:
            raise FileNotFoundError(path)
        return BytesIO(self.batch[path])


def _download_file(objects: ObjectStore, folder: Path, path: str) -> BinaryIO:
    target = folder / "object"
    objects.get(path, target)
    file = target.open("rb")
    target.unlink()  # the open file stays readable, and frees the disk when it is closed
    return file
