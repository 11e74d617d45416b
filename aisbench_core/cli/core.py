"""What the commands share: the core, opened when a command needs it, and options with one meaning everywhere."""

import getpass
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from aisbench_core.core import Core

AnyCommand = Callable[..., Any]

as_json: Callable[[AnyCommand], AnyCommand] = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
profile_option: Callable[[AnyCommand], AnyCommand] = click.option(
    "--profile", default="", metavar="NAME", help="Where to run; default: the settings' profile."
)


def open_core() -> "Core":
    """The core as the settings say. It brings the SDKs and DuckDB along, so `--help` must not come by here."""
    from aisbench_core.wiring import open_core

    return open_core()


def log_file() -> Path:
    """Where tracebacks are written."""
    from aisbench_core.settings import load_settings

    folder = load_settings().data_dir
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "console.log"


def user() -> str:
    """Who types: the name under which runs are launched from here."""
    return getpass.getuser()
