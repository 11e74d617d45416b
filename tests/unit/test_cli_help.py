"""The manual of the command line: `--help` is fast, and docs/cli.md equals it."""

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from aisbench_core.cli import main
from aisbench_core.cli.remote.lists import CLIENT, LOCAL, REMOTE
from aisbench_core.cli.remote.paths import FileParameter, UnsentPath
from aisbench_core.settings import HOME

DOCUMENT = HOME / "docs" / "cli.md"
HEAD = """# The command line

`aisbench` does from the shell what the console does in the browser, on the same data; both can be used at the same
time. Results go to stdout and everything else to stderr, so results can be piped. With `--json`, times are ISO 8601 in
UTC and what was not measured is `null`.

| exit code | meaning |
|---|---|
| 0 | success; with `--wait`: the run was completed |
| 1 | internal error: a bug (see the traceback in `data/console.log`), or the warehouse cannot be used |
| 2 | invalid input: options, spec, profile, keys, an unknown run, or something that the cloud refuses |
| 3 | the cloud, or the server that commands are sent to, is unavailable; try again later |
| 4 | the run failed or was stopped (`--wait`, `--follow`) |
| 5 | `regress` or `series compare` found a regression |
| 6 | not enough data for `regress` or `series compare` |
| 7 | `diff` or `reproduce` found a difference |
| 8 | `validate` found a result that is not valid |
| 9 | no [budget](budgets.md) has room for the launch: it is held until somebody approves it |
| 130 | interrupted with Ctrl-C; runs continue. `serve` and `follow`, which end this way, exit with 0 |

## Over a server

Without a shell on the server's machine, the same commands run there with a [token](access.md):

```sh
aisbench login https://bench.example.com     # asks for the token, checks and stores it
export AISBENCH_SERVER=https://bench.example.com
aisbench run my.yaml --wait
aisbench regress --junit regress.xml         # the file is written here
```

Output and exit codes are those of the server's own command line. What a command changes needs the role of the token,
and is recorded under its name. Files that a command reads are sent, 32 MB together at most; those that it writes come
back. Questions are asked here, and Ctrl-C interrupts the command there. `aisbench --local` runs a command on this
machine, and so does everything once `AISBENCH_SERVER` is unset.

| variable | meaning |
|---|---|
| `AISBENCH_SERVER` | the address of the server, `https://…` |
| `AISBENCH_TOKEN` | the token, in place of the one that `login` stored |
| `AISBENCH_UNENCRYPTED` | `1` allows http to other machines, where everybody on the way can read the token |
| `SSL_CERT_FILE` | certificates of your own authority |

The time zone and width of this machine apply on the server, and so do `AISBENCH_PROFILE`, `AISBENCH_RULESET` and
`AISBENCH_LANGUAGE` where they are set; nothing else of the environment is sent. Specs name files of the server, as
[access.md](access.md#files-of-the-server) says; code on this machine is not sent. Commands that work on the machine
where they are typed, such as `serve`, `backup` and `doctor`, say so.

A command may take 24 hours; a run that it waits for goes on. If the connection breaks, the command is not tried again
and ends with exit code 3: look at `aisbench runs` before you repeat a launch. When the client is killed, its command is
killed on the server. A server runs 16 commands at once, 4 with one token.

## All commands

The texts below are the output of `--help`.
"""


def document() -> str:
    """docs/cli.md as the code would write it."""
    return HEAD + "".join(_section(path, command) for path, command in _commands("aisbench", main))


def _commands(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _commands(f"{path} {name}", inner)


def _section(path: str, command: click.Command) -> str:
    settings = {**main.context_settings, **command.context_settings, "terminal_width": 100}
    with click.Context(command, info_name=path, **settings) as context:
        return f"\n## {path}\n\n```text\n{command.get_help(context)}\n```\n"


def test_the_document_equals_the_help_of_every_command() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), "to write it anew: make docs"


@pytest.mark.parametrize(("path", "command"), list(_commands("aisbench", main)))
def test_every_command_and_option_says_what_it_does(path: str, command: click.Command) -> None:
    assert (command.help or "").strip().endswith("."), path
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert (parameter.help or "").strip(), f"{path} {parameter.opts}"


def test_every_command_is_in_one_list_of_those_that_a_server_runs_or_does_not() -> None:
    """A new command belongs into aisbench_core/cli/remote/lists.py.

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


def test_help_loads_neither_the_sdks_nor_duckdb_nor_pydantic_nor_streamlit() -> None:
    loaded = _loaded_by("aisbench_core.cli")

    assert "click" in loaded
    assert not loaded & {"pydantic", "yaml", "duckdb", "huaweicloudsdkcore", "obs", "requests", "streamlit", "pandas"}


def test_a_command_loads_no_library_that_only_some_commands_need() -> None:
    loaded = _loaded_by("aisbench_core.wiring")

    assert {"duckdb", "pydantic"} < loaded
    assert not loaded & {"google", "huaweicloudsdkcore", "jinja2", "numpy", "obs", "openpyxl", "pandas", "pyarrow"}
    assert not loaded & {"requests", "scipy", "streamlit", "urllib3", "xlsxwriter"}


def _loaded_by(module: str) -> set[str]:
    """Libraries that a module brings along."""
    program = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(subprocess.check_output([sys.executable, "-c", program], text=True).split())
