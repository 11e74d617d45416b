"""Preflight of the code directory: the cloud's limits, links, and a walk that ends early."""

import os
from pathlib import Path

import pytest

from aisbench_core.domain.authoring.code_folder import measure_folder
from aisbench_core.model import RunSpec
from tests.unit.good_specs import changed, code_folder, found, good_spec, only


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A code directory with boot files in it."""
    return code_folder(tmp_path)


@pytest.fixture
def resnet(code: Path) -> RunSpec:
    """A spec that nothing is wrong with."""
    return good_spec(code)


def test_a_boot_file_that_is_a_link_to_elsewhere_is_outside(resnet: RunSpec, code: Path) -> None:
    (code.parent / "elsewhere.py").write_text("print()\n")
    (code / "train.py").unlink()
    (code / "train.py").symlink_to(code.parent / "elsewhere.py")

    assert only(found(resnet), "boot.outside").field == "boot_file"


def test_no_file_outside_of_the_code_is_looked_for(resnet: RunSpec, code: Path) -> None:
    (code.parent / "there.py").write_text("print()\n")

    there, away = (found(changed(resnet, boot_file=f"../{name}.py")) for name in ("there", "away"))

    assert [finding.rule for finding in there] == ["boot.outside"]
    assert [finding.rule for finding in away] == ["boot.outside"]


def test_a_code_directory_that_is_itself_a_link_is_fine(resnet: RunSpec, code: Path) -> None:
    (code.parent / "link").symlink_to(code)

    assert found(changed(resnet, code_dir=str(code.parent / "link"))) == []


def test_a_thousand_entries_are_allowed_and_directories_count(resnet: RunSpec, code: Path) -> None:
    (code / "folder").mkdir()
    for index in range(997):
        (code / "folder" / f"{index}.txt").touch()
    assert measure_folder(code).entries == 1000
    assert found(resnet) == []

    (code / "one").mkdir()

    assert "more than 1,000 files and directories" in only(found(resnet), "code.files").message


def test_more_than_five_gigabytes_of_code_are_refused(resnet: RunSpec, code: Path) -> None:
    with (code / "data.bin").open("wb") as file:
        file.truncate(5 * 1024**3 + 1)

    assert "at least 5.0 GB; allowed: 5 GB" in only(found(resnet), "code.size").message


def test_thirty_two_levels_are_allowed_and_thirty_three_are_not(resnet: RunSpec, code: Path) -> None:
    deep = code.joinpath(*["d"] * 32)
    deep.mkdir(parents=True)
    assert found(resnet) == []

    (deep / "d").mkdir()

    assert "more than 32 levels deep" in only(found(resnet), "code.depth").message


def test_a_link_that_leads_nowhere_is_named(resnet: RunSpec, code: Path) -> None:
    (code / "weights.ckpt").symlink_to(code / "gone")

    assert "weights.ckpt cannot be read" in only(found(resnet), "code.unreadable").message


@pytest.mark.parametrize(
    ("name", "shown"), [(b"weights-\xff.ckpt", "weights-%FF.ckpt"), ("日志".encode("gbk"), "日志")]
)
def test_a_name_that_is_not_utf_8_is_named(resnet: RunSpec, code: Path, name: bytes, shown: str) -> None:
    (code / os.fsdecode(name)).mkdir()

    assert only(found(resnet), "code.unreadable").message.endswith(f"/{shown} is not UTF-8")


def test_the_home_of_somebody_who_does_not_exist_is_no_code_directory(resnet: RunSpec) -> None:
    spec = resnet.model_copy(update={"code_dir": "~nobody-at-all/code"})

    assert "is not an absolute path" in only(found(spec), "code.missing").message


def test_a_link_to_a_directory_around_it_does_not_make_the_walk_endless(resnet: RunSpec, code: Path) -> None:
    (code / "loop").symlink_to(code)

    assert measure_folder(code).entries == 2
    assert "loop is a link to a directory and is not uploaded" in only(found(resnet), "code.link").message


def test_what_is_never_uploaded_does_not_count(code: Path) -> None:
    (code / ".git").mkdir()
    (code / ".git" / "HEAD").touch()
    (code / "package" / "__pycache__").mkdir(parents=True)

    assert measure_folder(code).entries == 3


def test_a_directory_of_very_many_files_is_not_walked_to_its_end(tmp_path: Path) -> None:
    for folder in range(30):
        (tmp_path / str(folder)).mkdir()
        for index in range(100):
            (tmp_path / str(folder) / str(index)).touch()

    assert measure_folder(tmp_path).entries == 1001
