"""Merges runs of another console's warehouse file or snapshot (whole, each once, as claims), and moves whole ones.

Merged runs are first stored in a file of their own, from which a rebuild restores them, as others from their folders.
"""

import contextlib
import hashlib
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.base.errors import ResultError, RunsStillDiffer, WarehouseError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import draft_of, find_abandoned, make_private_folder
from aisbench_core.warehouse.queries.group_statistics import KEY_COLUMNS, mark_due, settle_groups
from aisbench_core.warehouse.records import annotations, baselines, saved_views, series_plans
from aisbench_core.warehouse.records.claims import claim_runs
from aisbench_core.warehouse.records.record import clear_runs
from aisbench_core.warehouse.store.file_store import FileStore
from aisbench_core.warehouse.store.foreign.copying import copy_rows
from aisbench_core.warehouse.tables.schema import TABLES
from aisbench_core.warehouse.tables.store import Progress, Store, no_progress
from aisbench_core.warehouse.validity import validation
from aisbench_core.warehouse.validity.evaluation import Evaluator

_MAGIC, _MAGIC_OFFSET = b"DUCK", 8

_CHOSEN = """
    create temp table chosen as
    select run_id, case
        when run_id in (select run_id from ours) then 'existing'
        when job_id <> '' and job_id in (select job_id from ours where origin = 'launched') then 'existing'
        when rehearsal or region in (select unnest(?::VARCHAR[])) then 'excluded'
        else 'new' end as what
    from runs"""

_MISSING = f"""
    select run_id, sum(count)::BIGINT
    from ({" union all ".join(f"select run_id, count(*) as count from {table} group by run_id" for table in TABLES)})
    where run_id in (select run_id from runs) and run_id not in (select run_id from ours)
    group by run_id order by run_id"""

_LAUNCHED = "select run_id from runs where origin = 'launched'"

# What is not about single runs stays in the console where it was made.
_NOT_OF_RUNS = ("group_statistics", "group_statistics_due", "spending", "baselines", "saved_views")


@dataclass(frozen=True, slots=True)
class MergeCounts:
    """How many runs are new, how many exist here already, and how many are excluded: rehearsals, and runs from regions
    that are rehearsals here, never mix with measurements."""

    new: int = 0
    existing: int = 0
    excluded: int = 0


def is_database(file: Path) -> bool:
    """Whether it is a DuckDB file."""
    if not file.is_file():
        return False
    with file.open("rb") as content:
        return content.read(_MAGIC_OFFSET + len(_MAGIC))[_MAGIC_OFFSET:] == _MAGIC


class WarehouseMerge:
    """Merges into one warehouse; every method raises WarehouseError, as the warehouse's own do."""

    def __init__(self, store: Store, evaluator: Evaluator) -> None:
        self._store = store
        self._evaluator = evaluator

    def preview(self, file: Path, rehearsed: Collection[str]) -> MergeCounts:
        """What `merge` would do."""
        with tempfile.TemporaryDirectory(prefix="aisbench-import-") as folder:
            return self._write_draft(file, Path(folder) / "warehouse.duckdb", rehearsed)

    def merge(
        self, file: Path, folder: Path, rehearsed: Collection[str], on_progress: Progress, at: datetime
    ) -> MergeCounts:
        """Store every run of the file that is not here as imported `at`, with a copy in a new file of `folder`.

        `rehearsed`: regions that are rehearsals here. `file` is not changed. Can be repeated after an interruption.
        Raises ResultError if it is no warehouse, or of a newer version."""
        folder.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(folder)
        with file.open("rb") as content:
            own = folder / f"{hashlib.file_digest(content, 'sha256').hexdigest()[:16]}.duckdb"
        with _draft_folder(own) as drafts:
            draft = drafts / own.name
            counts = self._write_draft(file, draft, rehearsed)
            if counts.new:
                own = _file_for(draft, own)
            if counts.new and not own.exists():
                self._claim_runs(draft, file.name, at)
                draft.replace(own)
        if counts.new:
            self._copy_missing(own, on_progress)
        return counts

    def restore(self, folder: Path) -> None:
        """Store the merged runs that are not here."""
        _remove_abandoned(folder)
        for file in _list_files(folder):
            self._copy_missing(file, no_progress)

    def claims(self, folder: Path) -> Iterator[str]:
        """The ids of merged runs, except for those that this console has launched: versions that did not make claims
        merged its own runs, too."""
        with self._store.cursor() as cur:
            launched = {run_id for (run_id,) in cur.execute(_LAUNCHED).fetchall()}
        return (run_id for run_id in merged_run_ids(folder) if run_id not in launched)

    def _write_draft(self, file: Path, draft: Path, rehearsed: Collection[str]) -> MergeCounts:
        """Copy the file, and delete from the copy the runs that are not new."""
        ours = self._our_runs()
        try:
            copy_rows(file, draft)
            source = FileStore(draft)
            counts = source.write(lambda cur: _keep_new(cur, ours, rehearsed))
            _merge_log(source)
        except WarehouseError as error:
            raise ResultError(
                error.message.with_texts(lambda text: text.replace(str(draft), str(file))), error.hint
            ) from error
        return counts

    def _claim_runs(self, file: Path, name: str, at: datetime) -> None:
        """Turn launched runs into claims, and check all runs again: a foreign verdict proves nothing."""
        source = FileStore(file)

        def change(cur: DuckDBPyConnection) -> None:
            claim_runs(cur, name, at)
            validation.evaluate_anew(cur, self._evaluator)

        source.write(change)
        _merge_log(source)

    def _our_runs(self) -> Any:
        """Run, job and origin of every run, as an Arrow table."""
        with self._store.cursor() as cur:
            return cur.execute("select run_id, job_id, origin from runs").to_arrow_table()

    def _copy_missing(self, file: Path, on_progress: Progress) -> None:
        source, ours = FileStore(file), self._our_runs()
        with source.cursor() as cur:
            has_launched = bool(cur.execute(f"{_LAUNCHED} limit 1").fetchall())
        if has_launched:  # merged by a version that did not make claims
            self._claim_runs(file, file.name, datetime.fromtimestamp(file.stat().st_mtime, UTC))
        with source.cursor() as cur:
            cur.register("ours", ours)
            missing = dict(cur.execute(_MISSING).fetchall())
            cur.unregister("ours")
        if missing:
            series_plans.copy(source, self._store)
            copy_runs(source, self._store, missing, on_progress)


def merged_run_ids(folder: Path) -> Iterator[str]:
    """The ids of all merged runs."""
    for file in _list_files(folder):
        yield from _run_ids(file)


def forget_runs(folder: Path, run_ids: Sequence[str]) -> None:
    """Delete these runs from the files, so that a rebuild does not restore them."""
    for file in _list_files(folder):
        FileStore(file).write(lambda cur: clear_runs(cur, list(run_ids)))


def _list_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.duckdb"))


def _run_ids(file: Path) -> list[str]:
    with FileStore(file).cursor() as cur:
        return [run_id for (run_id,) in cur.execute("select run_id from runs order by run_id").fetchall()]


def _file_for(draft: Path, own: Path) -> Path:
    """The file that an interrupted merge left with the draft's runs, else the first name that is free.

    A file that exists can lack some of them, if they were deleted since."""
    run_ids = set(_run_ids(draft))
    files = chain([own], (own.with_stem(f"{own.stem}-{number}") for number in count(1)))
    return next(file for file in files if not file.exists() or run_ids <= set(_run_ids(file)))


@contextlib.contextmanager
def _draft_folder(own: Path) -> Iterator[Path]:
    """A hidden folder beside the file, with the number of this process in its name."""
    folder = draft_of(own)
    make_private_folder(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(folder: Path) -> None:
    """Remove the drafts of merges that were killed; those of running ones stay."""
    for draft in find_abandoned(folder):
        shutil.rmtree(draft, ignore_errors=True)


def _keep_new(cur: DuckDBPyConnection, ours: Any, rehearsed: Collection[str]) -> MergeCounts:
    cur.register("ours", ours)
    cur.execute(_CHOSEN, [list(rehearsed)])
    counts = MergeCounts(**dict(cur.execute("select what, count(*) from chosen group by what").fetchall()))
    if counts.existing or counts.excluded:
        for table in TABLES:
            cur.execute(f"delete from {table} where run_id in (select run_id from chosen where what <> 'new')")
    for table in _NOT_OF_RUNS:
        cur.execute(f"delete from {table}")
    cur.execute("delete from series where series_id not in (select series_id from runs)")
    cur.unregister("ours")
    cur.execute("drop table chosen")
    return counts


def _merge_log(source: FileStore) -> None:
    """Merge the log into the file, which can then be moved."""
    with source.cursor() as cur:
        cur.execute("checkpoint")


# --- everything, from one warehouse into another ----------------------------------------------------

# Rows go from engine to engine as Arrow tables, some ten thousand runs at a time, and are never Python objects.

# Runs that are recorded during the copy are copied in another pass.
PASSES = 3

# Rows of a typical run; of longer runs, fewer are copied at once.
ROWS_PER_RUN = 16

Arrow = Any
"""An Arrow table: pyarrow has no types."""

Rows = tuple[Mapping[str, Arrow], list[dict[str, object]]]
"""Rows by table, and the keys of each group."""


@dataclass(frozen=True, slots=True)
class Moved:
    """How many runs and rows are equal, and how many runs were copied for that."""

    runs: int
    rows: int
    copied: int


def move(source: Store, target: Store, on_progress: Progress) -> Moved:
    """Copy every run that is missing or different in the target, annotations, baselines, views and series.

    Other runs of the target stay. Can be repeated after an interruption: equal runs are not copied again. Raises
    RunsStillDiffer if runs do in the end."""
    copied: set[str] = set()
    baselines.copy(source, target)
    saved_views.copy(source, target)
    series_plans.copy(source, target)
    for _ in range(PASSES):
        annotations.exchange(source, target)
        runs, rows, differing = _compare_contents(source, target)
        if not differing:
            return Moved(runs, rows, len(copied))
        copy_runs(source, target, differing, on_progress)
        copied.update(differing)
    raise RunsStillDiffer(
        Message(
            "{count} runs still differ after {passes} passes, {run} among them",
            count=len(differing),
            passes=PASSES,
            run=next(iter(differing)),
        ),
        Message("stop recording for a while and run the command again; nothing was removed"),
    )


def _compare_contents(source: Store, target: Store) -> tuple[int, int, dict[str, int]]:
    """Number of runs and rows in the source; by run_id, in order, the number of rows of runs that differ."""

    def contents(store: Store) -> Arrow:
        with store.cursor() as cur:
            return cur.execute(_CONTENTS).to_arrow_table()

    with ThreadPoolExecutor(2) as both:
        of_source, of_target = both.map(contents, (source, target))
    with source.cursor() as cur:
        cur.register("of_source", of_source)
        cur.register("of_target", of_target)
        cur.execute(
            "select run_id, rows from of_source where (run_id, sums) not in (from of_target select run_id, sums)"
        )
        differing = dict(sorted(cur.fetchall()))
        [(rows,)] = cur.execute("select coalesce(sum(rows), 0)::BIGINT from of_source").fetchall()
        for name in ("of_source", "of_target"):
            cur.unregister(name)
    return of_source.num_rows, rows, differing


def _rows_of(number: int, table: str, columns: Mapping[str, str]) -> str:
    # JSON as text: as a type of its own, another store could hash it differently.
    values = ", ".join(f"{name}::VARCHAR" if kind == "JSON" else name for name, kind in columns.items())
    return f"select run_id, hash({number}, {values})::HUGEINT as sum from {table}"


# Each run with its number of rows and the sum of their hashes, which does not depend on their order.
_CONTENTS = f"""
    select run_id, count(*) as rows, sum(sum)::VARCHAR as sums
    from ({" union all ".join(_rows_of(number, *table) for number, table in enumerate(TABLES.items()))})
    where run_id in (select run_id from runs) group by run_id"""


def copy_runs(source: Store, target: Store, sizes: Mapping[str, int], on_progress: Progress) -> None:
    """Replace the target's rows of these runs with the source's. `sizes`: rows by run, at least one run, in order."""
    done = 0
    chunks = _split_chunks(sizes, target.runs_per_copy)
    with ThreadPoolExecutor(1) as reader:  # reads the next chunk while one is written
        ahead = reader.submit(_read_chunk, source, chunks[0])
        for chunk, following in zip(chunks, [*chunks[1:], None], strict=True):
            rows = ahead.result()
            if following:
                ahead = reader.submit(_read_chunk, source, following)
            target.write(partial(_store_chunk, chunk=chunk, rows=rows))
            done += len(chunk)
            on_progress(done, len(sizes))
    target.write(settle_groups)


def _split_chunks(sizes: Mapping[str, int], max_runs: int) -> list[list[str]]:
    """Runs in the order of their ids, so that a chunk is in few row groups."""
    chunks: list[list[str]] = [[]]
    rows = 0
    for run_id, size in sizes.items():
        if chunks[-1] and (len(chunks[-1]) == max_runs or rows + size > max_runs * ROWS_PER_RUN):
            chunks.append([])
            rows = 0
        chunks[-1].append(run_id)
        rows += size
    return chunks


# The bounds are redundant, but with them DuckDB skips other row groups and files.
_OF_CHUNK = "run_id between ? and ? and run_id in (select unnest(?::VARCHAR[]))"


def _read_chunk(source: Store, chunk: list[str]) -> Rows:
    """All rows of the runs, and the keys of their groups."""
    bounds = [chunk[0], chunk[-1], chunk]
    with source.cursor() as cur:
        rows = {
            table: cur.execute(f"select {', '.join(columns)} from {table} where {_OF_CHUNK}", bounds).to_arrow_table()
            for table, columns in TABLES.items()
        }
        values = ", ".join(f"any_value({name})" for name in KEY_COLUMNS[1:])
        cur.execute(f"select group_id, {values} from runs where {_OF_CHUNK} group by group_id", bounds)
        return rows, [dict(zip(KEY_COLUMNS, row, strict=True)) for row in cur.fetchall()]


def _store_chunk(cur: DuckDBPyConnection, chunk: list[str], rows: Rows) -> None:
    tables, groups = rows
    clear_runs(cur, chunk)
    for table, columns in TABLES.items():
        cur.register("incoming", tables[table])
        cur.execute(f"insert into {table} ({', '.join(columns)}) select * from incoming")
        cur.unregister("incoming")
    mark_due(cur, groups)
