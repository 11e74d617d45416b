"""Files that are whole or not there, for their owner only, whoever is killed or has no room meanwhile."""

import os
import stat
from pathlib import Path

import pytest

from aisbench_core.private_files import draft_of, is_open_to_others, private_umask, restrict_access, write_whole
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
