"""What the ledger's SQL needs of a database: SQLite's connection has it, PostgreSQL's gets it.

Statements are written once, for both: `?` marks, `on conflict`, and no word that only one of them knows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
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


@dataclass(frozen=True, slots=True)
class ProfileShare:
    """What a process follows. `leads`: it also does what is not about a single run: schedules, series, notifications.

    `held`: the profiles whose runs nobody else follows, None for all. It starts no more steps of those in `leaving`,
    and gives each of them up when its last step has ended."""

    leads: bool
    held: frozenset[str] | None
    leaving: frozenset[str] = frozenset()

    def list_followed(self, profiles: Iterable[str]) -> list[str]:
        """Those of the profiles whose runs may begin a step, in their order."""
        return [name for name in profiles if (self.held is None or name in self.held) and name not in self.leaving]


ALL = ProfileShare(leads=True, held=None)


class Leases(Protocol):
    """Decides which of the processes that share a ledger follows the runs of which profiles, and which one leads."""

    def join(self, seconds: float) -> bool:
        """Wait so long at most to be one that follows; whether we are."""

    def are_held(self) -> bool:
        """Whether we still are."""

    def share(self, profiles: frozenset[str], is_idle: Callable[[str], bool]) -> ProfileShare:
        """What we follow from now on, of these profiles with active runs. `is_idle`: whether no step of a profile is
        running, or, for an empty one, nothing of what a leader does."""

    def leave(self) -> None:
        """Let others follow."""


class LedgerStore(Protocol):
    """A ledger's database, of the newest schema. Threads and processes may share it.

    Everything raises AisbenchError when it cannot be used, and DamagedLedger when it is damaged."""

    def revision(self) -> str | None:
        """A text that changes with every commit; None where that cannot be said now."""

    def clock_ahead(self) -> timedelta:
        """How far its clock is ahead of this machine's; zero for a file, and while that is not known."""

    def connection(self) -> AbstractContextManager[LedgerConnection]:
        """For reading: each statement sees what is stored by then."""

    def leases(self, lock: Path, *, substitute: bool) -> Leases:
        """Decides who follows what; `lock`: a file for that, if the ledger is one; `substitute`: see Follower."""

    def snapshot(self) -> AbstractContextManager[LedgerConnection]:
        """For reading: all statements see the same moment, while others write."""

    def transaction(self) -> AbstractContextManager[LedgerConnection]:
        """For writing: nobody else writes meanwhile, and an error undoes all of it. Raises ReadOnlyFolder."""
