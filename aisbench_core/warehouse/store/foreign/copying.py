"""Copies the rows of a warehouse file that somebody else made.

Its catalogue can hold views instead of tables, generated columns, and macros with names of functions, which run with
the rights of whoever queries them. So a process of its own (worker.py) copies the rows of base tables into a file with
our tables, without access to any other file, and with limits on time, memory and disk.
"""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from aisbench_core.errors import DiskError, WarehouseBusy, WarehouseError
from aisbench_core.messages import Message, from_json, message_of
from aisbench_core.warehouse.store.engine import PATIENCE_S
from aisbench_core.warehouse.store.foreign.rules import HINT
from aisbench_core.warehouse.store.new_file import revision_of

_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); from aisbench_core.warehouse.store.foreign.worker import main; main()"
)
_ROOT = Path(__file__).parents[4]
_ERRORS = {"busy": WarehouseBusy, "disk": DiskError}
_MB = 1024**2
# SIGKILL and SIGXCPU: the system's limit of processor time.
_TIME_LIMIT = (9, 24)


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
    DiskError, and WarehouseError if it is no warehouse, of a newer version, or holds what no warehouse holds."""
    limits = limits or ReadLimits.of(file.stat().st_size if file.exists() else 0)
    revision = revision_of(file)
    request = {"file": str(file), "draft": str(draft), "patience_s": patience_s, **asdict(limits)}
    too_slow = WarehouseError(
        Message("{file} cannot be read within {seconds:.0f} s", file=file, seconds=limits.seconds), HINT
    )
    try:
        process = subprocess.run(
            [sys.executable, "-I", "-c", _PROGRAM, str(_ROOT)],
            input=json.dumps(request).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},  # nothing of ours, such as keys, is there to be read
            timeout=limits.seconds + patience_s,
            check=False,
        )
        answer = json.loads(process.stdout)
    except subprocess.TimeoutExpired:
        raise too_slow from None
    except ValueError:  # the process was ended: by the system, or by DuckDB, which a damaged file can crash
        if -process.returncode in _TIME_LIMIT:
            raise too_slow from None
        raise WarehouseError(Message("{file} cannot be read as a warehouse: it is damaged", file=file), HINT) from None
    if answer["error"]:
        message, hint = (message_of(from_json(*answer[part])) for part in ("message", "hint"))
        raise _ERRORS.get(answer["error"], WarehouseError)(message, hint)
    return revision
