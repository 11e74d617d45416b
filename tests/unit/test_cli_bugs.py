"""What a person sees when the command line itself has a bug."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from aisbench_core.interfaces.cli import main


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a command with a bug."""

    @click.command()
    def command() -> None:
        """Fail."""
        raise KeyError("the-value-of-a-person")

    monkeypatch.setitem(main.commands, "broken", command)
    return "broken"


def typed(data_dir: Path, *words: str, **environment: str) -> Result:
    """One command."""
    return CliRunner(env={"AISBENCH_DATA_DIR": str(data_dir), **environment}).invoke(main, words)


def test_a_bug_is_one_sentence_and_its_traceback_is_in_the_log_file(broken: str, tmp_path: Path) -> None:
    result = typed(tmp_path, broken)

    assert result.exit_code == 1
    assert result.stderr == f"internal error: KeyError; the traceback is in {tmp_path / 'console.log'}\n"
    assert "the-value-of-a-person" in (tmp_path / "console.log").read_text("utf-8")


def test_a_person_who_debugs_sees_the_traceback(broken: str, tmp_path: Path) -> None:
    result = typed(tmp_path, broken, AISBENCH_DEBUG="1")

    assert isinstance(result.exception, KeyError)
    assert not (tmp_path / "console.log").exists()


def test_a_log_file_that_cannot_be_written_does_not_hide_the_bug(broken: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    result = typed(tmp_path / "file", broken)

    assert result.exit_code == 1
    assert result.stderr == "internal error: KeyError; set AISBENCH_DEBUG=1 to see the traceback\n"


def test_settings_that_cannot_be_used_are_your_input(tmp_path: Path) -> None:
    result = typed(tmp_path, "runs", AISBENCH_PORT="many")

    assert result.exit_code == 2
    assert "port: " in result.stderr
    assert "found 'many'" in result.stderr


def test_a_data_folder_that_cannot_be_made_is_your_input(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    result = typed(tmp_path / "file", "runs")

    assert result.exit_code == 2
    assert "file cannot be used as the data folder" in result.stderr


def test_a_failed_export_leaves_the_report_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "warehouse.duckdb").write_bytes(b"no database" * 1000)
    report = tmp_path / "report.csv"
    report.write_text("last month\n", "utf-8")

    result = typed(tmp_path, "export", "--region", "lab", "-o", str(report))

    assert result.exit_code == 1, result.stderr
    assert report.read_text("utf-8") == "last month\n"
