"""Which framework version a configuration is for: parameters, then the package, then the engine decide."""

import pytest

from aisbench_core.exchange.upstream.configs.contents import ImportedConfig
from aisbench_core.model import Level
from tests.unit.upstream_files import V1_ENGINE, V2_ENGINE, imported, line_of, one, said, v2

BOOST, ACC = "resnet50_imagenet2012_Boost_config.yaml", "resnet50_imagenet2012_Acc_config.yaml"
AFTER_R13 = "r1.5, r1.7, r1.8, r1.9, r1.10, r2.0"


def configuration(boot_file: str, engine: str = V2_ENGINE, **parameters: str) -> str:
    items = ", ".join(f"{{'name': {name!r}, 'value': {value!r}}}" for name, value in parameters.items())
    return v2(
        parameters=f"[{items}]", boot_file=f"'/zgwtest/lcm_test/bert/{boot_file}'", framework_version=repr(engine)
    )


def bert(engine: str = V2_ENGINE, **parameters: str) -> str:
    return configuration("run_pretrain.py", engine, train_steps="12000", **parameters)


def resnet(engine: str = V2_ENGINE, **parameters: str) -> str:
    return configuration("train.py", engine, run_distribute="True", **parameters)


def engine_of(version: str) -> str:
    return f"mindspore_{version}.0-cann_5.1.0-py_3.7-euler_2.8.3-aarch64"


def package_of(workload: str, version: str) -> str:
    return f"/opt/train_huawei_train_mindspore_{workload}-Ais-Benchmark-Stubs-aarch64-1.0-{version}_modelarts/code"


def version_in(found: ImportedConfig) -> str:
    (each,) = found.specs
    return each.spec.framework_version


def contradictions(found: ImportedConfig) -> list[str]:
    return [each.message for each in said(found, "config.contradiction")]


def test_a_parameter_of_one_version_decides_against_the_engine() -> None:
    found = imported(bert(engine_of("1.8"), bert_network="large_acc"))

    assert version_in(found) == "r1.3"
    assert contradictions(found) == ["the engine implies version r1.8, but parameter bert_network implies r1.3"]


@pytest.mark.parametrize("engine", [V1_ENGINE, V2_ENGINE])
def test_a_stock_bert_configuration_of_later_code_is_not_taken_for_that_of_its_engine(engine: str) -> None:
    text = bert(engine, config_path="../../pretrain_config_Ascend_Boost.yaml")

    found = imported(text)

    undecided = one(found, "config.version")
    assert version_in(found) == ""
    assert (undecided.level, undecided.hint) == (Level.WARNING, f"choose one of: {AFTER_R13}")
    assert one(found, "config.contradiction").line == line_of(text, "'framework_version'")
    assert contradictions(found) == [f"the engine implies version r1.3, but parameter config_path implies {AFTER_R13}"]


def test_the_package_decides_where_parameters_leave_several_versions() -> None:
    text = bert(config_path="../../pretrain_config_Ascend_Boost.yaml")

    found = imported(text, package=package_of("bert", "r1.8"))

    assert version_in(found) == "r1.8"
    assert said(found, "config.version") == []
    assert len(contradictions(found)) == 1  # an engine of r1.3, whose MindSpore something has to replace
    assert "update" in one(found, "config.contradiction").hint


def test_parameters_decide_against_the_package() -> None:
    found = imported(bert(bert_network="large_acc"), package=package_of("bert", "r1.8"))

    assert version_in(found) == "r1.3"
    assert contradictions(found) == ["the package implies version r1.8, but parameter bert_network implies r1.3"]


def test_the_engine_decides_among_the_versions_that_are_left() -> None:
    found = imported(bert(engine_of("1.8"), config_path="../../pretrain_config_Ascend_Boost.yaml"))

    assert (version_in(found), contradictions(found)) == ("r1.8", [])


@pytest.mark.parametrize(("value", "version"), [(ACC, "r1.3"), (BOOST, "")])
def test_the_value_of_config_path_says_whether_resnet_is_of_r13(value: str, version: str) -> None:
    found = imported(resnet("mindspore_own", config_path=value))

    assert version_in(found) == version


def test_the_package_counts_more_than_a_value_that_every_version_takes() -> None:
    found = imported(resnet(engine_of("1.8"), config_path=ACC), package=package_of("resnet", "r1.8"))

    assert version_in(found) == "r1.8"
    assert contradictions(found) == ["the value of config_path implies version r1.3, but the package implies r1.8"]


def test_an_engine_of_a_release_that_no_version_is_for_never_becomes_the_newest_version() -> None:
    unknown = imported(resnet("MindSpore-1.2.0-c77"))
    known = imported(bert("MindSpore-1.2.0-c77", bert_network="large_acc"))

    assert one(unknown, "config.version").level is Level.WARNING
    assert version_in(known) == "r1.3"
    assert contradictions(known) == ["the engine implies version 1.2, but parameter bert_network implies r1.3"]


def test_a_package_of_an_unknown_version_does_not_silently_become_that_of_the_engine() -> None:
    found = imported(resnet(engine_of("1.8")), package=package_of("resnet", "r1.6"))

    assert version_in(found) == "r1.8"
    assert contradictions(found) == ["the package implies version r1.6, but the engine implies r1.8"]


def test_what_a_person_says_counts_most_and_contradictions_are_still_findings() -> None:
    found = imported(bert(bert_network="large_acc"), workload="mindspore_bert", framework_version="r1.8")

    assert version_in(found) == "r1.8"
    assert contradictions(found) == [
        "parameter bert_network implies version r1.3, but your choice implies r1.8",
        "the engine implies version r1.3, but your choice implies r1.8",
    ]


def test_a_configuration_that_agrees_with_itself_has_no_finding_about_versions() -> None:
    found = imported(bert(bert_network="large_acc"), package=package_of("bert", "r1.3"))

    assert version_in(found) == "r1.3"
    assert [each for each in found.findings if each.rule in ("config.version", "config.contradiction")] == []
