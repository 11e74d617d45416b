"""What a shell passes need not be UTF-8: names of files are taken as they are, and everything else says so."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from aisbench_core.interfaces.cli import main
from aisbench_core.interfaces.cli.options import Command

ODD = os.fsdecode(b"w\xff\xfe")


def typed(data_dir: Path, *words: str) -> Result:
    return CliRunner(env={"AISBENCH_DATA_DIR": str(data_dir)}).invoke(main, words)


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (("show", ODD), "RUN"),
        (("explain", ODD), "RUN"),
        (("logs", ODD), "RUN"),
        (("leaderboard", "--workload", ODD), "--workload"),
        (("leaderboard", "--model", "net", "--model", ODD), "--model"),
        (("runs", "--text", ODD), "--text"),
        (("compare", "run-1", ODD), "RUN..."),
        (("sql", f"select '{ODD}'"), "QUERY"),
        (("sql", "select 1", "-p", f"name={ODD}"), "--param"),
        (("rename", "run-1", ODD), "NAME"),
        (("series", "show", ODD), "SERIES"),
        (("run", ODD), "WORKLOAD|SPEC.yaml"),
        (("import", f"obs://bucket/{ODD}/"), "PATH..."),
    ],
)
def test_an_argument_that_is_not_utf_8_is_refused_by_its_name(
    tmp_path: Path, words: tuple[str, ...], field: str
) -> None:
    result = typed(tmp_path, *words)

    assert result.exit_code == 2
    assert field in result.stderr
    assert r"is not UTF-8: it has the bytes \xff\xfe" in result.stderr
    assert not (tmp_path / "console.log").exists()


@pytest.mark.slow
def test_a_file_may_have_any_name(tmp_path: Path) -> None:
    """In a process of its own, whose output takes UTF-8 only, as in a shell with a language."""
    file, command = tmp_path / f"{ODD}.tar", [sys.executable, "-m", "aisbench_core.interfaces.cli", "backup"]
    environment = os.environ | {"AISBENCH_DATA_DIR": str(tmp_path / "data"), "PYTHONIOENCODING": "utf-8:strict"}

    result = subprocess.run([*command, str(file)], env=environment, capture_output=True, check=False)

    assert (result.returncode, result.stdout.startswith(os.fsencode(file))) == (0, True), result
    assert file.exists()


def leaves(command: click.Command) -> Iterator[click.Command]:
    if not isinstance(command, click.Group):
        yield command
        return
    for each in command.commands.values():
        yield from leaves(each)


def test_every_command_reads_its_arguments_so() -> None:
    assert [command.name for command in leaves(main) if not isinstance(command, Command)] == []
