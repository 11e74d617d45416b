"""Takes runs over from another console's warehouse file, or from a snapshot: whole, in the same words, each once.

What came along is kept first, as a file, so that a rebuild has it as it has the folders of the runs.
"""

import hashlib
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from aisbench_core.errors import ResultError, WarehouseError
from aisbench_core.warehouse import series_plans
from aisbench_core.warehouse.connection import PATIENCE_S, Connection
from aisbench_core.warehouse.lake import Lake
from aisbench_core.warehouse.moving import Told, copy_runs
from aisbench_core.warehouse.reading import copied
from aisbench_core.warehouse.record import clear
from aisbench_core.warehouse.schema import TABLES

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
    group by run_id order by run_id"""  # noqa: S608 (our own words)

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


class Taking:
    """What one warehouse takes over; every method raises as the warehouse's own do."""

    def __init__(self, connection: Connection | Lake) -> None:
        self._connection = connection

    def look(self, file: Path, rehearsed: Collection[str]) -> Taken:
        """What `take` would do."""
        with tempfile.TemporaryDirectory(prefix="aisbench-import-") as folder:
            return self._drafted(file, Path(folder) / "warehouse.duckdb", rehearsed)

    def take(self, file: Path, kept: Path, rehearsed: Collection[str], told: Told) -> Taken:
        """Store every run of the file that is not here, and keep them in a file of the folder `kept`.

        `rehearsed`: regions that are rehearsals here. Their file stays as it is. Can be repeated when interrupted.
        Raises ResultError when it is no warehouse, or of a newer version."""
        kept.mkdir(parents=True, exist_ok=True)
        own = kept / f"{_sha256(file)[:16]}.duckdb"
        with tempfile.TemporaryDirectory(prefix=".", dir=kept) as folder:
            draft = Path(folder) / own.name
            taken = self._drafted(file, draft, rehearsed)
            if taken.new and not own.exists():
                draft.replace(own)
        if taken.new:
            self._store(Connection(own), told)
        return taken

    def again(self, kept: Path) -> None:
        """Store whatever was taken over and is not here."""
        for file in _files(kept):
            self._store(Connection(file), lambda _done, _of: None)

    def _drafted(self, file: Path, draft: Path, rehearsed: Collection[str]) -> Taken:
        """A copy of the file that holds the new runs only."""
        here = self._here()
        try:
            copied(file, draft, PATIENCE_S)
            source = Connection(draft)
            taken = source.write(lambda cur: _only_new(cur, here, rehearsed))
            with source.cursor() as cur:
                cur.execute("checkpoint")
        except WarehouseError as error:
            raise ResultError(error.message.replace(str(draft), str(file)), error.hint) from error
        return taken

    def _here(self) -> Any:
        """Run, job and origin of every run, as an Arrow table."""
        with self._connection.cursor() as cur:
            return cur.execute("select run_id, job_id, origin from runs").to_arrow_table()

    def _store(self, source: Connection, told: Told) -> None:
        here = self._here()
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
        with Connection(file).cursor() as cur:
            yield from (run_id for (run_id,) in cur.execute("select run_id from runs").fetchall())


def let_go(kept: Path, run_ids: Sequence[str]) -> None:
    """Keep these runs no longer: a rebuild must not bring back what was forgotten."""
    for file in _files(kept):
        Connection(file).write(lambda cur: clear(cur, list(run_ids)))


def _files(kept: Path) -> list[Path]:
    return sorted(kept.glob("*.duckdb"))


def _only_new(cur: DuckDBPyConnection, here: Any, rehearsed: Collection[str]) -> Taken:
    cur.register("here", here)
    cur.execute(_CHOSEN, [list(rehearsed)])
    counts = dict(cur.execute("select what, count(*) from chosen group by what").fetchall())
    taken = Taken(counts.get("new", 0), counts.get("known", 0), counts.get("left out", 0))
    if taken.known or taken.left_out:
        for table in TABLES:
            cur.execute(f"delete from {table} where run_id in (select run_id from chosen where what <> 'new')")  # noqa: S608
    for table in _OF_PEOPLE:
        cur.execute(f"delete from {table}")  # noqa: S608 (our own words)
    cur.execute("delete from series where series_id not in (select series_id from runs)")
    cur.unregister("here")
    cur.execute("drop table chosen")
    return taken


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
