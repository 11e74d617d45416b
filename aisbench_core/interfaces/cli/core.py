"""Opening the core: only when a command needs it, because it imports the SDKs and DuckDB. And who types a command."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from aisbench_core.base.private_files import require_writable, share_new_files

if TYPE_CHECKING:
    from aisbench_core.interfaces.cli.served import ServedCommand
    from aisbench_core.model import Actor
    from aisbench_core.wiring import Core


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of `aisbench`. `umask`: of the user's shell; aisbench itself runs with 0o077, or 0o007 where the data
    folder is shared.

    `served`: the command that somebody on another machine typed; None for one of this machine. `files`: parameters that
    name files, as they were typed."""

    umask: int
    served: "ServedCommand | None" = None
    files: dict[str, click.Path] = field(default_factory=dict)


def get_invocation(context: click.Context | None = None) -> Invocation:
    """The present call."""
    context = context or click.get_current_context(silent=True)
    found: Invocation | None = context.find_root().obj if context else None
    return found or Invocation(0o077)  # without a call, as when the manual is printed


def open_core(*, writing: bool) -> "Core":
    """The core; raises ReadOnlyFolder if it is opened for `writing` and the data folder is read-only."""
    from aisbench_core import wiring  # imports the SDKs and DuckDB, which `--help` must not wait for

    core = wiring.open_core()
    share_new_files(core.settings.data_dir)
    if writing:
        require_writable(core.settings.data_dir)
    return core


def get_actor() -> "Actor":
    """Under whose name changes are recorded: the user of this shell, or whose token a served command came with."""
    if served := get_invocation().served:
        return served.actor
    from aisbench_core.config.process_account import process_account
    from aisbench_core.model import WayIn, local_actor

    return local_actor(process_account(), WayIn.CLI)


def launch_key() -> str:
    """What a launch is stored under, so that a served command launches once; empty on this machine."""
    served = get_invocation().served
    return f"cli/{served.actor.name}/{served.key}" if served else ""
