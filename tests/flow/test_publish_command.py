"""`aisbench publish`: measurements become a folder, rehearsals are refused, and what was asked wrongly is named."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flow.command_line import CommandLine
from tests.sandbox_process import SandboxProcess
from tests.unit.old_logs import BERT, RESNET


@pytest.fixture
def shell(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[CommandLine]:
    shell = CommandLine(tmp_path / "data", sandbox)
    yield shell
    shell.end()


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """The two results that the manuals print."""
    for name, log in (("resnet.log", RESNET), ("bert.log", BERT)):
        (tmp_path / "old" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "old" / name).write_text(log)
    return tmp_path / "old"


def test_measurements_are_published_with_the_rights_of_the_person(
    shell: CommandLine, logs: Path, tmp_path: Path
) -> None:
    shell.answer("import", str(logs))

    typed = shell.type("publish", str(tmp_path / "site"), "--region", "imported", "--bundles", str(logs))

    assert typed.exit_code == 0, typed.output
    assert typed.stderr == f"2 rows, 2 runs, 0 bundles: {tmp_path / 'site' / 'index.html'}\n"
    page = tmp_path / "site" / "index.html"
    assert "AISBench leaderboard" in page.read_text("utf-8")
    assert page.stat().st_mode == logs.joinpath("bert.log").stat().st_mode


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--region", "imported", "--rehearsals"), "has rehearsals, which are not published"),
        (("--region", "imported", "--model", "another"), "no run fits the filter"),
        (("--region", "imported", "--columns", "run_id,colour"), "colour"),
    ],
)
def test_what_cannot_be_published_is_named(
    words: tuple[str, ...], said: str, shell: CommandLine, logs: Path, tmp_path: Path
) -> None:
    shell.answer("import", str(logs))

    typed = shell.type("publish", str(tmp_path / "site"), *words)

    assert typed.exit_code == 2
    assert said in typed.stderr
    assert not (tmp_path / "site").exists()
