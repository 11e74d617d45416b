"""One call of `aisbench`: from which shell it came, or whose command on another machine it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:  # a served command loads pydantic, which `--help` must not wait for
    from aisbench_core.interfaces.cli.served import ServedCommand


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of `aisbench`. `umask`: of the user's shell; aisbench itself runs with 0o077, or 0o007 where the data
    folder is shared.

    `served`: the command that somebody on another machine typed; None for one of this machine. `files`: parameters that
    name files, as they were typed."""

    umask: int
    served: ServedCommand | None = None
    files: dict[str, click.Path] = field(default_factory=dict)


def get_invocation(context: click.Context | None = None) -> Invocation:
    """The present call."""
    context = context or click.get_current_context(silent=True)
    found: Invocation | None = context.find_root().obj if context else None
    return found or Invocation(0o077)  # without a call, as when the manual is printed
