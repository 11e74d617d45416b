"""Seals in the ledger: one row for each run. The audit's newest entry about a run names the hash of its row."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from aisbench_core.model import ACTIVE, Run
from aisbench_core.store.ledger.database.connection import LedgerConnection, Row
from aisbench_core.store.ledger.database.rows import replace_row
from aisbench_core.store.ledger.ledger import as_text, as_time, run_of
from aisbench_core.store.seals.manifest import LAUNCHED_FILES, RESOLVED_FILE, SealedFile, from_text, sha256_of, to_text

CHANGE = "seal."
"""How the changes of seals begin in the audit."""

LAUNCHED, RECORDED, CHANGED, FILES_REMOVED, FOLDER_REMOVED = (
    f"{CHANGE}{name}" for name in ("launched", "recorded", "changed", "files_removed", "folder_removed")
)

COLLECTED = "./"
"""Stands in `changing` for all that collecting writes before the record."""

_NOT_COLLECTED = frozenset({*LAUNCHED_FILES, RESOLVED_FILE, "record.json", "train_result_info.json"})


@dataclass(frozen=True, slots=True)
class Seal:
    """What a run's folder held when this console wrote to it last.

    `entry`: the number of its entry in the audit. `is_recorded`: whether the run was recorded, and not only launched.
    `removed`: files that the product removed, as they were. `changing`: files that it was about to write when it noted
    that; the seal does not decide about these. `expected`: files as it was about to write them. `gone_at`: when the
    folder was removed, by `gone_by`; None while it is there."""

    run_id: str
    entry: int
    files: tuple[SealedFile, ...]
    is_recorded: bool
    removed: tuple[SealedFile, ...] = ()
    changing: frozenset[str] = frozenset()
    gone_at: datetime | None = None
    gone_by: str = ""
    expected: tuple[SealedFile, ...] = ()

    @property
    def by_name(self) -> Mapping[str, SealedFile]:
        """The files by their path."""
        return {file.name: file for file in self.files}

    def versions(self, name: str) -> list[SealedFile]:
        """A file as it was sealed, and as it was about to be written."""
        return [file for file in (*self.files, *self.expected) if file.name == name]

    def decides(self, name: str) -> bool:
        """Whether the seal says how this file has to be."""
        return name not in self.changing and (COLLECTED not in self.changing or name in _NOT_COLLECTED)

    @property
    def statement(self) -> str:
        """What the audit says of it, with the hash of the record's file, if there is one."""
        record = self.by_name.get("record.json")
        manifest = f"manifest {sha256_of(self.files)}" if self.files else ""
        return f"record {record.sha256}, {manifest}" if record else manifest


def read_seal(con: LedgerConnection, run_id: str) -> Seal | None:
    """The seal of a run; None if it has none."""
    row = con.execute("select * from seals where run_id = ?", [run_id]).fetchone()
    return _seal_of(row) if row else None


def iter_seals(con: LedgerConnection) -> Iterator[Seal]:
    """Every seal, by run."""
    for row in con.execute("select * from seals order by run_id"):
        yield _seal_of(row)


def store_seal(con: LedgerConnection, seal: Seal) -> None:
    """Store a seal in place of the run's earlier one."""
    row = {
        "run_id": seal.run_id,
        "entry": seal.entry,
        "files": to_text(seal.files),
        "is_recorded": int(seal.is_recorded),
        "removed": to_text(seal.removed),
        "changing": "\n".join(sorted(seal.changing)),
        "gone_at": as_text(seal.gone_at) if seal.gone_at else None,
        "gone_by": seal.gone_by,
        "expected": to_text(seal.expected),
    }
    replace_row(con, "seals", "run_id", row)


Writing = tuple[bool, int, str, str]
"""What tells whether a run's folder was written: whether the run has ended, its seal's entry, and what is changed."""


def read_writings(con: LedgerConnection) -> dict[str, Writing]:
    """What the ledger says of the writing of each run's folder."""
    ended = {row["run_id"]: row["state"] not in ACTIVE for row in con.execute("select run_id, state from runs")}
    rows = con.execute("select run_id, entry, changing, expected from seals")
    seals = {row["run_id"]: (row["entry"], row["changing"], row["expected"]) for row in rows}
    return {run_id: (ended.get(run_id, True), *seals.get(run_id, (0, "", ""))) for run_id in ended | seals}


def written_since(before: Mapping[str, Writing], now: Mapping[str, Writing]) -> set[str]:
    """Runs whose folders were written since, or are being written."""
    return {run_id for run_id in before.keys() | now if before.get(run_id) != now.get(run_id) or any(now[run_id][2:])}


def recorded_runs(con: LedgerConnection) -> dict[str, bool]:
    """Whether the folder of each recorded run was removed by this console."""
    rows = con.execute("select run_id, gone_at from seals where is_recorded = 1")
    return {row["run_id"]: row["gone_at"] is not None for row in rows}


def newest_statements(con: LedgerConnection) -> Mapping[str, tuple[int, str]]:
    """What the newest entry of the audit about each run's seal says, with its number; retention may have removed it."""
    query = """select number, object, after from audit
        where number in (select max(number) from audit where substr(change, 1, ?) = ? group by object)"""
    rows = con.execute(query, [len(CHANGE), CHANGE])
    return {row["object"]: (row["number"], row["after"]) for row in rows}


def audited_numbers(con: LedgerConnection) -> tuple[int, int]:
    """The numbers of the first and the last entry of the audit; 0 while it is empty."""
    first, last = con.execute("select min(number), max(number) from audit").fetchone()
    return first or 0, last or 0


def read_run(con: LedgerConnection, run_id: str) -> Run | None:
    """The run with exactly this id, as the ledger has it; None if it has none."""
    row = con.execute("select * from runs where run_id = ?", [run_id]).fetchone()
    return run_of(row) if row else None


def _seal_of(row: Row) -> Seal:
    return Seal(
        row["run_id"],
        row["entry"],
        from_text(row["files"]),
        bool(row["is_recorded"]),
        from_text(row["removed"]),
        frozenset(filter(None, row["changing"].split("\n"))),
        as_time(row["gone_at"]) if row["gone_at"] else None,
        row["gone_by"],
        from_text(row["expected"]),
    )
