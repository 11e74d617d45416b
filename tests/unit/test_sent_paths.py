"""Paths that a client sends with a command: they lead nowhere but into the command's own folder."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aisbench_core.commands.request import ClientPath, SentFile

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
