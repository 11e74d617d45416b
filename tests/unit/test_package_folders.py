"""Packages that are unpacked, and what a machine may do to an import: the same rules, and nothing left behind."""

import io
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.private_files import process_name
from aisbench_core.exchange.upstream.packages.service import UNPACKED
from tests.actors import TESTER
from tests.package_door import left_behind, opener, unpacked
from tests.upstream_package import NAME, files, packed, write_folder


def test_a_folder_and_its_archive_are_the_same_package(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, NAME)

    from_folder = opener(tmp_path / "a").open(str(folder), TESTER)
    from_archive = unpacked(tmp_path / "b", packed(files()))

    assert from_folder.sha256 == from_archive.sha256
    assert (from_folder.name, from_folder.entries, from_folder.size) == (
        from_archive.name,
        from_archive.entries,
        from_archive.size,
    )


@pytest.mark.parametrize("link", ["code/code/x", "code/code/src/x", "code/config/config.sh", "code", "code/code"])
def test_a_folder_with_a_link_is_refused(tmp_path: Path, link: str) -> None:
    folder = write_folder(tmp_path, NAME)
    place = folder / link
    if place.exists():
        place.rename(tmp_path / "moved")
    place.symlink_to(tmp_path / "moved")

    with pytest.raises(ConfigError, match=f"'{link}' is a link"):
        opener(tmp_path / "data").open(str(folder), TESTER)

    assert left_behind(tmp_path / "data") == []


def test_a_pipe_in_a_folder_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, NAME)
    os.mkfifo(folder / "code" / "code" / "pipe")

    with pytest.raises(ConfigError, match="neither a file nor a directory"):
        opener(tmp_path / "data").open(str(folder), TESTER)


def test_the_folder_around_a_package_will_do_and_around_two_will_not(tmp_path: Path) -> None:
    (tmp_path / "around").mkdir()
    write_folder(tmp_path / "around", NAME)
    assert opener(tmp_path / "data").open(str(tmp_path / "around"), TESTER).name is not None

    write_folder(tmp_path / "around", "other")

    with pytest.raises(ConfigError, match="contains 2 packages"):
        opener(tmp_path / "data").open(str(tmp_path / "around"), TESTER)


@pytest.mark.parametrize(("place", "sentence"), [("empty", "contains no package"), ("nowhere.tar.gz", "No such file")])
def test_what_is_no_package_is_said(tmp_path: Path, place: str, sentence: str) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(ConfigError, match=sentence):
        opener(tmp_path / "data").open(str(tmp_path / place), TESTER)


def test_folders_that_somebody_left_open_are_removed_after_a_day(tmp_path: Path) -> None:
    forgotten = unpacked(tmp_path, packed(files())).folder
    fresh = unpacked(tmp_path, packed(files())).folder
    os.utime(forgotten, (1, 1))

    unpacked(tmp_path, packed(files()))

    assert not forgotten.exists()
    assert fresh.exists()
    assert fresh.name.startswith(UNPACKED)


def test_folders_of_a_process_that_ended_are_removed_at_once(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    fresh = unpacked(tmp_path, packed(files())).folder
    mine = process_name().replace(str(os.getpid()), str(gone.pid))
    names = (f"{mine}ab12", f"{mine[7::-1]}{mine[8:]}ab12", "ab12cd34ef56")
    orphan, elsewhere, older = (fresh.with_name(f"{UNPACKED}{name}") for name in names)
    for folder in (orphan, elsewhere, older):
        folder.mkdir()

    unpacked(tmp_path, packed(files()))

    assert [folder.exists() for folder in (orphan, elsewhere, older, fresh)] == [False, True, True, True]


def test_a_full_disk_ends_an_import_and_nothing_stays(tmp_path: Path) -> None:
    content = packed(files(big="x" * 100_000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))

    try:
        with pytest.raises(ConfigError, match="cannot be unpacked: File too large"):
            unpacked(tmp_path, content)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert left_behind(tmp_path) == []


def test_a_data_folder_that_cannot_hold_workloads_is_said(tmp_path: Path) -> None:
    (tmp_path / "workloads").write_text("in the way")

    with pytest.raises(ConfigError, match="cannot be unpacked"):
        opener(tmp_path).unpack("a.tar.gz", io.BytesIO(packed(files())))
