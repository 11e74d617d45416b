"""`aisbench mindinsight`, with a program in MindInsight's place: MindInsight 2.3.1 needs libraries older than ours."""

from pathlib import Path

import pytest

from aisbench_core.store.run_folders.run_paths import RunFolder
from tests.event_files import MINDSPORE, MINDSPORE_NAME, NAME, event, file_of
from tests.flow.command_line import CommandLine

# What version 2.3.1 prints when it has started.
PROGRAM = """#!/bin/sh
printf '%s\\n' "$@" > "{told}"
env > "{variables}"
echo "Workspace: $6"
echo "Web address: http://127.0.0.1:$5"
echo "service start state: {state}"
exit {code}
"""


@pytest.fixture
def run_folder(shell: CommandLine) -> RunFolder:
    """The folder of a run that has not started yet."""
    run_id = shell.type("run", "quickstart_digits").stdout.strip()
    return RunFolder(shell.data_dir / "runs" / run_id)


def stand_in(folder: Path, code: int = 0) -> Path:
    """A program that notes how it was called."""
    program = folder / "mindinsight"
    state = "failed" if code else "success"
    text = PROGRAM.format(told=folder / "told", variables=folder / "variables", state=state, code=code)
    program.write_text(text)
    program.chmod(0o700)
    return program


def test_it_is_given_the_folder_of_the_runs_summary_files_and_no_keys(
    shell: CommandLine, run_folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUAWEICLOUD_SDK_SK", "a key that it must not get")
    program, summaries = stand_in(tmp_path), run_folder.summaries / "train_url" / "summary_dir"
    summaries.mkdir(parents=True)
    (summaries / MINDSPORE_NAME).write_bytes(MINDSPORE)

    started = shell.type("mindinsight", run_folder.path.name, "--port", "9123", "--program", str(program))

    assert started.stdout == "MindInsight: http://127.0.0.1:9123\n"
    assert f"{program} stop --port 9123" in started.stderr
    start, *options = (tmp_path / "told").read_text().splitlines()
    assert start == "start"
    assert dict(zip(options[::2], options[1::2], strict=True)) == {
        "--summary-base-dir": str(summaries.resolve()),
        "--port": "9123",
        "--workspace": str(shell.data_dir / "mindinsight"),
    }
    variables = (tmp_path / "variables").read_text()
    assert "must not get" not in variables
    assert f"PATH={tmp_path}:" in variables


def test_several_outputs_are_shown_by_the_folder_above_them(
    shell: CommandLine, run_folder: RunFolder, tmp_path: Path
) -> None:
    for output in ("one", "two"):
        (run_folder.summaries / output).mkdir(parents=True)
        (run_folder.summaries / output / MINDSPORE_NAME).write_bytes(MINDSPORE)

    shell.type("mindinsight", run_folder.path.name, "--program", str(stand_in(tmp_path)))

    assert str(run_folder.summaries.resolve()) in (tmp_path / "told").read_text().splitlines()


def test_what_keeps_it_from_starting_is_said(shell: CommandLine, run_folder: RunFolder, tmp_path: Path) -> None:
    run_folder.summaries.mkdir()
    (run_folder.summaries / NAME).write_bytes(file_of(event(0, loss=1)))
    run_id, program = run_folder.path.name, str(stand_in(tmp_path, code=1))

    missing = shell.type("mindinsight", run_id, "--program", str(tmp_path / "nothing"))
    foreign = shell.type("mindinsight", run_id, "--program", program)
    (run_folder.summaries / MINDSPORE_NAME).write_bytes(MINDSPORE)
    failed = shell.type("mindinsight", run_id, "--program", program)

    assert (missing.exit_code, foreign.exit_code, failed.exit_code) == (2, 2, 1)
    assert "there is no program" in missing.stderr
    assert "has no event files of MindSpore" in foreign.stderr
    assert "MindInsight did not start: service start state: failed" in failed.stderr
    shell.end()
