"""Warehouse files that somebody else made: of such a file the rows are read, and nothing that it says about itself.

A catalogue can hold views in the place of tables, generated columns and macros under the names of functions, and they
run with the rights of whoever asks. A process of its own (foreign_worker.py) therefore copies the rows of base tables
into a file with tables of our making, without access to any other file, and with limits on time, memory and disk.
"""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from aisbench_core.errors import DiskError, WarehouseBusy, WarehouseError
from aisbench_core.messages import Message
from aisbench_core.warehouse.store.connection import PATIENCE_S
from aisbench_core.warehouse.store.new_file import revision_of

_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); from aisbench_core.warehouse.store.foreign_worker import main; main()"
)
_ROOT = Path(__file__).parents[3]
_ERRORS = {"busy": WarehouseBusy, "disk": DiskError}
_MB = 1024**2


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What reading one file may take: seconds, bytes of memory, and bytes that are written."""

    seconds: float
    memory: int = 1024 * _MB
    written: int = 1024 * _MB

    @classmethod
    def of(cls, size: int) -> "ReadLimits":
        """Those of a file of so many bytes: a file of 10,000 runs takes a few seconds."""
        return cls(seconds=120 + size / _MB, written=1024 * _MB + 64 * size)


def copy_rows(file: Path, draft: Path, patience_s: float = PATIENCE_S, limits: ReadLimits | None = None) -> str:
    """Write the rows of a warehouse file into a new file, in our newest schema, and return the file's revision.

    The folder of `draft` must hold nothing else. The file may be in use; it is only read. Raises WarehouseBusy,
    DiskError, and WarehouseError when it is no warehouse, of a newer version, or holds what no warehouse holds."""
    limits = limits or ReadLimits.of(_size(file))
    revision = revision_of(file)
    asked = {"file": str(file), "draft": str(draft), "patience_s": patience_s, **asdict(limits)}
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _PROGRAM, str(_ROOT)],
            input=json.dumps(asked).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},  # nothing of ours, such as keys, is there to be read
            timeout=limits.seconds + patience_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _too_slow(file, limits) from None
    _check(file, limits, done)
    return revision


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _check(file: Path, limits: ReadLimits, done: "subprocess.CompletedProcess[bytes]") -> None:
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise _ended(file, limits, done.returncode) from None
    if answer["error"]:
        raise _ERRORS.get(answer["error"], WarehouseError)(answer["message"], answer["hint"])


def _ended(file: Path, limits: ReadLimits, code: int) -> WarehouseError:
    """It has said nothing: the system has ended it, or the engine has given up."""
    if -code in _TIME_IS_UP:
        return _too_slow(file, limits)
    return WarehouseError(Message("{file} cannot be read as a warehouse: it is damaged", file=file), _HINT)


_TIME_IS_UP = (9, 24)
"""SIGKILL and SIGXCPU: the system's limit of processor time."""

_HINT = Message("ask whoever made it for a snapshot: `aisbench warehouse snapshot FILE`")


def _too_slow(file: Path, limits: ReadLimits) -> WarehouseError:
    return WarehouseError(
        Message("{file} cannot be read within {seconds:.0f} s", file=file, seconds=limits.seconds), _HINT
    )
