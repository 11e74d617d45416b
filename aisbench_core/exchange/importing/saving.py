"""Stores imported results in chunks, first as text in run folders, then in the warehouse.

An interrupted import can be repeated: what the warehouse has is skipped, everything else is stored.
"""

import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_in
from itertools import islice

from aisbench_core.base.errors import ResultError
from aisbench_core.domain.results.record import read_outline, read_stated, write_record, write_stated
from aisbench_core.exchange.importing.choices import Saved
from aisbench_core.exchange.importing.records import earlier_prefix, id_prefix, run_id_of
from aisbench_core.exchange.importing.turn import import_turn
from aisbench_core.exchange.readers.results import ParsedResult
from aisbench_core.model import Actor, RunRecord
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.parts import RECORD_FILES, STATED_FILES
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.store.run_folders.transfers import at_once
from aisbench_core.store.seals.service import Seals
from aisbench_core.warehouse.facade import Warehouse

CHUNK = 400  # results in memory, and per transaction


@dataclass(frozen=True, slots=True)
class SealedFolders:
    """Where records are written and sealed, and in whose name."""

    folders: RunFolders
    seals: Seals
    actor: Actor


OnSaved = Callable[[int], None]
"""Called with the number of results that are stored so far."""


def no_progress(_: int) -> None:
    """For callers that show no progress."""


OUR_RUN = re.compile(r"r\d{8}-\d{6}-[a-z0-9]{6}")  # a run id, which is part of the job's name and of its directories


class ExistingRuns:
    """Finds the run that a result already is: an earlier import, or a run that was launched here."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._ids: defaultdict[str, set[str]] = defaultdict(set)
        self._launched: dict[str, str] = {}
        self._recorded: set[str] = set()
        self._rows: Mapping[tuple[str, str], str] = {}

    def load(self, results: Sequence[ParsedResult]) -> None:
        """Query the warehouse about a chunk of results: a query per result would take most of an import's time."""
        prefixes = {name(result) for name in (id_prefix, earlier_prefix) for result in results} - {""}
        for run_id in self._warehouse.runs.find_ids(sorted(prefixes)):
            self._ids[run_id[: len(next(iter(prefixes)))]].add(run_id)
        self._launched.update(self._warehouse.runs.find_by_job([result.job_id for result in results if result.job_id]))
        self._recorded |= self._warehouse.runs.select_recorded(
            [run_id for result in results for run_id in _own_run_ids(result)]
        )
        locations = [result.location for result in results if result.is_row]
        self._rows = self._warehouse.imports.read_from(locations) if locations else {}

    def find(self, result: ParsedResult) -> str:
        """The id of the run that a result already is, or empty.

        Equal values are the same run if one side has no job, which excerpts of logs often lack."""
        for run_id in _own_run_ids(result):
            if run_id in self._recorded:
                return run_id
        if result.job_id in self._launched:
            return self._launched[result.job_id]
        prefix, own = id_prefix(result), run_id_of(result)
        ids = self._ids.get(prefix, set())
        if own in ids:
            return own
        by_values = prefix if prefix in ids else min(ids, default="") if own == prefix else ""
        return by_values or self.find_earlier(result) or self.corrected_by(result)

    def find_earlier(self, result: ParsedResult) -> str:
        """The run that was stored of the same log before its text identified it; or empty."""
        return min(self._ids.get(earlier_prefix(result), ()), default="")

    def corrected_by(self, result: ParsedResult) -> str:
        """The run of the same row of a table, which was imported with another mapping of columns; or empty."""
        run_id = self._rows.get((result.location, result.raw), "") if result.is_row else ""
        return run_id if not run_id.startswith(id_prefix(result)) else ""

    def duplicates(self, results: Sequence[ParsedResult]) -> list[str]:
        """For each result the source of the same result earlier in the list, or empty."""
        earlier, sources = ExistingRuns(self._warehouse), dict[str, str]()
        duplicates = []
        for result in results:
            run_id = "" if self.find(result) else earlier.find(result)
            duplicates.append(sources.get(run_id, ""))
            if not run_id:
                earlier.add(result)
                sources[run_id_of(result)] = result.source
        return duplicates

    def add(self, result: ParsedResult) -> None:
        """Add a result that is about to be stored."""
        self._ids[id_prefix(result)].add(run_id_of(result))


def save_results(
    results: Iterable[ParsedResult],
    record: Callable[[ParsedResult], RunRecord],
    warehouse: Warehouse,
    folders: SealedFolders,
    on_progress: OnSaved = no_progress,
    replace: bool = False,
) -> Saved:
    """Store the results that are no runs yet. `replace`: also those that were imported before."""
    existing = ExistingRuns(warehouse)
    new: list[str] = []
    done = corrected = 0
    remaining = iter(results)
    while chunk := list(islice(remaining, CHUNK)):
        with import_turn(folders.folders.runs_dir.parent):
            existing.load(chunk)
            for result in () if replace else chunk:
                run_id = existing.corrected_by(result)
                if run_id and run_id == existing.find(result):
                    corrected += _has_changed(record(result), folders.folders.read(run_id))
            records = [_with_id(record(result), run_id) for result, run_id in _to_store(chunk, existing, replace)]
            new += _store_records(records, warehouse, folders, replace)
        done += len(chunk)
        on_progress(done)
    return Saved(tuple(new), done - len(new), corrected)


def save_records(records: Sequence[RunRecord], warehouse: Warehouse, folders: SealedFolders) -> list[str]:
    """Store records that no file contains; returns the ids of those that were not stored yet."""
    new = []
    for start in range(0, len(records), CHUNK):
        with import_turn(folders.folders.runs_dir.parent):
            new += _store_records(records[start : start + CHUNK], warehouse, folders, replace=False)
    return new


def _own_run_ids(result: ParsedResult) -> list[str]:
    """The ids of runs launched by a console that a result may be, from its fields, job name and source."""
    return [run_id for run_id in (result.run_id, *OUR_RUN.findall(f"{result.job_name} {result.source}")) if run_id]


def _to_store(
    chunk: Sequence[ParsedResult], existing: ExistingRuns, replace: bool
) -> Iterator[tuple[ParsedResult, str]]:
    """The results to store, and the run to replace, or empty. A corrected row keeps its run id."""
    replaced: set[str] = set()
    for result in chunk:
        run_id, own = existing.find(result), run_id_of(result)
        kept = (own, existing.corrected_by(result), existing.find_earlier(result))
        is_replaced = replace and run_id in kept and run_id not in replaced
        if not run_id or is_replaced:
            replaced.add(run_id or own)
            existing.add(result)
            yield result, run_id


def _has_changed(record: RunRecord, folder: RunFolder) -> bool:
    """Whether a row's record differs from the stored one; assumed if that is not on this machine."""
    try:
        stored = read_outline(folder.record)
    except ResultError:
        return True
    return (record.result, record.workload) != (stored.result, stored.workload) or record.run.spec != stored.run.spec


def _store_records(records: Sequence[RunRecord], warehouse: Warehouse, into: SealedFolders, replace: bool) -> list[str]:
    """The ids of the stored runs. The folder of a run that another machine has stored meanwhile is removed again."""
    folders = into.folders
    paths = {record.run.run_id: folders.path(record.run.run_id).path for record in records}
    ours = {run_id for run_id, path in paths.items() if not path.exists()}
    written = _all_written(records, folders)
    into.seals.seal_recorded(paths, into.actor)
    if replace:
        warehouse.record_many(written)
        return list(paths)
    new = warehouse.imports.add(written)
    for run_id in ours - new:
        shutil.rmtree(paths[run_id])
    into.seals.remove_folders(ours - new, into.actor)
    return [run_id for run_id in paths if run_id in new]


def _with_id(record: RunRecord, run_id: str) -> RunRecord:
    return replace_in(record, run=replace_in(record.run, run_id=run_id)) if run_id else record


def _all_written(records: Sequence[RunRecord], folders: RunFolders) -> list[RunRecord]:
    """Write records to their folders, and publish these."""
    if not folders.are_published:
        return [_write_to_folder(record, folders.path(record.run.run_id)) for record in records]

    def publish(record: RunRecord) -> RunRecord:
        run_id = record.run.run_id
        return folders.update(
            run_id, (*RECORD_FILES, *STATED_FILES), lambda: _write_to_folder(record, folders.path(run_id))
        )

    written = [result for _, result in at_once(publish, records)]
    for result in written:
        if isinstance(result, Exception):
            raise result
    return [result for result in written if isinstance(result, RunRecord)]


def _write_to_folder(record: RunRecord, folder: RunFolder) -> RunRecord:
    """Write a record to its folder; an existing system description is kept."""
    write_record(record, folder.record, folder.metrics, folder.events)
    described = read_stated(folder.path)
    if record.described and described is None:
        write_stated(record.described, folder.path)
    return replace_in(record, described=described or record.described)
