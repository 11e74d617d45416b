"""Workloads: what a registry offers, how a version changes a workload, and what a spec gets from a manifest."""

import os
import shutil
from collections.abc import Generator
from pathlib import Path, PosixPath
from typing import Any

import pytest
import yaml

from aisbench_core.base.errors import ConfigError, SpecError
from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.workloads import REPORTER, Workload, Workloads
from aisbench_core.model import Channel, RunSpec
from aisbench_sandbox.catalogue import find_engine
from tests.unit.good_manifest import MANIFEST

SHIPPED = Workloads(HOME / "workloads")


def write(folder: Path, name: str, answers: dict[str, Any] | str) -> Path:
    """A workload's manifest in a folder of workloads."""
    file = folder / name / "workload.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(answers if isinstance(answers, str) else yaml.safe_dump(answers, sort_keys=False), "utf-8")
    return file


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    """The workload `w` of the manifest above."""
    write(tmp_path, "w", MANIFEST)
    return Workloads(tmp_path).get("w")


def test_every_shipped_manifest_can_be_used() -> None:
    assert SHIPPED.problems() == []
    assert SHIPPED.names() == [
        "mindspore_bert",
        "mindspore_resnet",
        "pytorch_llm_pretrain",
        "pytorch_resnet_cifar",
        "quickstart_digits",
    ]


def test_every_shipped_workload_speaks_both_languages() -> None:
    for workload in SHIPPED.all():
        assert workload.title_zh
        assert workload.summary_zh
        for version in workload.versions:
            for name, parameter in workload.edition(version).parameters.items():
                assert parameter.help_zh, f"{workload.name}: {name}"
                assert bool(parameter.unit) == bool(parameter.unit_zh), f"{workload.name}: {name}"


def test_every_shipped_workload_can_be_rehearsed_with_the_engines_it_names() -> None:
    for workload in SHIPPED.all():
        for version in workload.versions:
            edition = workload.edition(version)
            assert find_engine("", edition.engine_name, edition.engine_version), f"{workload.name} {version}"


def test_the_mindspore_workloads_know_the_seven_published_versions() -> None:
    for name in ("mindspore_resnet", "mindspore_bert"):
        workload = SHIPPED.get(name)

        assert list(workload.versions) == ["r1.3", "r1.5", "r1.7", "r1.8", "r1.9", "r1.10", "r2.0"]
        assert workload.edition("r1.3").throughput_definition == "r13_warmup_excluded"
        assert {workload.edition(version).throughput_definition for version in list(workload.versions)[1:]} == {
            "build_then_all_int_s"
        }
        assert not workload.ships_code
        assert workload.reporter_files == ()


def test_resnet_starts_from_the_accuracy_configuration_in_r13_and_from_boost_afterwards() -> None:
    resnet = SHIPPED.get("mindspore_resnet")

    assert resnet.edition("r1.3").parameters["config_path"].default == "resnet50_imagenet2012_Acc_config.yaml"
    assert resnet.edition("r1.5").parameters["config_path"].default == "resnet50_imagenet2012_Boost_config.yaml"


def test_bert_names_its_network_in_r13_and_a_configuration_afterwards() -> None:
    bert = SHIPPED.get("mindspore_bert")

    assert bert.edition("r1.3").parameters["bert_network"].default == "large_acc"
    assert "config_path" not in bert.edition("r1.3").parameters
    assert "bert_network" not in bert.edition("r2.0").parameters


def test_a_version_replaces_adds_and_omits(workload: Workload) -> None:
    old, new = workload.edition("v1"), workload.edition()

    assert (old.parameters["epochs"].default, new.parameters["epochs"].default) == (7, 3)
    assert "cache" not in old.parameters
    assert (old.boot_file, new.boot_file) == ("old/train.py", "train.py")
    assert (old.throughput_definition, new.throughput_definition) == ("first", "second")
    assert new.version == "v2"


def test_a_workload_that_reads_no_data_set_requires_none(tmp_path: Path) -> None:
    write(tmp_path, "w", {**MANIFEST, "dataset": {"name": "made up", "input": ""}})

    with pytest.raises(SpecError, match=r"dataset\.optional: must be true where `input` is empty"):
        Workloads(tmp_path).get("w")


def test_an_unknown_version_names_the_known_ones(workload: Workload) -> None:
    with pytest.raises(ConfigError, match=r"no framework version 'v9'; known: v1, v2"):
        workload.edition("v9")


def test_filling_answers_what_the_spec_leaves_open(workload: Workload) -> None:
    spec = workload.fill_spec(RunSpec(workload="w", parameters={"epochs": 5}))

    assert spec.framework_version == "v2"
    assert spec.parameters == {"epochs": 5, "rate": 0.5, "mode": "a", "cache": False}
    assert (spec.engine_name, spec.engine_version) == ("Ascend-Powered-Engine", "e2")
    assert (spec.boot_file, spec.code_dir) == ("train.py", "")
    assert spec.inputs == (Channel(name="data_url"),)
    assert spec.outputs == (Channel(name="train_url"),)


def test_filling_keeps_every_answer_of_the_person(workload: Workload) -> None:
    mine = RunSpec(
        workload="w",
        framework_version="v1",
        parameters={"epochs": 1, "rate": 1.0, "mode": "b"},
        engine_name="PyTorch",
        engine_version="mine",
        boot_file="other.py",
        code_dir="/code",
        inputs=(Channel(name="data_url", path="/b/data/"),),
        outputs=(Channel(name="train_url", path="/b/out/"),),
    )

    assert workload.fill_spec(mine) == mine


def test_filling_twice_changes_nothing_more() -> None:
    for workload in SHIPPED.all():
        once = workload.fill_spec(RunSpec(workload=workload.name))

        assert workload.fill_spec(once) == once
        assert workload.check_parameters(once) == []


def test_a_custom_image_brings_its_own_engine_and_its_command_the_boot_file(workload: Workload) -> None:
    spec = workload.fill_spec(RunSpec(workload="w", image_url="lab/image:1", command="python /app/train.py"))

    assert (spec.engine_name, spec.engine_version, spec.boot_file, spec.code_dir) == ("", "", "", "")


def test_shipped_code_is_the_code_directory() -> None:
    quickstart = SHIPPED.get("quickstart_digits")

    spec = quickstart.fill_spec(RunSpec(workload="quickstart_digits"))

    assert (Path(spec.code_dir) / spec.boot_file).is_file()
    assert spec.inputs == ()
    assert [file.name for file in quickstart.reporter_files if file.is_file()] == [*REPORTER]


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"epoch": 1}, "parameters.epoch: is not a known parameter; allowed: epochs, rate, mode, cache (found 1)"),
        ({"epochs": "3"}, "parameters.epochs: must be a whole number (found '3')"),
        ({"epochs": 2.5}, "parameters.epochs: must be a whole number (found 2.5)"),
        ({"epochs": True}, "parameters.epochs: must be a whole number (found True)"),
        ({"epochs": 10}, "parameters.epochs: is out of range; allowed: 1 to 9 (found 10)"),
        ({"rate": "fast"}, "parameters.rate: must be a number (found 'fast')"),
        ({"rate": float("nan")}, "parameters.rate: is not a finite number (found nan)"),
        ({"mode": "c"}, "parameters.mode: is not allowed; allowed: 'a', 'b' (found 'c')"),
        ({"cache": 1}, "parameters.cache: must be true or false (found 1)"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_value_and_what_is_allowed(
    workload: Workload, parameters: dict[str, Any], problem: str
) -> None:
    problems = workload.check_parameters(RunSpec(workload="w", parameters=parameters))

    assert [str(found) for found in problems] == [problem]


def test_a_whole_number_passes_for_a_float(workload: Workload) -> None:
    assert workload.check_parameters(RunSpec(workload="w", parameters={"rate": 1})) == []


def test_facts_remember_what_decides_speed(workload: Workload) -> None:
    facts = workload.facts(RunSpec(workload="w", framework_version="v1", parameters={"mode": "b"}))

    assert facts.speed_parameters == {"epochs": 7, "mode": "b"}
    assert facts.throughput_definition == "first"
    assert (facts.accuracy_target, facts.accuracy_target_source) == (0.9, "inferred")
    assert facts.dataset == "D"


def test_one_broken_manifest_never_hides_the_others(tmp_path: Path) -> None:
    write(tmp_path, "good", MANIFEST)
    broken = write(tmp_path, "bad", MANIFEST | {"colour": "red"})
    unreadable = write(tmp_path, "ugly", "title: [\n")
    workloads = Workloads(tmp_path)

    assert workloads.names() == ["good"]
    assert [file for file, _ in workloads.problems()] == [broken, unreadable]
    with pytest.raises(SpecError, match=r"workload bad \(workload.yaml\): colour: is not a known key"):
        workloads.get("bad")
    with pytest.raises(ConfigError, match="not YAML: line 2"):
        workloads.get("ugly")


def test_an_unknown_workload_names_the_known_ones(tmp_path: Path) -> None:
    write(tmp_path, "w", MANIFEST)

    with pytest.raises(ConfigError, match=r"no workload named '\.\./w'; known workloads: w"):
        Workloads(tmp_path).get("../w")


def test_a_folder_without_workloads_is_empty_not_an_error(tmp_path: Path) -> None:
    assert Workloads(tmp_path / "nowhere").names() == []


def test_folders_that_start_with_an_underscore_are_not_workloads(tmp_path: Path) -> None:
    write(tmp_path, "_draft", MANIFEST)

    assert Workloads(tmp_path).names() == []


def test_an_edited_manifest_is_read_again(tmp_path: Path) -> None:
    file = write(tmp_path, "w", MANIFEST)
    workloads = Workloads(tmp_path)
    assert workloads.get("w").title == "T"

    write(tmp_path, "w", MANIFEST | {"title": "New"})
    os.utime(file, ns=(1, 1))

    assert workloads.get("w").title == "New"


def test_own_workloads_are_found_beside_the_shipped_ones_and_report_with_the_shipped_reporter(tmp_path: Path) -> None:
    write(tmp_path / "shipped", "w", MANIFEST)
    write(tmp_path / "own", "mine", MANIFEST | {"reporter": True})
    workloads = Workloads(tmp_path / "shipped", tmp_path / "own")

    assert workloads.names() == ["mine", "w"]
    assert [each.is_own for each in workloads.all()] == [True, False]
    assert workloads.get("mine").reporter_files[0] == tmp_path / "shipped" / "_reporter" / "aisbench_report.py"


def test_an_own_workload_never_hides_a_shipped_one_and_says_so(tmp_path: Path) -> None:
    write(tmp_path / "shipped", "w", MANIFEST)
    file = write(tmp_path / "own", "w", MANIFEST | {"title": "Mine"})
    workloads = Workloads(tmp_path / "shipped", tmp_path / "own")

    ((place, problem),) = workloads.problems()

    assert workloads.get("w").title == "T"
    assert workloads.names() == ["w"]
    assert place == file
    assert "is shipped" in str(problem)
    assert str(file.parent) in problem.hint


def test_one_folder_for_both_is_no_conflict(tmp_path: Path) -> None:
    write(tmp_path, "w", MANIFEST)

    assert Workloads(tmp_path, tmp_path).problems() == []


def test_a_manifest_that_goes_while_it_is_used_is_named(tmp_path: Path) -> None:
    file = write(tmp_path, "w", MANIFEST)
    workload = Workloads(tmp_path).get("w")
    file.unlink()

    with pytest.raises(ConfigError, match=r"w/workload.yaml cannot be read: No such file"):
        assert workload.manifest_sha256


class Listed(PosixPath):
    """A folder from which a workload is removed right after it was listed."""

    def glob(self, pattern: str) -> Generator["Listed", None, None]:
        found = list(super().glob(pattern))
        shutil.rmtree(self / "goes", ignore_errors=True)
        yield from found


def test_a_manifest_that_goes_while_the_folders_are_listed_hides_no_other(tmp_path: Path) -> None:
    write(tmp_path, "stays", MANIFEST)
    gone = write(tmp_path, "goes", MANIFEST)

    workloads = Workloads(Listed(tmp_path))

    assert [str(file) for file, _ in workloads.problems()] == [str(gone)]
    assert workloads.names() == ["stays"]


@pytest.mark.parametrize(
    ("name", "main"),
    [
        ("quickstart_digits", ("epochs", "batch_size", "hidden")),
        ("mindspore_bert", ("epoch_size", "train_steps", "data_sink_steps", "accumulation_steps")),
        ("pytorch_llm_pretrain", ("size", "parallel", "micro_batch", "recomputation")),
    ],
)
def test_the_main_parameters_are_the_first_numbers_that_decide_speed_and_then_choices(
    name: str, main: tuple[str, ...]
) -> None:
    assert Workloads(HOME / "workloads").get(name).edition().main_parameters == main
