"""One at a time on this machine writes or removes folders of imported results, until they are sealed and stored."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from aisbench_core.base.errors import WarehouseBusy
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import file_mode

LOCK = "import.lock"
TURN_S = 60.0  # to wait for the chunk of another import


@contextmanager
def import_turn(data_dir: Path) -> Iterator[None]:
    """Serializes imports per chunk, so that two of the same file store each result once. Raises WarehouseBusy."""
    try:
        with FileLock(data_dir / LOCK, timeout=TURN_S, mode=file_mode(data_dir)):
            yield
    except Timeout as error:
        message = Message("another import has been storing results for {seconds:.0f} s", seconds=TURN_S)
        raise WarehouseBusy(message, Message("try again")) from error
