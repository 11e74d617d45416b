"""What the ledger's SQL needs of a database: SQLite's connection has it, PostgreSQL's gets it.

Statements are written once, for both: `?` marks, `on conflict`, and no word that only one of them knows."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol


class Row(Protocol):
    """A row: its cells in order, by position, or by column."""

    def __getitem__(self, key: Any, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...

    def keys(self) -> list[str]:
        """The columns in their order, so that a row becomes a dict."""


class Cursor(Protocol):
    """The rows that a statement found."""

    @property
    def rowcount(self) -> int:
        """The number of rows that a statement changed."""

    def fetchone(self) -> Any:
        """The next row; None behind the last one."""

    def fetchall(self) -> list[Any]:
        """All rows that are left."""

    def __iter__(self) -> Iterator[Any]: ...


class LedgerConnection(Protocol):
    """A connection to a ledger's database."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Cursor:
        """Carry out a statement, with a value for each of its ? marks."""

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Cursor:
        """Carry out a statement for each sequence of values."""


class Leader(Protocol):
    """Decides which one of the processes that share a ledger follows."""

    def acquire(self, seconds: float) -> bool:
        """Wait so long at most to be the one; whether we are."""

    def is_leading(self) -> bool:
        """Whether we still are."""

    def release(self) -> None:
        """Let another process follow."""


class LedgerStore(Protocol):
    """A ledger's database, of the newest schema. Threads and processes may share it.

    Everything raises AisbenchError when it cannot be used, and DamagedLedger when it is damaged."""

    def revision(self) -> str | None:
        """A text that changes with every commit; None where that cannot be said now."""

    def connection(self) -> AbstractContextManager[LedgerConnection]:
        """For reading: each statement sees what is stored by then."""

    def leader(self, lock: Path) -> Leader:
        """Decides who follows; `lock`: a file for that, if the ledger is one."""

    def snapshot(self) -> AbstractContextManager[LedgerConnection]:
        """For reading: all statements see the same moment, while others write."""

    def transaction(self) -> AbstractContextManager[LedgerConnection]:
        """For writing: nobody else writes meanwhile, and an error undoes all of it. Raises ReadOnlyFolder."""
