"""What the commands share: the core, opened when a command needs it, and options with one meaning everywhere."""

import getpass
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    """The core as the settings say, for commands that store something. Raises ReadOnlyFolder where nothing can be.

    It brings the SDKs and DuckDB along, so `--help` must not come by here."""
    from aisbench_core.read_only import require_writable

    core = open_core_for_reading()
    require_writable(core.settings.data_dir)
    return core


def open_core_for_reading() -> "Core":
    """The core for commands that store nothing in the data folder: it may be read-only."""
    from aisbench_core.wiring import open_core

    return open_core()


def log_file() -> Path:
    """Where tracebacks are written."""
    from aisbench_core.private_files import make_private_folder
    from aisbench_core.settings import load_settings

    folder = load_settings().data_dir
    make_private_folder(folder)
    return folder / "console.log"


@contextmanager
def usual_rights() -> Iterator[None]:
    """A file that a person names is the person's: others may read it if they may read the person's other files."""
    before = os.umask(click.get_current_context().find_root().obj)
    try:
        yield
    finally:
        os.umask(before)


def user() -> str:
    """Who types: the name under which runs are launched from here."""
    return getpass.getuser()
