"""The real TensorBoard over runs: what it shows, who cannot reach it, and that none is left behind."""

import json
import os
import re
import signal
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.errors import ConfigError
from aisbench_core.domain.summaries.tensorboards import MOST, TensorBoard, TensorBoards
from aisbench_core.store.run_folders.run_paths import RunFolder
from tests.event_files import MINDSPORE, MINDSPORE_NAME, NAME, event, file_of, write_plain, write_tensors
from tests.flow.command_line import CommandLine
from tests.training_client import await_true

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@pytest.fixture
def tensorboards() -> Iterator[TensorBoards]:
    """All end with the test."""
    started = TensorBoards()
    yield started
    started.close()


def answer(base: str, path: str) -> Any:
    with DIRECT.open(base + path, timeout=30) as reply:
        return json.load(reply)


def base_of(board: TensorBoard) -> str:
    return f"http://127.0.0.1:{board.port}{board.path}"


def test_it_shows_the_chosen_runs_as_they_grow_and_only_to_who_knows_the_path_which_no_list_of_processes_has(
    tensorboards: TensorBoards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUAWEICLOUD_SDK_SK", "a key that it must not get")
    write_plain(tmp_path / "one" / "train_url", 3)
    write_tensors(tmp_path / "two", 2)

    board = tensorboards.start({"run-1": tmp_path / "one", "run-2": tmp_path / "two"})

    base = base_of(board)
    await_true(lambda: len(answer(base, "data/runs")) == 2, "both runs")
    assert sorted(answer(base, "data/runs")) == ["run-1/train_url", "run-2"]
    points = answer(base, "data/plugin/scalars/scalars?run=run-1%2Ftrain_url&tag=train%2Floss")
    assert [(step, round(value, 3)) for _, step, value in points] == [(0, 1.0), (1, 0.5), (2, 0.333)]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        answer(f"http://127.0.0.1:{board.port}/", "data/runs")
    assert b"must not get" not in Path(f"/proc/{board.process.pid}/environ").read_bytes()
    arguments = Path(f"/proc/{board.process.pid}/cmdline").read_bytes()
    assert b"tensorboard" in arguments
    assert board.token.encode() not in arguments
    assert tensorboards.port_of(board.token) == board.port

    tensorboards.close()

    assert not board.is_alive
    assert not board.folder.exists()
    assert tensorboards.port_of(board.token) is None


def test_the_same_runs_have_one_and_too_many_end_the_oldest(tensorboards: TensorBoards, tmp_path: Path) -> None:
    folders = [{f"run-{number}": tmp_path / str(number)} for number in range(MOST + 1)]
    for folder in folders:
        for path in folder.values():
            write_plain(path, 1)

    first = tensorboards.start(folders[0])
    again = tensorboards.start(folders[0])
    others = [tensorboards.start(folder) for folder in folders[1:]]

    assert again is first
    assert [first.is_alive, *(other.is_alive for other in others)] == [False, *[True] * MOST]


def test_one_that_was_killed_is_started_again(tensorboards: TensorBoards, tmp_path: Path) -> None:
    write_plain(tmp_path, 1)
    first = tensorboards.start({"run": tmp_path})
    first.process.kill()
    first.process.wait()

    second = tensorboards.start({"run": tmp_path})

    assert second.is_alive
    assert not first.folder.exists()


def test_a_run_that_has_nothing_for_it_is_named(tensorboards: TensorBoards, tmp_path: Path) -> None:
    (tmp_path / MINDSPORE_NAME).write_bytes(MINDSPORE)

    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ConfigError, match="run r1 has no event files for TensorBoard"):
            tensorboards.start({"r1": folder})


def test_without_the_extra_it_says_how_to_install_it(
    tensorboards: TensorBoards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)

    with pytest.raises(ConfigError, match=r"not installed \(install it: pip install .*\[tensorboard\]"):
        tensorboards.start({"run": tmp_path})


def test_the_command_prints_its_address_and_ends_it_on_ctrl_c(shell: CommandLine) -> None:
    run_id = shell.type("run", "quickstart_digits").stdout.strip()
    folder = RunFolder(shell.data_dir / "runs" / run_id).summaries
    refused = shell.type("tensorboard", run_id)
    folder.mkdir()
    (folder / NAME).write_bytes(file_of(event(0, loss=1)))

    process = shell.start("tensorboard", run_id[:-2])
    assert process.stdout
    line = process.stdout.readline()
    address = re.fullmatch(r"TensorBoard: (http://127\.0\.0\.1:\d+/tensorboard/[\w-]{43}/)\n", line)
    assert address, line
    await_true(lambda: answer(address[1], "data/runs") == [run_id], "the run")
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)

    assert (refused.exit_code, process.returncode) == (2, 0)
    assert "press Ctrl-C to stop" in said
    with pytest.raises(urllib.error.URLError):
        answer(address[1], "data/runs")
    shell.end()
