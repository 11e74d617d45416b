"""Opening the core: only when a command needs it, because it imports the SDKs and DuckDB."""

import getpass
from typing import TYPE_CHECKING

from aisbench_core.private_files import require_writable

if TYPE_CHECKING:
    from aisbench_core.model import Actor
    from aisbench_core.wiring import Core


def open_core(*, writing: bool) -> "Core":
    """The core; raises ReadOnlyFolder if it is opened for `writing` and the data folder is read-only."""
    from aisbench_core import wiring  # imports the SDKs and DuckDB, which `--help` must not wait for

    core = wiring.open_core()
    if writing:
        require_writable(core.settings.data_dir)
    return core


def actor() -> "Actor":
    """The user of this shell, under whose name changes are recorded."""
    from aisbench_core.model import WayIn, local_actor

    return local_actor(getpass.getuser(), WayIn.CLI)
