"""The code of a run: what belongs to it, and when two codes are the same."""

import os
import time
from pathlib import Path

import pytest

from aisbench_core.base.errors import ConfigError
from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.workloads import REPORTER, Workloads
from aisbench_core.model import RunSpec
from aisbench_core.running.code import SETTLED_S, CodeManifest, files_beside, read_code

WORKLOAD = Workloads(HOME / "workloads").get("quickstart_digits")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    (folder / "models" / "deep").mkdir(parents=True)
    (folder / "train.py").write_text("print()\n")
    (folder / "models" / "deep" / "net.py").write_text("x = 1\n")
    return folder


def code_of(folder: Path) -> CodeManifest:
    return read_code(RunSpec(workload=WORKLOAD.name, code_dir=str(folder)), WORKLOAD)


def names(folder: Path) -> list[str]:
    return [file.name for file in code_of(folder).files]


def test_every_file_belongs_to_the_code_and_the_reporter_comes_along(folder: Path) -> None:
    assert names(folder) == sorted([*REPORTER, "models/deep/net.py", "train.py"])


def test_a_reporter_of_the_code_s_own_stays(folder: Path) -> None:
    own = folder / REPORTER[0]
    own.write_text("mine = True\n")

    (found,) = [file for file in code_of(folder).files if file.name == REPORTER[0]]

    assert found.source == own


def test_what_is_never_uploaded_is_not_even_looked_into(folder: Path) -> None:
    before = code_of(folder)
    for left_out in (folder / ".git", folder / "models" / "__pycache__"):
        left_out.mkdir()
        (left_out / "net.pyc").write_bytes(b"\x00")
        left_out.chmod(0)
    (folder / ".DS_Store").write_bytes(b"\x00")

    assert code_of(folder) == before


def test_links_to_files_are_files_and_what_is_no_file_is_left_out(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "shared.py").write_text("y = 2\n")
    (folder / "shared.py").symlink_to(tmp_path / "shared.py")
    (folder / "nowhere.py").symlink_to(tmp_path / "nowhere.py")
    (folder / "elsewhere").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(folder / "pipe")

    assert names(folder) == sorted([*REPORTER, "models/deep/net.py", "shared.py", "train.py"])


def test_equal_code_has_equal_hashes_wherever_it_lies(folder: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    before = code_of(folder).sha256
    folder.rename(moved)
    (moved / "train.py").touch()

    assert code_of(moved).sha256 == before


@pytest.mark.parametrize("change", ["content", "name", "more"])
def test_any_change_of_the_code_changes_its_hash(folder: Path, change: str) -> None:
    before = code_of(folder).sha256
    match change:
        case "content":
            (folder / "train.py").write_text("print(1)\n")
        case "name":
            (folder / "train.py").rename(folder / "train2.py")
        case _:
            (folder / "empty.py").touch()

    assert code_of(folder).sha256 != before


def test_a_folder_that_is_gone_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the code cannot be read: .*gone: No such file or directory"):
        code_of(tmp_path / "gone")


@pytest.mark.slow  # waits for the clock of the file system
def test_a_change_that_keeps_size_and_time_is_still_found(folder: Path) -> None:
    file = folder / "train.py"
    time.sleep(SETTLED_S + 0.1)  # from now on its hashes are remembered
    before, times = code_of(folder), (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    assert code_of(folder) == before

    file.write_text("exit()\n"[: file.stat().st_size].ljust(file.stat().st_size))
    os.utime(file, ns=times)

    assert code_of(folder).sha256 != before.sha256


# --- what the console puts beside the boot file -------------------------------------------------------

CANN = "Ascend-cann-nnae_5.0.2.1_linux-aarch64.run"


def prepared(folder: Path, script: Path, **answers: object) -> CodeManifest:
    asked = {"workload": WORKLOAD.name, "code_dir": str(folder), "boot_file": "models/train.py", **answers}
    spec = RunSpec.model_validate(asked)
    return read_code(spec, WORKLOAD, files_beside(spec, script))


def test_the_script_packages_and_an_own_script_lie_beside_the_boot_file(folder: Path, tmp_path: Path) -> None:
    own, package, script = folder / "models" / "ma-pre-start.sh", tmp_path / CANN, tmp_path / "run" / "ma-pre-start.sh"
    own.write_text("export OWN=1\n")
    package.write_text("package\n")

    code = prepared(folder, script, update={"cann": str(package)})

    sources = {file.name: file.source for file in code.files}
    assert sources["models/ma-pre-start.sh"] == script
    assert sources["models/ma-pre-start.own.sh"] == own
    assert sources[f"models/run/{CANN}"] == package
    assert '. "$aisbench_here/ma-pre-start.own.sh"' in script.read_text("utf-8")


def test_the_same_code_with_other_levels_is_other_code_and_without_any_it_is_as_it_was(
    folder: Path, tmp_path: Path
) -> None:
    script = tmp_path / "ma-pre-start.sh"
    plain = prepared(folder, script)
    assert not script.exists()

    once = prepared(folder, script, log_levels={"cann": "info"})
    again = prepared(folder, script, log_levels={"cann": "info"})
    other = prepared(folder, script, log_levels={"cann": "debug"})

    assert plain.sha256 == code_of(folder).sha256
    assert once.sha256 == again.sha256
    assert len({plain.sha256, once.sha256, other.sha256}) == 3


def test_a_name_that_is_not_utf_8_is_named(folder: Path) -> None:
    misnamed = folder / os.fsdecode("数据".encode("gbk"))
    misnamed.mkdir()
    (misnamed / "train.csv").touch()

    with pytest.raises(ConfigError, match=r"the name of .*/数据/train\.csv is not UTF-8"):
        code_of(folder)
