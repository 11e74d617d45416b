"""Paths that a client sends with a command: they lead nowhere but into the command's own folder."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aisbench_core.interfaces.commands.folders import new_folder
from aisbench_core.interfaces.commands.request import MOST_FILES, MOST_PARTS, ClientPath, CommandRequest, SentFile

PARTS = st.sampled_from(["a", "ä b", ".", "..", "", "\n", "q\n", "\0", "...", ".x", "\x7f"])
PATHS = st.lists(PARTS, max_size=6).map("/".join) | st.text(max_size=30)


@pytest.mark.parametrize(
    "path", ["..", "../x", "a/../x", "q\n/../../x", "a/..", "/x", "a\0b", ".", "a/./b", "a//b", "a/", "a\nb"]
)
def test_a_path_that_may_lead_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(ValidationError):
        SentFile(path=path, data=b"")
    with pytest.raises(ValidationError):
        ClientPath(typed="x", absolute=f"/{path.removeprefix('/')}/..")
    with pytest.raises(ValidationError):
        ClientPath(typed="x", absolute=f"/home/{path}" if path != "/x" else "x")


@pytest.mark.parametrize("path", ["", "a", "a/b c/ä.txt", "...", ".hidden/x", "a..b"])
def test_an_ordinary_path_passes(path: str) -> None:
    assert SentFile(path=path, data=b"").path == path
    assert ClientPath(typed="x", absolute=f"/{path}").absolute == f"/{path}"


@given(PATHS)
def test_whatever_passes_stays_below_the_folder(path: str) -> None:
    folder = Path("/folder/0")
    try:
        sent, named = SentFile(path=path, data=b"").path, ClientPath(typed="x", absolute=f"/{path}").absolute
    except ValidationError:
        return
    for below in (sent, named.lstrip("/")):
        parts = (folder / below).parts
        assert parts[:3] == folder.parts
        assert not {"..", "."} & {*parts}
        assert below.isprintable() or "\n" not in below


@pytest.mark.parametrize("path", ["a/" * MOST_PARTS + "f", "x" * 1001])
def test_a_path_is_not_deeper_and_longer_than_what_can_be_removed_again(path: str) -> None:
    with pytest.raises(ValidationError, match="at most 50 parts and 1000 characters"):
        SentFile(path=path, data=b"")
    with pytest.raises(ValidationError):
        ClientPath(typed="x", absolute=f"/{path}")


def test_a_command_has_so_many_files_of_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aisbench_core.interfaces.commands.request.MOST_FILE_BYTES", 10)

    def request(*counts: int, data: bytes = b"") -> CommandRequest:
        files = [tuple(SentFile(path=str(number), data=data) for number in range(count)) for count in counts]
        paths = tuple(
            ClientPath(typed=str(index), absolute="/a", kind="folder", files=each) for index, each in enumerate(files)
        )
        return CommandRequest(command=("import",), paths=paths)

    assert len(request(MOST_FILES).paths[0].files) == MOST_FILES
    with pytest.raises(ValidationError, match="at most 5000"):
        request(MOST_FILES, 1)
    with pytest.raises(ValidationError, match="10 bytes together"):
        request(1, 2, data=b"AAAAAAAA")


def test_a_folder_that_cannot_be_removed_keeps_no_other_command_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / "aisbench-command-999999999-left"
    for depth in (700, 1400):  # made at once it would be too deep for Python, too
        (left / ("a/" * depth)).mkdir(parents=True)

    folder = new_folder()

    assert folder.is_dir()
    while left.exists():  # a piece at a time
        deep = left / ("a/" * 690)
        shutil.rmtree(deep if deep.exists() else left)
