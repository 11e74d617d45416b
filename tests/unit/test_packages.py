"""From a package to a workload: what name, configuration and shipped manifests tell, and what nobody does."""

import io
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.exchange.upstream.packages.package import Answers
from aisbench_core.model import Flavor, Level, Mode
from tests.actors import TESTER
from tests.package_door import Door, kept, said
from tests.unit.upstream_files import ACCESS, ACCESS_KEY, SECRET_KEY, config
from tests.upstream_package import ENGINE, NAME, OTHER, files, job, packed

ARM = Flavor("arm", "arm", "Ascend", 8, 16, architecture="aarch64")
X86 = Flavor("x86", "x86", "GPU", 8, 16, architecture="x86_64")
SILENT = Flavor("silent", "silent", "GPU", 8, 16)


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path)


def test_a_package_becomes_a_workload_with_code_manifest_and_page(door: Door) -> None:
    workload = door.made()

    assert workload.name == "train_mindspore_resnet_r1_8"
    assert workload.is_own
    assert workload.ships_code
    assert (workload.code_dir / "src" / "net.py").is_file()
    assert (workload.boot_file, workload.framework, list(workload.versions)) == ("train.py", "MindSpore", ["r1.8"])
    assert workload.package is not None
    assert (workload.package.company, workload.package.architecture) == ("huawei", "aarch64")
    assert NAME in (workload.folder / "README.md").read_text("utf-8")
    assert door.workloads.problems() == []


def test_the_shipped_manifest_is_asked_for_what_the_package_does_not_say(door: Door) -> None:
    workload, shipped = door.made(), door.workloads.get("mindspore_resnet")

    edition = workload.edition()
    assert edition.throughput_definition == shipped.edition("r1.8").throughput_definition
    assert (workload.model, workload.dataset, workload.target) == (shipped.model, shipped.dataset, shipped.target)
    assert edition.parameters["epoch_size"].maximum == 1000
    assert edition.parameters["epoch_size"].default == 5
    assert list(edition.parameters) == ["epoch_size", "enable_modelarts", "config_path", "own_rate", "own_word"]


def test_a_parameter_that_nobody_knows_keeps_its_comment_and_says_the_same_to_the_code(door: Door) -> None:
    parameters = door.made().edition().parameters

    assert (parameters["own_rate"].type, parameters["own_rate"].default) == ("float", 0.5)
    assert (parameters["own_word"].type, parameters["own_word"].default) == ("str", "true")  # not True
    assert parameters["own_rate"].help_zh == "自定义参数"
    assert parameters["own_rate"].decides_speed


@pytest.mark.parametrize(
    ("text", "kind", "default"),
    [
        ("True", "bool", True),
        ("true", "str", "true"),
        ("90", "int", 90),
        ("090", "str", "090"),
        ("+5", "str", "+5"),
        ("1e-4", "str", "1e-4"),
        ("0.10", "str", "0.10"),
        ("0.1", "float", 0.1),
        ("nan", "str", "nan"),
        ("1_000", "str", "1_000"),
        ("", "str", ""),
    ],
)
def test_a_value_gets_a_type_only_if_it_is_written_back_as_it_was(
    door: Door, text: str, kind: str, default: Any
) -> None:
    parameters = f"[{{'name': 'p', 'value': {text!r}}}]"

    described = door.described(OTHER, text=config(ACCESS, job(parameters=parameters)))

    assert described.workload is not None
    parameter = described.workload.parameters["p"]
    assert (parameter.type, parameter.default, str(parameter.default)) == (kind, default, text)
    assert described.imported.specs[0].spec.parameters == {"p": default}


def test_what_nobody_knows_is_marked_and_compared_with_nothing_else(door: Door) -> None:
    one, other = door.made(OTHER), door.made(OTHER.replace("r2.1", "r2.2"))

    assert (one.model, one.framework, one.dataset.name, one.target) == ("gpt", "PyTorch", "unknown", None)
    definition = one.edition().throughput_definition
    assert definition != other.edition().throughput_definition
    assert one.definitions[definition].text.startswith("Unknown")
    assert "Unknown" in (one.folder / "README.md").read_text("utf-8")


def test_another_companys_package_is_not_taken_for_the_one_that_is_described(door: Door) -> None:
    described = door.described(NAME.replace("huawei", "acme"))

    assert [each.level for each in said(described, "package.throughput")] == [Level.WARNING]
    assert described.workload is not None
    assert described.workload.target is None


def test_a_version_that_the_shipped_manifest_does_not_have_is_not_known(door: Door) -> None:
    assert said(door.described(NAME.replace("r1.8", "r9.9")), "package.throughput")
    assert not said(door.described(), "package.throughput")


def test_the_configuration_becomes_profile_keys_and_spec_and_keys_are_not_in_the_workload(door: Door) -> None:
    text = config(ACCESS, job(out_base_url="'/zgwtest/out/'", inputs="'/zgwtest/imagenet/'"))

    package = door.opened(text=text)
    described = door.packages.describe(package, Answers(profile="team"))
    door.packages.make(package, described, actor=TESTER)

    found = described.imported
    assert found.profile is not None
    assert found.keys is not None
    assert (found.profile.name, found.profile.bucket) == ("team", "zgwtest")
    (spec,) = [each.spec for each in found.specs]
    assert (spec.workload, spec.framework_version, spec.code_dir) == ("train_mindspore_resnet_r1_8", "r1.8", "")
    assert spec.inputs[0].path == "/zgwtest/imagenet/"
    assert not said(described, "config.code-dir")
    for secret in (ACCESS_KEY, SECRET_KEY):
        assert secret not in kept(door.own)
        assert secret not in repr(described)
        assert secret not in repr(package)


def test_a_file_that_lost_its_name_says_so_and_is_named_after_the_file(door: Door) -> None:
    described = door.described("another one")
    workload = door.made("my package (2)")

    assert workload.name == "my_package_2"
    assert list(workload.versions) == ["1.8"]  # the engine tells it
    assert workload.framework == "MindSpore"
    assert said(described, "package.name")


def test_the_folder_in_an_archive_tells_the_name_too(door: Door) -> None:
    package = door.packages.unpack("download.tar.gz", io.BytesIO(packed(files(), root=f"{NAME}-single-0711")))

    assert package.name is not None
    assert package.name.framework_version == "r1.8"


def test_a_boot_file_that_is_not_there_is_asked_for(door: Door) -> None:
    text = config(ACCESS, job(boot_file="'/zgwtest/resnet/start.py'"))
    package = door.opened(text=text)

    (problem,) = said(door.packages.describe(package, Answers()), "package.boot-file")
    assert "'start.py' is not in code/code" in problem.message
    assert "train.py, src/net.py" in problem.hint

    described = door.packages.describe(package, Answers(boot_file="src/net.py"))
    assert described.workload is not None
    assert described.workload.boot_file == "src/net.py"


def test_an_engine_that_nothing_tells_is_asked_for(door: Door) -> None:
    text = config(ACCESS, job(framework_version="''"))

    assert said(door.described(OTHER, text=text), "package.engine")
    told = door.described(OTHER, Answers(engine_version=ENGINE), text=text)
    assert told.workload is not None
    assert told.workload.edition().engine_version == ENGINE
    assert not said(door.described(NAME, text=text), "package.engine")  # the shipped manifest knows it


@pytest.mark.parametrize("text", ["", "def f(:", "x" * 300_000], ids=["nothing", "no Python", "too large"])
def test_without_a_configuration_there_is_still_a_workload(door: Door, text: str) -> None:
    contents = files() | {"code/config/modelarts_config.py": text.encode()}
    if not text:
        del contents["code/config/modelarts_config.py"]
    package = door.packages.unpack(f"{NAME}.tar.gz", io.BytesIO(packed(contents)))

    described = door.packages.describe(package, Answers())

    assert said(described, "package.config")
    assert described.imported.specs[0].spec.workload == "train_mindspore_resnet_r1_8"
    assert described.workload is not None
    assert described.workload.parameters["epoch_size"].default == 90  # the shipped manifest's


def test_a_parameter_whose_name_no_manifest_accepts_is_left_out_and_said(door: Door) -> None:
    text = config(ACCESS, job(parameters="[{'name': 'a b', 'value': '1'}, {'name': 'c', 'value': '2'}]"))

    described = door.described(OTHER, text=text)

    assert [each.field for each in said(described, "package.parameter")] == ["parameters.a b"]
    assert described.workload is not None
    assert list(described.workload.parameters) == ["c"]


@pytest.mark.parametrize(
    ("name", "flavors", "flavor", "fields"),
    [
        (NAME, (ARM, X86), "arm", []),
        (NAME, (ARM, X86), "x86", ["flavor"]),
        (NAME, (X86,), "", ["flavor"]),
        (NAME, (ARM, X86), "", []),
        (NAME, (SILENT,), "silent", []),
        (NAME, (), "x86", []),
        (OTHER, (X86,), "", ["engine_version"]),
    ],
)
def test_another_architecture_than_the_packages_is_warned_of(
    door: Door, name: str, flavors: tuple[Flavor, ...], flavor: str, fields: list[str]
) -> None:
    text = config(ACCESS, job(train_instance_type="None"))

    described = door.packages.describe(door.opened(name, text=text), Answers(), flavors, flavor)

    assert [each.field for each in said(described, "package.architecture")] == fields
    assert described.workload is not None


def test_a_configuration_without_a_job_makes_a_draft_of_the_workload_alone(door: Door) -> None:
    described = door.described(text=f"from easydict import EasyDict as ed\n{ACCESS}\nsession_config_v2 = ed({{}})\n")

    (found,) = described.imported.specs
    assert (found.source, found.spec.workload) == ("", "train_mindspore_resnet_r1_8")
    assert described.workload is not None
    assert described.workload.boot_file == "train.py"


def test_the_script_beside_the_boot_file_tells_mode_and_log_levels_and_stays(door: Door) -> None:
    script = {"ma-pre-start.sh": "export SINGLESERVER_MODE=True\nexport GLOG_v=3\npip install run/*.whl\n"}

    package = door.opened(**script)
    described = door.packages.describe(package, Answers())

    spec = described.imported.specs[0].spec
    assert (spec.mode, spec.log_levels.mindspore) == (Mode.SINGLE_SERVER, "fatal")
    assert said(described, "config.pre-start")
    assert (package.code / "ma-pre-start.sh").read_text() == script["ma-pre-start.sh"]


def test_a_script_that_is_no_text_does_not_hide_the_configuration(door: Door) -> None:
    contents = files() | {"code/code/ma-pre-start.sh": b"\xff" * 9}
    package = door.packages.unpack(f"{NAME}.tar.gz", io.BytesIO(packed(contents)))

    assert [each.field for each in package.findings] == ["ma-pre-start.sh"]
    assert package.document is not None
