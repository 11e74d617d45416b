"""What a shell passes need not be UTF-8: names of files are taken as they are, and everything else says so."""

import os
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from aisbench_core.cli import main
from aisbench_core.cli.options import Command

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


def test_a_file_may_have_any_name(tmp_path: Path) -> None:
    file = tmp_path / f"{ODD}.tar"

    result = typed(tmp_path / "data", "backup", str(file))

    assert result.exit_code == 0, result.output
    assert os.fsencode(file) in result.stdout_bytes
    assert file.exists()


def leaves(command: click.Command) -> Iterator[click.Command]:
    if not isinstance(command, click.Group):
        yield command
        return
    for each in command.commands.values():
        yield from leaves(each)


def test_every_command_reads_its_arguments_so() -> None:
    assert [command.name for command in leaves(main) if not isinstance(command, Command)] == []
