"""Keeps imported results: some hundred at a time, first as text in their folders, then in the warehouse.

Whoever is interrupted starts again: what the warehouse holds is passed over, everything else is stored.
"""

import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace as replace_in
from itertools import islice
from pathlib import Path

from filelock import FileLock, Timeout

from aisbench_core.errors import ResultError, WarehouseBusy
from aisbench_core.history.found import FoundResult
from aisbench_core.importing.chosen import Saved
from aisbench_core.importing.records import run_id_of, start_of_id
from aisbench_core.messages import Message
from aisbench_core.model import RunRecord
from aisbench_core.results.record import read_outline, write_record
from aisbench_core.results.stated import read_stated, write_stated
from aisbench_core.running.places import RunFolder
from aisbench_core.warehouse import Warehouse

CHUNK = 400
"""Results that are held and stored together."""

OnSaved = Callable[[int], None]
"""Called with the number of results that are dealt with so far."""


def no_progress(_: int) -> None:
    """For those who do not watch."""


LOCK = "import.lock"
TURN_S = 60.0
"""How long an import waits for the chunk of another one."""

OUR_RUN = re.compile(r"r\d{8}-\d{6}-[a-z0-9]{6}")
"""A run's id, which the job's name and the directory of its results hold."""


class Here:
    """Which results are runs already: the same import, or the run that was launched here."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._ids: defaultdict[str, set[str]] = defaultdict(set)
        self._launched: dict[str, str] = {}
        self._recorded: set[str] = set()
        self._rows: Mapping[tuple[str, str], str] = {}

    def look(self, results: Sequence[FoundResult]) -> None:
        """Ask the warehouse about these results, with three questions in all."""
        starts = {start_of_id(found) for found in results}
        for run_id in self._warehouse.starting_with(sorted(starts)):
            self._ids[run_id[: len(next(iter(starts)))]].add(run_id)
        self._launched.update(self._warehouse.of_jobs([found.job_id for found in results if found.job_id]))
        self._recorded |= self._warehouse.known([name for found in results for name in _names(found)])
        places = [found.place for found in results if found.is_row]
        self._rows = self._warehouse.imports.read_from(places) if places else {}

    def name(self, found: FoundResult) -> str:
        """The run that a result is already, or empty.

        Equal values are the same run when one side knows no job: an excerpt of a log has often lost it."""
        for name in _names(found):
            if name in self._recorded:
                return name
        if found.job_id in self._launched:
            return self._launched[found.job_id]
        start, own = start_of_id(found), run_id_of(found)
        alike = self._ids.get(start, set())
        if own in alike:
            return own
        by_values = start if start in alike else min(alike, default="") if own == start else ""
        return by_values or self.corrects(found)

    def corrects(self, found: FoundResult) -> str:
        """The run of the same row of a table, whose columns meant something else when it was read; or empty."""
        same = self._rows.get((found.place, found.raw), "") if found.is_row else ""
        return same if not same.startswith(start_of_id(found)) else ""

    def repeated(self, results: Sequence[FoundResult]) -> list[str]:
        """For each result the source of the same one before it, by the rules for those that are stored; or empty."""
        seen, sources = Here(self._warehouse), dict[str, str]()
        found = []
        for result in results:
            name = "" if self.name(result) else seen.name(result)
            found.append(sources.get(name, ""))
            if not name:
                seen.add(result)
                sources[run_id_of(result)] = result.source
        return found

    def add(self, found: FoundResult) -> None:
        """From now on this result is here."""
        self._ids[start_of_id(found)].add(run_id_of(found))


def save(
    results: Iterable[FoundResult],
    record: Callable[[FoundResult], RunRecord],
    warehouse: Warehouse,
    runs_dir: Path,
    told: OnSaved = no_progress,
    replace: bool = False,
) -> Saved:
    """Store what is not known yet. The same result twice is one run. `replace`: what was imported before, too."""
    here = Here(warehouse)
    new: list[str] = []
    done = corrected = 0
    for chunk in _chunks(results):
        with _turn(runs_dir):
            here.look(chunk)
            if not replace:
                rows = ((found, name) for found in chunk if (name := here.corrects(found)) and name == here.name(found))
                corrected += sum(_says_else(record(found), RunFolder(runs_dir / name)) for found, name in rows)
            records = [_under(record(found), name) for found, name in _unknown(chunk, here, replace)]
            new += _kept(records, warehouse, runs_dir, replace)
        done += len(chunk)
        told(done)
    return Saved(tuple(new), done - len(new), corrected)


@contextmanager
def _turn(runs_dir: Path) -> Iterator[None]:
    """Imports on this machine take turns, chunk by chunk: of two that read the same file, one finds each result new."""
    try:
        with FileLock(runs_dir.parent / LOCK, timeout=TURN_S):
            yield
    except Timeout as error:
        raise WarehouseBusy(
            Message("another import has been storing results for {seconds:.0f} s", seconds=TURN_S), Message("try again")
        ) from error


def _names(found: FoundResult) -> list[str]:
    """The runs of ours that a result may be, by what it says of itself and by where it lies."""
    return [name for name in (found.run_id, *OUR_RUN.findall(f"{found.job_name} {found.source}")) if name]


def _unknown(chunk: Sequence[FoundResult], here: Here, replace: bool) -> Iterator[tuple[FoundResult, str]]:
    """What is to be stored, and the run that it is already: a row that is corrected stays the run that it was."""
    replaced: set[str] = set()
    for found in chunk:
        name, own = here.name(found), run_id_of(found)
        again = replace and name in (own, here.corrects(found)) and name not in replaced
        if not name or again:
            replaced.add(name or own)
            here.add(found)
            yield found, name


def _says_else(now: RunRecord, folder: RunFolder) -> bool:
    """Whether the columns of now make another record of the same row; where that one is not here, they may."""
    try:
        before = read_outline(folder.record)
    except ResultError:
        return True
    return (now.result, now.workload) != (before.result, before.workload) or now.run.spec != before.run.spec


def _kept(records: Sequence[RunRecord], warehouse: Warehouse, runs_dir: Path, replace: bool) -> list[str]:
    """The runs that were stored; what another machine has stored since we looked leaves nothing here."""
    folders = {record.run.run_id: RunFolder(runs_dir / record.run.run_id).path for record in records}
    ours = {run_id for run_id, folder in folders.items() if not folder.exists()}
    written = [_written(record, runs_dir) for record in records]
    if replace:
        warehouse.record_many(written)
        return list(folders)
    new = warehouse.imports.add(written)
    for run_id in ours - new:
        shutil.rmtree(folders[run_id])
    return [run_id for run_id in folders if run_id in new]


def _under(record: RunRecord, run_id: str) -> RunRecord:
    return replace_in(record, run=replace_in(record.run, run_id=run_id)) if run_id else record


def _written(record: RunRecord, runs_dir: Path) -> RunRecord:
    """The record, kept in its folder; what was stated of its system before stays."""
    folder = RunFolder(runs_dir / record.run.run_id)
    write_record(record, folder.record, folder.metrics, folder.events)
    before = read_stated(folder.path)
    if record.described and before is None:
        write_stated(record.described, folder.path)
    return replace_in(record, described=before or record.described)


def _chunks(results: Iterable[FoundResult]) -> Iterator[list[FoundResult]]:
    remaining = iter(results)
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk
