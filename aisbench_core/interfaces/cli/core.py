"""Opening the core: only when a command needs it, because it imports the SDKs and DuckDB. And who types a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aisbench_core.base.private_files import require_writable, share_new_files
from aisbench_core.config.process_account import process_account
from aisbench_core.interfaces.cli.invocation import get_invocation
from aisbench_core.model import Actor, WayIn, local_actor

if TYPE_CHECKING:
    from aisbench_core.wiring import Core


def open_core(*, writing: bool) -> Core:
    """The core; raises ReadOnlyFolder if it is opened for `writing` and the data folder is read-only."""
    from aisbench_core import wiring  # imports the SDKs and DuckDB, which `--help` must not wait for

    core = wiring.open_core()
    share_new_files(core.settings.data_dir)
    if writing:
        require_writable(core.settings.data_dir)
    return core


def get_actor() -> Actor:
    """Under whose name changes are recorded: the user of this shell, or whose token a served command came with."""
    if served := get_invocation().served:
        return served.actor
    return local_actor(process_account(), WayIn.CLI)


def launch_key() -> str:
    """What a launch is stored under, so that a served command launches once; empty on this machine."""
    served = get_invocation().served
    return f"cli/{served.actor.name}/{served.key}" if served else ""
