"""The manual of the command line: `--help` is fast, and docs/cli.md lists every command."""

import re
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from aisbench_core.config.settings import HOME
from aisbench_core.interfaces.cli import main
from aisbench_core.interfaces.cli.entry import COMMANDS
from aisbench_core.interfaces.cli.remote.lists import CLIENT, LOCAL, REMOTE
from aisbench_core.interfaces.cli.remote.paths import FileParameter, UnsentPath

DOCUMENT = HOME / "docs" / "cli.md"
MOST_USED = 25
HEAD = "<!-- commands -->\n\n"


def document() -> str:
    """docs/cli.md with the list of commands as the code would write it."""
    before, found, after = DOCUMENT.read_text("utf-8").partition(HEAD)
    assert found
    rows = (
        _line(path, command) for path, command in _commands("aisbench", main) if not isinstance(command, click.Group)
    )
    return before + HEAD + "".join(rows) + re.sub(r"\A(\*.*\n)*", "", after)


def _commands(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in COMMANDS if command is main else command.commands:
            inner = command.get_command(context, name)
            assert inner
            yield from _commands(f"{path} {name}", inner)


def _line(path: str, command: click.Command) -> str:
    """A command with its arguments, and the first sentence of its help."""
    context = click.Context(command, info_name=path, **main.context_settings)
    usage = " ".join([path, *(piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]")])
    return f"* `{usage}`: {command.get_short_help_str(limit=1_000)}\n"


def test_the_document_lists_every_command_with_the_first_line_of_its_help() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), "to write it anew: make docs"


def test_the_document_shows_what_is_typed() -> None:
    """The command lines themselves are parsed in test_documented_commands.py."""
    shown = set(re.findall(r"^aisbench ([a-z-]+)", DOCUMENT.read_text("utf-8"), re.M))

    assert len(shown) >= MOST_USED


@pytest.mark.parametrize(("path", "command"), list(_commands("aisbench", main)))
def test_every_command_and_option_says_what_it_does(path: str, command: click.Command) -> None:
    assert (command.help or "").strip().endswith("."), path
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert (parameter.help or "").strip(), f"{path} {parameter.opts}"


def test_every_command_is_in_one_list_of_those_that_a_server_runs_or_does_not() -> None:
    """A new command belongs into aisbench_core/interfaces/cli/remote/lists.py.

    It may stand in REMOTE if all that it changes goes through methods that check the role of the actor, and its files
    are `InputPath` and `OutputPath`."""
    commands = [
        path.removeprefix("aisbench ")
        for path, command in _commands("aisbench", main)
        if not isinstance(command, click.Group)
    ]

    assert sorted([*REMOTE, *LOCAL, *CLIENT]) == sorted(commands)


NOT_SENT = {("sql", "snapshot")}
"""Files that a command with a server refuses, because they are better read where they are."""


def test_a_server_gets_or_sends_every_file_that_a_command_names() -> None:
    named = {
        (path.removeprefix("aisbench "), parameter.name)
        for path, command in _commands("aisbench", main)
        for parameter in command.params
        if path.removeprefix("aisbench ") in REMOTE
        and isinstance(parameter.type, click.Path)
        and not isinstance(parameter.type, FileParameter)
    }
    unsent = {
        (path.removeprefix("aisbench "), parameter.name)
        for path, command in _commands("aisbench", main)
        for parameter in command.params
        if isinstance(parameter.type, UnsentPath)
    }

    assert named == unsent == NOT_SENT


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_by_the_sentence_that_its_help_begins_with(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    listed = click.Command(name, help=COMMANDS[name][1])

    assert command
    assert command.name == name
    assert listed.get_short_help_str(1_000) == command.get_short_help_str(1_000)


def test_the_shell_completes_a_command_with_its_sentence() -> None:
    completed = {item.value: item.help for item in main.shell_complete(click.Context(main), "sc")}

    assert completed.keys() == {"scalars", "scaling", "schedule"}
    assert completed["schedule"] == "Launch series repeatedly, at the times of..."


def test_help_loads_neither_the_sdks_nor_duckdb_nor_pydantic_nor_streamlit() -> None:
    loaded = _loaded_by("aisbench_core.interfaces.cli")

    assert "click" in loaded
    assert not loaded & {"pydantic", "yaml", "duckdb", "huaweicloudsdkcore", "obs", "requests", "streamlit", "pandas"}


@pytest.mark.parametrize("module", ["launching", "runs", "series.commands", "login"])
def test_the_help_of_a_command_loads_neither_the_sdks_nor_duckdb(module: str) -> None:
    loaded = _loaded_by(f"aisbench_core.interfaces.cli.{module}")

    assert not loaded & {"duckdb", "huaweicloudsdkcore", "obs", "requests", "streamlit", "pandas", "pyarrow"}


def test_a_command_loads_no_library_that_only_some_commands_need() -> None:
    loaded = _loaded_by("aisbench_core.wiring")

    assert {"duckdb", "pydantic"} < loaded
    assert not loaded & {"google", "huaweicloudsdkcore", "jinja2", "numpy", "obs", "openpyxl", "pandas", "pyarrow"}
    assert not loaded & {"requests", "scipy", "streamlit", "urllib3", "xlsxwriter"}


def _loaded_by(module: str) -> set[str]:
    """Libraries that a module brings along."""
    program = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(subprocess.check_output([sys.executable, "-c", program], text=True).split())
