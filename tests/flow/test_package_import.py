"""`aisbench workload import`: from a package of the upstream tool to a result, in a region that really trains."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from aisbench_core.domain.authoring.specfile import from_yaml
from tests.flow.command_line import CommandLine
from tests.sandbox_process import SandboxProcess
from tests.unit.upstream_files import ACCESS, ACCESS_KEY, SECRET_KEY, config
from tests.upstream_package import NAME, OTHER, files, job, member, packed, write_archive, write_folder

FLAVOR = "sandbox.cpu.2cards"
WORKLOAD = "train_mindspore_resnet_r1_8"


@pytest.fixture
def shell(tmp_path: Path, real_sandbox: SandboxProcess) -> Iterator[CommandLine]:
    """A command line whose region runs the code that it is sent."""
    shell = CommandLine(tmp_path / "data", real_sandbox)
    yield shell
    shell.end()


def small(**changes: str) -> dict[str, bytes]:
    """A package for two cards of the sandbox."""
    return files(config(ACCESS, job(train_instance_type=repr(FLAVOR), **changes)))


def own(shell: CommandLine) -> list[str]:
    """What lies in the folder of the user's own workloads."""
    return sorted(each.name for each in (shell.data_dir / "workloads").iterdir())


def test_a_package_is_imported_launched_and_measured(shell: CommandLine, tmp_path: Path) -> None:
    archive = write_archive(tmp_path, OTHER, small())
    spec = tmp_path / "spec.yaml"

    imported = shell.type("workload", "import", str(archive), "-o", str(spec))
    result = shell.type("run", str(spec), "--cards", "2", "--wait")

    assert imported.exit_code == 0, imported.output
    assert "workload train_pytorch_gpt_r2_1 created" in imported.stderr
    assert result.exit_code == 0, result.output
    shown = shell.answer("show", result.stdout.strip())
    assert shown["result"]["throughput"] == pytest.approx(100.5 + 101.5)
    assert shown["result"]["accuracy"] == pytest.approx(0.77)
    log = shell.type("logs", result.stdout.strip()).stdout
    assert "'--own_rate=0.5', '--own_word=true'" in log


def test_the_workload_can_be_launched_by_its_name_without_the_package(shell: CommandLine, tmp_path: Path) -> None:
    folder = write_folder(tmp_path, OTHER, small())
    shell.type("workload", "import", str(folder), "--name", "mine")
    for file in sorted(folder.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()

    result = shell.type("run", "mine", "--set", f"flavor={FLAVOR}", "--cards", "2", "--wait")

    assert result.exit_code == 0, result.output
    assert "mine" in [each["name"] for each in shell.answer("workloads")]
    assert "yours" in shell.type("workloads").stdout


def test_what_was_found_can_be_looked_at_before_anything_is_kept(shell: CommandLine, tmp_path: Path) -> None:
    archive = write_archive(tmp_path, NAME, small(out_base_url="'/zgwtest/out/'"))

    looked = shell.type("workload", "import", str(archive), "--dry-run", "--json")

    answer = json.loads(looked.stdout)
    assert (answer["workload"], answer["new"], answer["keys"]) == (WORKLOAD, False, "found")
    assert answer["package"]["company"] == "huawei"
    assert answer["profile"]["bucket"] == "zgwtest"
    assert [each["spec"]["workload"] for each in answer["specs"]] == [WORKLOAD]
    assert own(shell) == []
    for secret in (ACCESS_KEY, SECRET_KEY):
        assert secret not in looked.output


def test_profile_and_keys_are_kept_only_when_they_are_asked_for(shell: CommandLine, tmp_path: Path) -> None:
    archive = write_archive(tmp_path, NAME, small(out_base_url="'/zgwtest/out/'"))
    credentials = shell.data_dir / "credentials.yaml"

    assert shell.type("workload", "import", str(archive)).exit_code == 0
    assert not credentials.exists()
    words = ("--profile", "team", "--save-profile", "--save-keys")
    result = shell.type("workload", "import", str(archive), *words)

    assert f"workload {WORKLOAD} already exists" in result.stderr
    assert "profile team written" in result.stderr
    assert SECRET_KEY in credentials.read_text()
    assert credentials.stat().st_mode & 0o777 == 0o600
    assert own(shell) == [WORKLOAD]
    assert SECRET_KEY not in "".join(
        file.read_text("utf-8") for file in (shell.data_dir / "workloads").rglob("*") if file.is_file()
    )


def test_another_architecture_than_the_regions_is_warned_of(shell: CommandLine, tmp_path: Path) -> None:
    archive = write_archive(tmp_path, NAME, small())

    result = shell.type("workload", "import", str(archive))

    assert result.exit_code == 0
    assert f"warning: flavor: the package is for aarch64, but flavor {FLAVOR} has x86_64" in result.stderr


def test_an_error_ends_with_2_and_keeps_nothing(shell: CommandLine, tmp_path: Path) -> None:
    contents = small(boot_file="'/zgwtest/resnet/start.py'", out_base_url="'/zgwtest/out/'")
    archive = write_archive(tmp_path, NAME, contents)

    result = shell.type("workload", "import", str(archive), "--save-profile")

    assert result.exit_code == 2
    assert "error: boot_file: 'start.py' is not in code/code" in result.stderr
    assert own(shell) == []
    assert shell.type("workload", "import", str(archive), "--boot-file", "train.py").exit_code == 0


def test_another_package_of_the_same_name_ends_with_2_and_says_what_to_do(shell: CommandLine, tmp_path: Path) -> None:
    shell.type("workload", "import", str(write_archive(tmp_path, NAME, small())))
    changed = write_archive(tmp_path, NAME, small() | {"code/code/train.py": b"print()"})

    result = shell.type("workload", "import", str(changed))

    assert result.exit_code == 2
    assert "there is another workload named" in result.stderr
    assert "choose another name" in result.stderr
    assert own(shell) == [WORKLOAD]


def test_a_hostile_archive_ends_with_2_and_leaves_nothing(shell: CommandLine, tmp_path: Path) -> None:
    archive = tmp_path / f"{NAME}.tar.gz"
    archive.write_bytes(packed(small(), (member("./code/code/../../../evil.py"), b"x")))

    result = shell.type("workload", "import", str(archive))

    assert result.exit_code == 2
    assert "points outside the package" in result.stderr
    assert "Traceback" not in result.output
    assert own(shell) == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("nowhere.tar.gz",), "cannot be read: No such file"),
        (("PACKAGE", "--profile", "nobody"), "no profile named 'nobody'"),
        (("PACKAGE", "--save-profile"), "does not contain enough for a profile"),
        (("PACKAGE", "--name", "a/b"), "is not a valid workload name"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_kept(
    shell: CommandLine, tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    archive = write_archive(tmp_path, OTHER, small())

    result = shell.type("workload", "import", *[str(archive) if word == "PACKAGE" else word for word in words])

    assert result.exit_code == 2
    assert sentence in result.stderr
    assert not (shell.data_dir / "workloads").exists() or own(shell) == []


def test_the_spec_of_a_package_names_its_workload_and_no_code_directory(shell: CommandLine, tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"

    shell.type("workload", "import", str(write_archive(tmp_path, NAME, small())), "-o", str(spec))

    written = from_yaml(spec.read_text("utf-8"))
    assert (written.workload, written.framework_version, written.code_dir) == (WORKLOAD, "r1.8", "")
