"""Which files of run folders are on OBS, in the ledger: per file, the version that everybody reads.

A version is stored by compare-and-set, so that of two writers one wins and the other learns of it."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from aisbench_core.base.errors import StaleRun
from aisbench_core.base.messages import Message
from aisbench_core.store.ledger.database.connection import LedgerConnection, Row
from aisbench_core.store.ledger.database.rows import insert_new, make_marks
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.parts import FolderPart
from aisbench_core.store.run_folders.pieces import Piece, PublishedFile

RUNS_AT_ONCE = 200


class StaleFile(StaleRun):
    """Somebody else published another version of a file."""


@dataclass(frozen=True, slots=True)
class FileLedger:
    """Published files by run. Threads, processes and machines may share it."""

    ledger: Ledger

    def of(self, run_ids: Collection[str], part: FolderPart = FolderPart.ALL) -> dict[str, list[PublishedFile]]:
        """The files in a part of these runs' folders, by run; at most RUNS_AT_ONCE of them."""
        condition, values = part.condition
        query = f"select * from run_files where run_id in {make_marks(run_ids)} and {condition} order by run_id, name"  # noqa: S608  # only ? marks and words of ours
        found = defaultdict(list)
        for row in self.ledger.rows(query, [*run_ids, *values]):
            found[row["run_id"]].append(_to_file(row))
        return dict(found)

    def pages(self) -> Iterator[list[str]]:
        """The ids of all runs that have files, a page at a time."""
        query = "select distinct run_id from run_files where run_id > ? order by run_id limit ?"
        last = ""
        while page := [row["run_id"] for row in self.ledger.rows(query, [last, RUNS_AT_ONCE])]:
            yield page
            last = page[-1]

    def store(self, files: Sequence[PublishedFile]) -> None:
        """Store each file as the version after the one that is stored, all of them or none. Raises StaleFile."""
        with self.ledger.transaction() as con:
            for file in files:
                _store_file(con, file)

    def add(self, files: Iterable[PublishedFile]) -> None:
        """Store files as they are, unless they have a version already."""
        with self.ledger.transaction() as con:
            for file in files:
                insert_new(con, "run_files", _to_row(file))

    def forget(self, run_id: str, names: Collection[str]) -> None:
        """Remove files that are removed."""
        with self.ledger.transaction() as con:
            for name in names:
                con.execute("delete from run_files where run_id = ? and name = ?", [run_id, name])


def _store_file(con: LedgerConnection, file: PublishedFile) -> None:
    where = "run_id = ? and name = ? and version = ?"
    key = [file.run_id, file.name, file.version - 1]
    if file.version == 1:
        key[2] = 0
        insert_new(con, "run_files", _to_row(file) | {"version": 0})
    row = _to_row(file)
    changed = con.execute(
        f"update run_files set version = ?, size = ?, pieces = ? where {where}",  # noqa: S608  # columns of ours
        [row["version"], row["size"], row["pieces"], *key],
    )
    if not changed.rowcount:
        message = Message("{file} of run {run_id} was changed on another machine", file=file.name, run_id=file.run_id)
        raise StaleFile(message, Message("try again"))


def _to_row(file: PublishedFile) -> dict[str, object]:
    pieces = [[piece.version, piece.offset, piece.size, piece.md5] for piece in file.pieces]
    return {
        "run_id": file.run_id, "name": file.name, "version": file.version, "size": file.size,
        "pieces": json.dumps(pieces),
    }  # fmt: skip


def _to_file(row: Row) -> PublishedFile:
    pieces = tuple(Piece(*each) for each in json.loads(row["pieces"]))
    return PublishedFile(row["run_id"], row["name"], row["version"], pieces)
