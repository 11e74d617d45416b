"""The command line's manual: `--help` is quick, and docs/cli.md says the same."""

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from aisbench_core.cli import main
from aisbench_core.settings import HOME

DOCUMENT = HOME / "docs" / "cli.md"
HEAD = """# The command line

`aisbench` does from the shell what the console does in the browser, with the same core and the same data; both can be
used at the same time. The answer goes to stdout and everything else to stderr, so answers can be piped; `--json` gives
times as ISO 8601 in UTC and `null` for what was not measured.

| exit code | meaning |
|---|---|
| 0 | done; with `--wait`: the run was completed |
| 1 | our error: a bug (its traceback is in `data/console.log`) or a warehouse that cannot be used now |
| 2 | your input: options, spec, profile, keys, an unknown run, or something that the cloud refuses |
| 3 | the cloud is unavailable: trying again helps |
| 4 | the run itself failed or was stopped (`--wait`, `--follow`) |
| 5 | `regress` or `series compare` found a regression |
| 6 | neither found enough runs to say anything |
| 7 | `diff` or `reproduce` found something that is not identical |
| 8 | `validate` found a result that is not valid |
| 130 | interrupted with Ctrl-C; runs go on. `serve` and `follow`, which are ended so, exit with 0 |

The texts below are those of `--help`.
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
