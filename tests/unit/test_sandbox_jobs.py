"""What the sandbox remembers of its jobs, and what it removes."""

import json
from pathlib import Path

import pytest

from aisbench_sandbox.files import remove_tree
from aisbench_sandbox.jobs import JobStore


@pytest.mark.parametrize("content", [b"", b'{"half": ', b"[]", b"{}", b"\xff", b"null"])
def test_a_damaged_file_of_a_job_is_named_and_keeps_no_other_from_being_read(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    kept = JobStore(tmp_path, lambda: 9.0).add({"metadata": {"name": "kept"}}, None)
    (tmp_path / "damaged.json").write_bytes(content)

    jobs = JobStore(tmp_path, lambda: 9.0)

    assert jobs.all() == [kept]
    assert f"{tmp_path / 'damaged.json'} is damaged" in caplog.text
    assert (tmp_path / "damaged.json").read_bytes() == content


def test_a_file_of_a_later_version_is_left_as_it_is(tmp_path: Path) -> None:
    job = JobStore(tmp_path, lambda: 9.0).add({"metadata": {"name": "new"}}, None)
    assert job is not None
    file = tmp_path / f"{job.job_id}.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "unheard_of": 1}))

    assert JobStore(tmp_path, lambda: 9.0).all() == []
    assert "unheard_of" in file.read_text()


def test_directories_that_their_owner_may_not_write_are_removed_and_links_are_not_followed(tmp_path: Path) -> None:
    folder, other = tmp_path / "work", tmp_path / "other"
    (folder / "closed" / "deep").mkdir(parents=True)
    other.mkdir(mode=0o755)
    (other / "file").write_text("1")
    (folder / "link").symlink_to(other)
    (folder / "closed" / "deep" / "file").write_text("1")
    (folder / "closed" / "deep").chmod(0)
    (folder / "closed").chmod(0o555)
    folder.chmod(0o500)

    remove_tree(folder)

    assert not folder.exists()
    assert (other.stat().st_mode & 0o777, (other / "file").read_text()) == (0o755, "1")


def test_a_directory_that_is_gone_is_fine_and_a_link_is_left(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)

    remove_tree(tmp_path / "gone")
    remove_tree(tmp_path / "link")

    assert (tmp_path / "link").is_symlink()
