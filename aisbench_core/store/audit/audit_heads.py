"""The newest entry of the audit that this console has seen, kept beside the ledger: an audit that lacks it was cut."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import write_whole


@dataclass(frozen=True, slots=True)
class AuditHead:
    """The newest entry of an audit. Numbers count all entries ever appended, also those that retention removed.

    `at` is None for a head that somebody noted without its time."""

    number: int
    hash: str
    at: datetime | None = None

    def __str__(self) -> str:
        """As `aisbench audit --verify --head` takes it."""
        return f"{self.number}:{self.hash}"


_HEADS = TypeAdapter(dict[str, AuditHead])

# The key of a ledger that is a file.
_FILE = "file"


class AuditHeads:
    """The heads of the ledgers that this console has used, in one private file. Threads and processes may share it.

    The head may be older than the ledger's: a process can die between the two, and other consoles append as well."""

    def __init__(self, file: Path, ledger: str) -> None:
        """`ledger`: the setting of that name."""
        self.file, self._key = file, ledger or _FILE

    def read(self) -> AuditHead | None:
        """The head; None before the first entry. Raises ConfigError if the file is damaged."""
        return self._read_heads().get(self._key)

    def write(self, head: AuditHead) -> None:
        """Replace the head. Raises DiskError and ConfigError."""
        write_whole(self.file, _HEADS.dump_json({**self._read_heads(), self._key: head}, indent=2))

    def _read_heads(self) -> Mapping[str, AuditHead]:
        try:
            return _HEADS.validate_json(self.file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError) as error:
            raise ConfigError(
                Message("{file} cannot be read", file=self.file),
                Message("delete it if you accept that entries which are missing until now are not found"),
            ) from error
