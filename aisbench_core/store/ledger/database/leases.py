"""Who follows what: of all processes that share a ledger, one follows the runs of a profile, and one leads.

Each holds its leases until it ends, dies, or loses its database."""

from collections.abc import Callable
from pathlib import Path

from filelock import FileLock, Timeout

from aisbench_core.base.private_files import file_mode
from aisbench_core.store.ledger.database.connection import ALL, ProfileShare


class FileLeases:
    """By a lock on a file, for a ledger that is one: its holder follows everything (Leases).

    The system frees it when its holder dies."""

    def __init__(self, file: Path) -> None:
        self._lock = FileLock(file, mode=file_mode(file.parent))

    def join(self, seconds: float) -> bool:
        """Wait so long at most."""
        try:
            self._lock.acquire(seconds)
        except Timeout:
            return False
        return True

    def are_held(self) -> bool:
        """A lock on a file is lost by nothing but `leave`."""
        return True

    def share(self, profiles: frozenset[str], is_idle: Callable[[str], bool]) -> ProfileShare:  # noqa: ARG002  # always all
        """Everything."""
        return ALL

    def leave(self) -> None:
        """Let another process follow."""
        self._lock.release()
