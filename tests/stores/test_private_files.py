"""Files that are whole or not there, for their owner only, whoever is killed or has no room meanwhile."""

import os
import stat
from pathlib import Path

import pytest

from aisbench_core.base.private_files import (
    draft_of,
    is_open_to_others,
    make_private_file,
    private_umask,
    restrict_access,
    share_new_files,
    write_whole,
)
from tests.processes import FORKED


def die_while_writing(file: Path) -> None:
    draft_of(file).write_bytes(b"half")
    os._exit(9)


def test_what_a_killed_writer_left_goes_with_the_next_write(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    write_whole(file, b"old")
    process = FORKED.Process(target=die_while_writing, args=(file,))
    process.start()
    process.join(60)
    assert len(list(tmp_path.iterdir())) == 2

    write_whole(file, b"new")

    assert [path.name for path in tmp_path.iterdir()] == ["record.json"]
    assert file.read_bytes() == b"new"


def test_a_link_in_the_place_of_a_draft_leads_nobody_elsewhere(tmp_path: Path) -> None:
    victim, file = tmp_path / "victim", tmp_path / "record.json"
    victim.write_bytes(b"precious")
    draft_of(file).symlink_to(victim)

    with pytest.raises(OSError, match="symbolic link"):
        write_whole(file, b"new")

    assert victim.read_bytes() == b"precious"


def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_whole(tmp_path / "folder" / "file", b"")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "folder/file").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o700


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder of a group, as an administrator makes it."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o2770)
    return folder


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_in_a_shared_folder_are_its_groups_whatever_the_umask(shared: Path) -> None:
    before = os.umask(0o077)
    try:
        write_whole(shared / "runs" / "one" / "file", b"")
        make_private_file(shared / "database")
        write_whole(shared / "page", b"", 0o644)
    finally:
        os.umask(before)

    assert (mode_of(shared / "runs"), mode_of(shared / "runs/one")) == (0o2770, 0o2770)
    assert (mode_of(shared / "runs/one/file"), mode_of(shared / "database")) == (0o660, 0o660)
    assert mode_of(shared / "page") == 0o644


def test_in_a_shared_folder_only_others_lose_their_rights(shared: Path) -> None:
    (shared / "file").touch()
    (shared / "file").chmod(0o666)
    assert is_open_to_others(shared / "file")

    restrict_access([shared / "file"])

    assert mode_of(shared / "file") == 0o660
    assert not is_open_to_others(shared / "file")
    assert not is_open_to_others(shared)


@pytest.mark.parametrize("mode", [0o770, 0o2750, 0o2700])
def test_a_folder_that_lacks_a_right_of_its_group_is_not_shared(tmp_path: Path, mode: int) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder").chmod(mode)

    write_whole(tmp_path / "folder" / "file", b"")

    assert mode_of(tmp_path / "folder" / "file") == 0o600


def test_what_libraries_write_belongs_to_the_group_of_a_shared_folder(shared: Path, tmp_path: Path) -> None:
    with private_umask():
        share_new_files(tmp_path)
        (tmp_path / "file").touch()
        share_new_files(shared)
        (shared / "file").touch()

    assert (mode_of(tmp_path / "file"), mode_of(shared / "file")) == (0o600, 0o660)


def test_rights_are_taken_from_others_and_not_through_links(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes(b"")
    file.chmod(0o644)
    link.symlink_to(file)

    restrict_access([link, tmp_path / "missing"])
    assert is_open_to_others(file)

    restrict_access([file])
    assert not is_open_to_others(file)


def test_the_umask_is_given_back(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with private_umask() as usual:
            (tmp_path / "made").touch()
            assert usual == 0o022
        (tmp_path / "later").touch()
    finally:
        os.umask(before)

    assert is_open_to_others(tmp_path / "later")
    assert not is_open_to_others(tmp_path / "made")
