"""Results that were measured elsewhere, or before: looked at first, then kept beside those that are launched here."""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from aisbench_core.authoring.workloads import Workloads
from aisbench_core.errors import Problem, SpecError, full_disks_named
from aisbench_core.history.found import UPSTREAM_ZONE, ColumnMeaning, FoundResult, InputFile, Table, Unread
from aisbench_core.history.names import is_result_file
from aisbench_core.history.reading import columns_of, columns_of_stream, read_files, read_path, read_stream
from aisbench_core.importing import records, saving
from aisbench_core.importing.chosen import UNSAID, Choices, Preview, Saved, Where
from aisbench_core.importing.columns import Columns, checked
from aisbench_core.importing.obs_files import files_below, obs_path
from aisbench_core.importing.records import Catalogue
from aisbench_core.messages import Message
from aisbench_core.model import Clock, RunRecord
from aisbench_core.read_only import require_writable
from aisbench_core.regions import Regions
from aisbench_core.results.record import read_record
from aisbench_core.running.places import RunFolder
from aisbench_core.running.steps import Connect
from aisbench_core.settings import Settings
from aisbench_core.warehouse import Warehouse
from aisbench_core.warehouse.records.imported import Import
from aisbench_core.warehouse.store.merging import Taken, let_go
from aisbench_core.warehouse.store.migrating import Told
from aisbench_core.warehouse.validity.judging import stored_checks
from aisbench_core.warehouse.values import CheckLevel, Validity

COLUMNS_FILE = "import_columns.json"

Found = FoundResult | Unread
Upload = tuple[str, BinaryIO]
"""A file's name and the file."""

UPLOADED = "uploaded files"
"""What the folder is called that handed-over result files come from."""


class ResultImport:
    """Old results on their way into the warehouse. Threads may share it."""

    def __init__(
        self,
        settings: Settings,
        warehouse: Warehouse,
        workloads: Workloads,
        regions: Regions,
        connect: Connect,
        clock: Clock,
    ) -> None:
        """`connect` leads to the clouds that directories in OBS are read from."""
        self._settings = settings
        self._warehouse = warehouse
        self._workloads = workloads
        self._regions = regions
        self._connect = connect
        self._clock = clock
        self.columns = Columns(settings.data_dir / COLUMNS_FILE)

    # --- finding ----------------------------------------------------------------------------------

    def where(self, profile: str = "", region: str = "") -> Where:
        """Which results these join. Rehearsals of old never join those that a sandbox made here.

        Raises ConfigError on a profile that does not exist, SpecError when both are named."""
        if profile and region:
            raise SpecError(
                Message("where they belong"), [Problem("region", Message("a profile names its own"), repr(region))]
            )
        if profile:
            place = self._regions.profile(profile)
            return Where(UNSAID if place.rehearsal else place.region, place.rehearsal, place.name)
        return Where(UNSAID, True) if region and region in self._rehearsed() else Where(region or UNSAID)

    def read(self, path: Path, mapping: Mapping[str, str], zone: tzinfo = UPSTREAM_ZONE) -> Iterator[Found]:
        """Every result in a file, a folder or an archive, while it is being read.

        `mapping`: what columns of tables mean, beside what was said before. Raises ResultError when nothing is there,
        and SpecError on a meaning that does not exist."""
        return read_path(path, self._meanings(mapping), zone)

    def read_uploads(self, files: Sequence[Upload], mapping: Mapping[str, str]) -> Iterator[Found]:
        """The same for files that somebody hands over; result files among them are those of one run."""
        meanings = self._meanings(mapping)
        for name, file in files:
            if not is_result_file(name):
                file.seek(0)
                yield from read_stream(file, name, meanings)
        parts = [InputFile(name, None, partial(_again, file)) for name, file in files if is_result_file(name)]
        if parts:
            yield from read_files(parts, UPLOADED, meanings)

    def read_obs(
        self, profile: str, directory: str, mapping: Mapping[str, str], zone: tzinfo = UPSTREAM_ZONE
    ) -> Iterator[Found]:
        """The same for a directory in OBS (`obs://bucket/directory/`), with a profile's keys; it is listed once.

        Raises SpecError on another place, CloudError, and ConfigError when the profile or its keys cannot be used."""
        place = obs_path(directory)
        meanings = self._meanings(mapping)
        with files_below(self._connect(profile).objects, place) as files:
            if not files:
                yield Unread(directory, Message("there is no object below it"))
            yield from read_files(files, directory, meanings, zone)

    def tables(self, path: Path) -> Iterator[Table | Unread]:
        """The columns of each table in a file, a folder or an archive, with what they are taken for."""
        return (self._as_said(each) for each in columns_of(path))

    def tables_in_uploads(self, files: Sequence[Upload]) -> Iterator[Table | Unread]:
        """The same for files that somebody hands over."""
        for name, file in files:
            file.seek(0)
            yield from (self._as_said(each) for each in columns_of_stream(file, name))

    def _catalogue(self) -> Catalogue:
        return Catalogue(self._workloads.all(), self._rehearsed())

    def _rehearsed(self) -> frozenset[str]:
        """The regions that are rehearsals here."""
        places = map(self._regions.profile, self._regions.names())
        return frozenset(place.region for place in places if place.rehearsal)

    def _meanings(self, mapping: Mapping[str, str]) -> dict[str, str]:
        return self.columns.known() | checked(mapping)

    def _as_said(self, table: Table | Unread) -> Table | Unread:
        if isinstance(table, Unread):
            return table
        said = {header: column for header, column in self.columns.known().items() if header in table.columns}
        known = {header: ColumnMeaning(column) for header, column in said.items() if column}
        guessed = {header: column for header, column in table.mapping.items() if header not in said}
        return replace(table, mapping=guessed | known)

    # --- keeping ----------------------------------------------------------------------------------

    def preview(self, results: Iterable[FoundResult], choices: Choices, who: str) -> list[Preview]:
        """What would be stored. Raises SpecError when what a person says cannot be so."""
        records.check(choices)
        found = list(results)
        here = saving.Here(self._warehouse)
        here.look(found)
        catalogue, now = self._catalogue(), self._clock()
        made = ((each, records.record_of(each, choices, catalogue, who, now)) for each in found)
        return [
            self._preview(Preview(each, record, here.name(each), source))
            for (each, record), source in zip(made, here.repeated(found), strict=True)
        ]

    def _preview(self, made: Preview) -> Preview:
        """With what its verdict would be."""
        verdict = self._warehouse.imports.judged(made.record)
        failed = tuple(check for check in stored_checks(verdict.checks) if check.level is CheckLevel.FAIL)
        return replace(made, validity=Validity(verdict.validity), failed=failed)

    def save(
        self,
        results: Iterable[FoundResult],
        choices: Choices,
        who: str,
        told: saving.OnSaved = saving.no_progress,
    ) -> Saved:
        """Store results, as they come; bounded memory for any number. Can be repeated when interrupted.

        Raises SpecError, before anything is stored, when what a person says cannot be so."""
        require_writable(self._settings.data_dir)
        records.check(choices)
        catalogue, now = self._catalogue(), self._clock()  # runs with one time are one import, and forgotten as one

        def record(found: FoundResult) -> RunRecord:
            return records.record_of(found, choices, catalogue, who, now)

        return saving.save(results, record, self._warehouse, self._settings.runs_dir, told, choices.replace)

    def look_into(self, database: Path) -> Taken:
        """What `take_over` would do; raises as it does."""
        return self._warehouse.taking.look(database, self._rehearsed())

    def take_over(self, database: Path, told: Told) -> Taken:
        """Store every run of another console's warehouse file, or of a snapshot, as a claim. Can be repeated.

        Raises ResultError when it is no warehouse, or of a newer version."""
        require_writable(self._settings.data_dir)
        return self._warehouse.taking.take(database, self._settings.taken_dir, self._rehearsed(), told, self._clock())

    def record(self, run_id: str) -> RunRecord:
        """All that is kept of a run, launched or imported. Raises ResultError when its folder cannot be read."""
        folder = RunFolder(self._settings.runs_dir / Path(run_id).name)
        return read_record(folder.record, folder.metrics, folder.events)

    # --- forgetting -------------------------------------------------------------------------------

    def imports(self, limit: int = 20, offset: int = 0) -> tuple[list[Import], int]:
        """Imports, newest first, and how many there are in all."""
        return self._warehouse.imports.page(limit, offset)

    def get_import(self, import_id: str) -> Import:
        """One import, by its id or by a beginning of it that no other shares. Raises RunNotFound."""
        return self._warehouse.imports.get(import_id)

    def forget(self, one: Import, *, keep_remarks: bool = False) -> int:
        """Undo an import: its runs go from the warehouse, and their folders from this machine; says how many went.

        Launched runs stay. Folders go first: whoever is interrupted finds the import still listed, and does it again.
        Raises DiskError and WarehouseError."""
        require_writable(self._settings.data_dir)
        run_ids = self._warehouse.imports.run_ids(one.at)
        with full_disks_named():
            for run_id in run_ids:
                folder = RunFolder(self._settings.runs_dir / Path(run_id).name)
                if folder.path.exists() and not folder.launch.exists():  # elsewhere it may be a run of this machine
                    shutil.rmtree(folder.path)
        let_go(self._settings.taken_dir, run_ids)
        return self._warehouse.imports.forget(one.at, keep_remarks=keep_remarks)


def _again(file: BinaryIO) -> BinaryIO:
    """The file from its beginning, to be closed by whoever reads it; result files are small."""
    file.seek(0)
    return BytesIO(file.read())
