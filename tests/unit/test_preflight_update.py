"""Preflight of packages, log levels and the script that brings them to the job."""

from pathlib import Path
from typing import Any

import pytest

from aisbench_core.domain.authoring.software import (
    CANN,
    PackageFile,
    PackageKind,
    Platform,
    SoftwarePackages,
    package_of,
    platform_of,
)
from aisbench_core.domain.preflight.fixes import apply_fixes
from aisbench_core.model import Level, RunSpec
from tests.unit.good_specs import changed, code_folder, found, good_spec, only

NNAE = "Ascend-cann-nnae_5.0.2.1_linux-aarch64.run"
MINDSPORE = "mindspore_ascend-1.5.0-cp37-cp37m-linux_aarch64.whl"
PROTOBUF = "protobuf-3.20.1-cp37-cp37m-linux_aarch64.whl"
ENGINE = "mindspore_1.5.1-cann_5.0.3-py_3.7-euler_2.8.3-aarch64"


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    folder = tmp_path / "packages"
    folder.mkdir()
    return folder


@pytest.fixture
def resnet(tmp_path: Path) -> RunSpec:
    """A spec that nothing is wrong with, on an image whose name tells architecture and Python."""
    return changed(good_spec(code_folder(tmp_path)), engine_version=ENGINE)


def put(shelf: Path, name: str) -> str:
    (shelf / name).write_text("package\n")
    return str(shelf / name)


def with_update(spec: RunSpec, **packages: str) -> RunSpec:
    return changed(spec, update=packages)


def rules(spec: RunSpec) -> set[str]:
    return {finding.rule for finding in found(spec)}


def test_packages_that_fit_the_image_are_accepted(resnet: RunSpec, shelf: Path) -> None:
    update = {"cann": put(shelf, NNAE), "mindspore": put(shelf, MINDSPORE), "protobuf": put(shelf, PROTOBUF)}

    assert found(with_update(resnet, **update)) == []


@pytest.mark.parametrize(
    ("rule", "field", "name", "says"),
    [
        ("update.kind", "cann", MINDSPORE, "is MindSpore 1.5.0 · aarch64 · Python 3.7"),
        ("update.kind", "cann", "nnae.run", "is not the file name of such a package"),
        ("update.kind", "mindspore", PROTOBUF, "is protobuf 3.20.1"),
        ("update.architecture", "cann", NNAE.replace("aarch64", "x86_64"), "is for x86_64, but mindspore_1.5.1"),
        ("update.architecture", "mindspore", MINDSPORE.replace("linux_aarch64", "win_amd64"), "is for win_amd64"),
        ("update.python", "mindspore", MINDSPORE.replace("37", "39"), "is for Python 3.9, but mindspore_1.5.1"),
    ],
)
def test_a_package_that_does_not_fit_is_an_error_at_its_field(
    resnet: RunSpec, shelf: Path, rule: str, field: str, name: str, says: str
) -> None:
    finding = only(found(with_update(resnet, **{field: put(shelf, name)})), rule)

    assert (finding.level, finding.field) == (Level.ERROR, f"update.{field}")
    assert says in finding.message


@pytest.mark.parametrize(
    ("path", "says"),
    [(NNAE, "not an absolute path"), (f"/no/such/{NNAE}", "not a file"), (f"/\0/{NNAE}", "not a file"), ("/", "not a")],
)
def test_a_package_has_to_be_a_file_here(resnet: RunSpec, path: str, says: str) -> None:
    assert says in only(found(with_update(resnet, cann=path)), "update.file").message


def test_a_directory_and_an_empty_file_are_no_packages(resnet: RunSpec, shelf: Path) -> None:
    (shelf / NNAE).mkdir()
    (shelf / PROTOBUF).touch()

    findings = found(with_update(resnet, cann=str(shelf / NNAE), protobuf=str(shelf / PROTOBUF)))

    assert [finding.rule for finding in findings] == ["update.file", "update.file"]
    assert "is empty" in findings[0].message


def test_packages_for_two_architectures_are_refused_where_the_image_does_not_tell(resnet: RunSpec, shelf: Path) -> None:
    update = {"cann": put(shelf, NNAE), "protobuf": put(shelf, PROTOBUF.replace("aarch64", "x86_64"))}
    silent = changed(resnet, engine_version="mine")

    assert "different architectures" in only(found(with_update(silent, **update)), "update.architecture").message


def test_cann_on_something_else_than_ascend_is_a_warning(resnet: RunSpec, shelf: Path) -> None:
    spec = changed(with_update(resnet, cann=put(shelf, NNAE)), flavor="sandbox.cpu.2cards", cards_per_node=2)

    assert only(found(spec), "update.accelerator").level is Level.WARNING


def test_a_custom_image_installs_nothing_and_the_fix_takes_the_package_away(resnet: RunSpec, shelf: Path) -> None:
    own = {"image_url": "swr/x:1", "command": "python t.py"}
    spec = changed(with_update(resnet, cann=put(shelf, NNAE)), **own)

    finding = only(found(spec), "update.image")

    assert apply_fixes(spec, [finding]).update.packages == {}
    assert rules(apply_fixes(spec, [finding])) == rules(changed(resnet, **own))


def test_an_own_script_is_announced_only_where_the_console_writes_one(resnet: RunSpec) -> None:
    Path(resnet.code_dir, "ma-pre-start.sh").write_text("export A=1\n")
    assert found(resnet) == []

    finding = only(found(changed(resnet, mode="single_server")), "pre-start.own")

    assert (finding.level, finding.field) == (Level.INFO, "code_dir")
    assert "it is uploaded as ma-pre-start.own.sh and run by the console's script" in finding.message


def test_files_of_the_code_that_would_be_overwritten_are_named(resnet: RunSpec, shelf: Path) -> None:
    code = Path(resnet.code_dir)
    spec = with_update(resnet, cann=put(shelf, NNAE))
    (code / "run").mkdir()
    (code / "run" / NNAE).write_text("another\n")
    (code / "ma-pre-start.own.sh").touch()

    messages = [finding.message for finding in found(spec) if finding.rule == "pre-start.names"]

    assert messages == [
        "'ma-pre-start.own.sh' already exists in the code directory",
        f"'run/{NNAE}' already exists in the code directory",
    ]


def test_a_package_that_lies_in_the_code_directory_already_may_be_chosen_there(resnet: RunSpec) -> None:
    run = Path(resnet.code_dir, "run")
    run.mkdir()

    assert found(with_update(resnet, cann=put(run, NNAE))) == []


def test_packages_count_as_code(resnet: RunSpec, shelf: Path) -> None:
    with (shelf / NNAE).open("wb") as file:
        file.truncate(5 * 1024**3 + 1)

    assert "code.size" in rules(with_update(resnet, cann=str(shelf / NNAE)))


def test_a_level_that_is_also_an_environment_variable_is_an_error_that_can_be_fixed(resnet: RunSpec) -> None:
    spec = changed(resnet, log_levels={"mindspore": "info"}, environments={"GLOG_v": "3"})

    finding = only(found(spec), "log-levels.twice")

    assert finding.field == "environments.GLOG_v"
    assert found(apply_fixes(spec, [finding])) == []


def test_levels_reach_a_custom_image_by_the_newer_api_only(resnet: RunSpec) -> None:
    own: dict[str, Any] = {"image_url": "swr/x:1", "command": "python t.py", "log_levels": {"cann": "info"}}

    assert "log-levels.reach" not in rules(changed(resnet, **own))
    assert "api v1 passes no log levels" in only(found(changed(resnet, **own, api="v1")), "log-levels.reach").message


# --- names of files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "package"),
    [
        (NNAE, PackageFile(NNAE, PackageKind.NNAE, "5.0.2.1", "aarch64")),
        ("Ascend-cann-nnrt_8.0.0_linux-x86_64.run", ("nnrt", "8.0.0", "x86_64", "")),
        ("Ascend-cann-toolkit_8.0.RC1.alpha001_linux-aarch64.run", ("toolkit", "8.0.RC1.alpha001", "aarch64", "")),
        (MINDSPORE, ("MindSpore", "1.5.0", "aarch64", "3.7")),
        ("mindspore-2.2.14-cp310-cp310-linux_x86_64.whl", ("MindSpore", "2.2.14", "x86_64", "3.10")),
        ("protobuf-4.21.1-cp37-abi3-manylinux2014_aarch64.whl", ("protobuf", "4.21.1", "aarch64", "")),
        ("protobuf-3.20.1-py2.py3-none-any.whl", ("protobuf", "3.20.1", "", "")),
        ("Ascend-cann-nnae_5.0.2.1_linux-riscv.run", None),
        ("ascend-cann-nnae_5.0.2.1_linux-aarch64.run", None),
        ("Ascend-cann-nnae_5.0.2.1_linux-aarch64.run.part", None),
        ("mindspore-gpu-1.5.0-cp37-cp37m-linux_x86_64.whl", None),
        ("protobuf.whl", None),
        (f"{NNAE}\n", None),
    ],
)
def test_what_a_package_is_stands_in_its_name(name: str, package: PackageFile | tuple[str, ...] | None) -> None:
    expected = PackageFile(name, PackageKind(package[0]), *package[1:]) if isinstance(package, tuple) else package

    assert package_of(f"/some/where/{name}") == expected


@pytest.mark.parametrize(
    ("engine", "platform"),
    [
        (ENGINE, Platform("aarch64", "3.7")),
        ("mindspore_2.7.0rc1-cann_8.2.rc1-py_3.10-hce_2.0.2503-aarch64-snt9b", Platform("aarch64", "3.10")),
        ("MindSpore-1.3-cann_5.0.2-python3.7-euleros2.8-aarch64", Platform("aarch64", "3.7")),
        ("pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64", Platform("x86_64", "3.7")),
        ("mine", Platform("", "")),
    ],
)
def test_what_an_image_is_stands_in_its_engines_name(engine: str, platform: Platform) -> None:
    assert platform_of(engine) == platform


def test_the_shelf_offers_each_field_the_packages_that_it_takes(shelf: Path) -> None:
    for name in (NNAE, MINDSPORE, PROTOBUF, "README.md"):
        put(shelf, name)
    (shelf / NNAE.replace("nnae", "nnrt")).mkdir()

    offered = SoftwarePackages(shelf).list_offered(CANN)

    assert [(path, str(package)) for path, package in offered] == [(str(shelf / NNAE), "nnae 5.0.2.1 · aarch64")]
    assert SoftwarePackages(shelf / "missing").list_offered(CANN) == []
