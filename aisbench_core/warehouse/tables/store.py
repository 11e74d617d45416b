"""What a warehouse's store does, wherever its tables are: callers see a `Store` and need not know which."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from duckdb import DuckDBPyConnection

T = TypeVar("T")

Progress = Callable[[int, int], None]
"""Called with the number of runs done, and of all."""


def no_progress(_done: int, _total: int) -> None:
    """For callers that do not show progress."""


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes and number of the files that belong to a store."""

    bytes: int
    files: int


@dataclass(frozen=True, slots=True)
class Compacted:
    """Size before and after, rows that moved from PostgreSQL to a file, and files that were removed."""

    before: Size
    after: Size
    flushed: int = 0
    removed: int = 0


class Store(Protocol):
    """Cursors on the warehouse's tables; safe to share between threads, and to open from several processes.

    Every method raises WarehouseBusy when others are in the way for too long, and WarehouseError when the store cannot
    be used."""

    @property
    def path(self) -> Path | None:
        """The file with its tables; None if they are not in a file of this machine."""

    @property
    def edition(self) -> int:
        """Number of the write in progress: that of the write before plus one, unless others may have written since."""

    @property
    def runs_per_copy(self) -> int:
        """How many runs to copy into it in one transaction."""

    def cursor(self) -> AbstractContextManager[DuckDBPyConnection]:
        """A cursor for a moment; whoever holds it must not borrow a second one."""

    def moment(self) -> AbstractContextManager[DuckDBPyConnection]:
        """A cursor in a transaction: all its answers are of one moment."""

    def write(self, change: Callable[[DuckDBPyConnection], T]) -> T:
        """Carry out `change` in one transaction; again in another one when a concurrent writer wins."""

    def revision(self) -> str:
        """A text that changes with every change of the content."""

    def copy_to(self, draft: Path) -> None:
        """Write all tables, as they are at one moment, into the new DuckDB file `draft`; writers do not wait."""

    def compact(self) -> Compacted:
        """Rewrite the tables in as little space and as few files as possible."""

    def loose_files(self) -> list[str]:
        """Files that no table needs, left by writers that died."""
