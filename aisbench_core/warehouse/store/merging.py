"""Takes runs over from another console's warehouse file, or from a snapshot: whole, each once, and as claims.

What came along is kept first, as a file, so that a rebuild has it as it has the folders of the runs.
"""

import contextlib
import hashlib
import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.errors import ResultError, WarehouseError
from aisbench_core.messages import message_of
from aisbench_core.private_files import FOLDER_MODE, abandoned, draft_of
from aisbench_core.warehouse.records import series_plans
from aisbench_core.warehouse.records.record import clear
from aisbench_core.warehouse.store.claims import claim
from aisbench_core.warehouse.store.connection import Connection
from aisbench_core.warehouse.store.foreign import copy_rows
from aisbench_core.warehouse.store.lake import Lake
from aisbench_core.warehouse.store.migrating import Told, copy_runs
from aisbench_core.warehouse.store.schema import TABLES
from aisbench_core.warehouse.validity import verdicts
from aisbench_core.warehouse.validity.judging import Judge

_MAGIC, _MAGIC_AT = b"DUCK", 8

_CHOSEN = """
    create temp table chosen as
    select run_id, case
        when run_id in (select run_id from here) then 'known'
        when job_id <> '' and job_id in (select job_id from here where origin = 'launched') then 'known'
        when rehearsal or region in (select unnest(?::VARCHAR[])) then 'left out'
        else 'new' end as what
    from runs"""

_MISSING = f"""
    select run_id, sum(count)::BIGINT
    from ({" union all ".join(f"select run_id, count(*) as count from {table} group by run_id" for table in TABLES)})
    where run_id in (select run_id from runs) and run_id not in (select run_id from here)
    group by run_id order by run_id"""

_LAUNCHED = "select run_id from runs where origin = 'launched'"

_OF_PEOPLE = ("standings", "standings_due", "baselines", "saved_views")
"""What is not about single runs stays with those who made it."""


@dataclass(frozen=True, slots=True)
class Taken:
    """How many runs are new, how many were here already, and how many stay out, because they are rehearsals or come
    from a region where everything is one: those mix with nothing."""

    new: int = 0
    known: int = 0
    left_out: int = 0


def is_database(file: Path) -> bool:
    """Whether the file is one of DuckDB's."""
    if not file.is_file():
        return False
    with file.open("rb") as content:
        return content.read(_MAGIC_AT + len(_MAGIC))[_MAGIC_AT:] == _MAGIC


class WarehouseMerge:
    """What one warehouse takes over; every method raises as the warehouse's own do."""

    def __init__(self, connection: Connection | Lake, judge: Judge) -> None:
        self._connection = connection
        self._judge = judge

    def look(self, file: Path, rehearsed: Collection[str]) -> Taken:
        """What `take` would do."""
        with tempfile.TemporaryDirectory(prefix="aisbench-import-") as folder:
            return self._drafted(file, Path(folder) / "warehouse.duckdb", rehearsed)

    def take(self, file: Path, kept: Path, rehearsed: Collection[str], told: Told, at: datetime) -> Taken:
        """Store every run of the file that is not here as imported `at`, and keep them in a file of the folder `kept`.

        `rehearsed`: regions that are rehearsals here. Their file stays as it is. Can be repeated when interrupted.
        Raises ResultError when it is no warehouse, or of a newer version."""
        kept.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(kept)
        own = kept / f"{_sha256(file)[:16]}.duckdb"
        with _draft_folder(own) as folder:
            draft = folder / own.name
            taken = self._drafted(file, draft, rehearsed)
            if taken.new:
                own = _file_for(draft, own)
            if taken.new and not own.exists():
                self._claim(draft, file.name, at)
                draft.replace(own)
        if taken.new:
            self._store(own, told)
        return taken

    def again(self, kept: Path) -> None:
        """Store whatever was taken over and is not here."""
        _remove_abandoned(kept)
        for file in _files(kept):
            self._store(file, lambda _done, _of: None)

    def claims(self, kept: Path) -> Iterator[str]:
        """The ids of the runs that were taken over, without those that are launched ones here: they are runs of this
        console, or were stored before runs that are taken over became claims."""
        with self._connection.cursor() as cur:
            launched = {run_id for (run_id,) in cur.execute(_LAUNCHED).fetchall()}
        return (run_id for run_id in kept_runs(kept) if run_id not in launched)

    def _drafted(self, file: Path, draft: Path, rehearsed: Collection[str]) -> Taken:
        """A copy of the file that holds the new runs only."""
        here = self._here()
        try:
            copy_rows(file, draft)
            source = Connection(draft)
            taken = source.write(lambda cur: _only_new(cur, here, rehearsed))
            _checkpoint(source)
        except WarehouseError as error:
            named = message_of(error.message).with_texts(lambda text: text.replace(str(draft), str(file)))
            raise ResultError(named, error.hint) from error
        return taken

    def _claim(self, file: Path, name: str, at: datetime) -> None:
        """Make claims of the file's launched runs, and judge all of them: no verdict of elsewhere is believed."""
        source = Connection(file)
        source.write(lambda cur: claim(cur, name, at))
        verdicts.keep(source, _run_ids(file), self._judge)
        _checkpoint(source)

    def _here(self) -> Any:
        """Run, job and origin of every run, as an Arrow table."""
        with self._connection.cursor() as cur:
            return cur.execute("select run_id, job_id, origin from runs").to_arrow_table()

    def _store(self, file: Path, told: Told) -> None:
        source, here = Connection(file), self._here()
        with source.cursor() as cur:
            has_launched = bool(cur.execute(f"{_LAUNCHED} limit 1").fetchall())
        if has_launched:  # it was kept by a version that took them over as launched
            self._claim(file, file.name, datetime.fromtimestamp(file.stat().st_mtime, UTC))
        with source.cursor() as cur:
            cur.register("here", here)
            missing = dict(cur.execute(_MISSING).fetchall())
            cur.unregister("here")
        if missing:
            series_plans.copy(source, self._connection)
            copy_runs(source, self._connection, missing, told)


def kept_runs(kept: Path) -> Iterator[str]:
    """The ids of all runs that were taken over."""
    for file in _files(kept):
        yield from _run_ids(file)


def let_go(kept: Path, run_ids: Sequence[str]) -> None:
    """Keep these runs no longer: a rebuild must not bring back what was forgotten."""
    for file in _files(kept):
        Connection(file).write(lambda cur: clear(cur, list(run_ids)))


def _files(kept: Path) -> list[Path]:
    return sorted(kept.glob("*.duckdb"))


def _run_ids(file: Path) -> list[str]:
    with Connection(file).cursor() as cur:
        return [run_id for (run_id,) in cur.execute("select run_id from runs order by run_id").fetchall()]


def _file_for(draft: Path, own: Path) -> Path:
    """The file that holds the draft's runs, as an interrupted import left it, or the first that is not there yet.

    One that is there lacks some of them when they were forgotten."""
    wanted = set(_run_ids(draft))
    files = chain([own], (own.with_stem(f"{own.stem}-{number}") for number in count(1)))
    return next(file for file in files if not file.exists() or wanted <= set(_run_ids(file)))


@contextlib.contextmanager
def _draft_folder(own: Path) -> Iterator[Path]:
    """A hidden folder beside the file, whose name tells which process writes there."""
    folder = draft_of(own)
    folder.mkdir(mode=FOLDER_MODE)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(kept: Path) -> None:
    """Remove the copies that imports left which were killed; those of imports that run stay."""
    for folder in abandoned(kept):
        shutil.rmtree(folder, ignore_errors=True)


def _only_new(cur: DuckDBPyConnection, here: Any, rehearsed: Collection[str]) -> Taken:
    cur.register("here", here)
    cur.execute(_CHOSEN, [list(rehearsed)])
    counts = dict(cur.execute("select what, count(*) from chosen group by what").fetchall())
    taken = Taken(counts.get("new", 0), counts.get("known", 0), counts.get("left out", 0))
    if taken.known or taken.left_out:
        for table in TABLES:
            cur.execute(f"delete from {table} where run_id in (select run_id from chosen where what <> 'new')")
    for table in _OF_PEOPLE:
        cur.execute(f"delete from {table}")
    cur.execute("delete from series where series_id not in (select series_id from runs)")
    cur.unregister("here")
    cur.execute("drop table chosen")
    return taken


def _checkpoint(source: Connection) -> None:
    """Bring everything into the file itself, which can then be moved."""
    with source.cursor() as cur:
        cur.execute("checkpoint")


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
