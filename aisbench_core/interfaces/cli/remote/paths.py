"""Parameters that name files of whoever types the command, who may sit at another machine."""

from pathlib import Path
from typing import Any

import click

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.interfaces.cli.invocation import get_invocation

SPEC_FILES = (".yaml", ".yml")
OBS = "obs://"  # the form of obsutil and MoXing


class FileParameter(click.Path):
    """A file of the client. Over a server, the command gets the path of a copy in a folder of its own."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; on a server one that only the request can have filled."""
        typed = str(value)
        if ctx is None or not self.is_file(typed):
            return value
        invoked = get_invocation(ctx)
        invoked.files[typed] = self
        if invoked.served is None:
            return super().convert(value, param, ctx)
        return self.coerce_path_result(invoked.served.copy_of(typed, str(self.coerce_path_result(typed))))

    def is_file(self, typed: str) -> bool:  # noqa: ARG002  # subclasses read it
        """Whether the value names a file."""
        return True


class UnsentPath(click.Path):
    """A file that is too large to be sent. A server neither opens nor looks for one of its own in its place."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; refused on a server, whose requests need not come from `aisbench`."""
        if ctx is not None and param is not None and get_invocation(ctx).served is not None:
            raise not_sent(param)
        return super().convert(value, param, ctx)


def not_sent(parameter: click.Parameter) -> ConfigError:
    """Why a parameter cannot be used with a server."""
    return ConfigError(
        Message("{option} names a file of this machine, which is not sent to a server", option=parameter.opts[0]),
        Message("to run the command on this machine: aisbench --local …"),
    )


class InputPath(FileParameter):
    """A file, or with `folders` also a folder, that a command reads."""

    def __init__(self, *, folders: bool = False, as_text: bool = False) -> None:
        # Where the text is also read otherwise, errors name it as they do there.
        super().__init__(path_type=str if as_text else Path, readable=not as_text)
        self.folders = folders


class SpecSource(InputPath):
    """A spec file; any other word is a workload or a run."""

    def __init__(self) -> None:
        super().__init__(as_text=True)

    def is_file(self, typed: str) -> bool:
        """By the suffix."""
        return typed.endswith(SPEC_FILES)


class ImportSource(InputPath):
    """A file or folder, or a directory in OBS."""

    def __init__(self) -> None:
        super().__init__(folders=True, as_text=True)

    def is_file(self, typed: str) -> bool:
        """Whether it is not in OBS."""
        return not typed.startswith(OBS)


class OutputPath(FileParameter):
    """A file that a command writes."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)
