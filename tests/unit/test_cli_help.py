"""The manual of the command line: `--help` is fast, and docs/cli.md equals it."""

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from aisbench_core.cli import main
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
| 3 | the cloud is unavailable; try again later |
| 4 | the run failed or was stopped (`--wait`, `--follow`) |
| 5 | `regress` or `series compare` found a regression |
| 6 | not enough data for `regress` or `series compare` |
| 7 | `diff` or `reproduce` found a difference |
| 8 | `validate` found a result that is not valid |
| 9 | no [budget](budgets.md) has room for the launch: it is held until somebody approves it |
| 130 | interrupted with Ctrl-C; runs continue. `serve` and `follow`, which end this way, exit with 0 |

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
    rewrite = "from tests.unit.test_cli_help import *; DOCUMENT.write_text(document(), 'utf-8')"

    assert DOCUMENT.read_text("utf-8") == document(), f'to write it anew: .venv/bin/python -c "{rewrite}"'


@pytest.mark.parametrize(("path", "command"), list(_commands("aisbench", main)))
def test_every_command_and_option_says_what_it_does(path: str, command: click.Command) -> None:
    assert (command.help or "").strip().endswith("."), path
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert (parameter.help or "").strip(), f"{path} {parameter.opts}"


def test_help_loads_neither_the_sdks_nor_duckdb_nor_pydantic_nor_streamlit() -> None:
    program = "import sys, aisbench_core.cli; print(*{name.partition('.')[0] for name in sys.modules})"

    loaded = set(subprocess.check_output([sys.executable, "-c", program], text=True).split())

    assert "click" in loaded
    assert not loaded & {"pydantic", "yaml", "duckdb", "huaweicloudsdkcore", "obs", "requests", "streamlit", "pandas"}
