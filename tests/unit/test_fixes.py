"""Fixes: what a finding proposes mends what it complains about, and nothing else."""

from pathlib import Path
from typing import Any

import pytest

from aisbench_core.domain.preflight.fixes import apply_fixes
from aisbench_core.domain.preflight.rules.names import LONGEST_NAME
from aisbench_core.model import Mode, RunSpec
from tests.unit.good_specs import DATA, changed, code_folder, found, good_spec

CUDA = "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"

MENDED: list[tuple[str, dict[str, Any], str, Any]] = [
    ("parameters.enable-modelarts", {"parameters": {"enable_modelarts": False}}, "parameters.enable_modelarts", True),
    ("parameters.value", {"parameters": {"bert_network": "large_acc"}}, "parameters.bert_network", None),
    ("parameters.checkpoint-epochs", {"parameters": {"epoch_size": 10}}, "parameters.save_checkpoint_epochs", 10),
    ("parameters.secret", {"parameters": {"config_path": "A1" * 10}}, "parameters.config_path", None),
    ("paths.directory", {"log_path": "/bench/logs"}, "log_path", "/bench/logs/"),
    ("paths.form", {"log_path": "obs://bench/logs/"}, "log_path", "/bench/logs/"),
    ("paths.form", {"log_path": "bench/logs/"}, "log_path", "/bench/logs/"),
    ("paths.form", {"inputs": [{"name": "data_url", "path": "/bench//in/"}]}, "inputs.data_url", "/bench/in/"),
    (
        "outputs.separate",
        {"outputs": [{"name": "train_url", "path": "/bench/imagenet/out/"}]},
        "outputs.train_url",
        "",
    ),
    (
        "image.arguments",
        {"image_url": "org/x:1", "command": "a || sleep 5h;", "boot_file": ""},
        "command",
        "a || sleep 5h; :",
    ),
    ("image.incomplete", {"image_url": "org/x:1"}, "engine_name", "Ascend-Powered-Engine"),
    ("resource.both", {"pool_id": "pool1"}, "flavor", ""),
    ("pool.priority", {"priority": 2}, "priority", 1),
    ("nodes.most", {"node_count": 17}, "node_count", 16),
    ("cards.flavor", {"cards_per_node": 4}, "cards_per_node", 8),
    ("retries.everywhere", {"retries": 4}, "retries", 3),
    ("api.available", {"api": "sdk"}, "api", "v2"),
    ("name.length", {"name": "n" * 64}, "name", "n" * LONGEST_NAME),
    ("description.length", {"description": "d" * 257}, "description", "d" * 256),
    ("environments.log-level", {"environments": {"GLOG_v": "warning"}}, "environments.GLOG_v", "1"),
    ("environments.reserved", {"environments": {"RANK_ID": "0"}}, "environments.RANK_ID", None),
    ("environments.secret", {"environments": {"MY_SK": "x"}}, "environments.MY_SK", None),
]


@pytest.fixture
def resnet(tmp_path: Path) -> RunSpec:
    """A spec that nothing is wrong with."""
    return good_spec(code_folder(tmp_path))


@pytest.mark.parametrize(("rule", "changes", "field", "value"), MENDED)
def test_a_fix_mends_what_its_finding_complains_about(
    resnet: RunSpec, rule: str, changes: dict[str, Any], field: str, value: Any
) -> None:
    broken = changed(resnet, **changes)
    findings = [each for each in found(broken) if each.rule == rule]

    mended = apply_fixes(broken, findings)

    assert _value(mended, field) == value
    assert rule not in {each.rule for each in found(mended)}
    others = {name for name in RunSpec.model_fields if name != field.partition(".")[0]}
    others -= {"secrets"} if rule == "environments.secret" else set()
    assert mended.model_dump(include=others) == broken.model_dump(include=others)


def test_the_variable_of_single_server_mode_becomes_the_mode(resnet: RunSpec) -> None:
    broken = changed(resnet, environments={"SINGLESERVER_MODE": "True", "KEPT": "1"})

    mended = apply_fixes(broken, found(broken))

    assert (mended.mode, dict(mended.environments)) == (Mode.SINGLE_SERVER, {"KEPT": "1"})


def test_a_variable_that_looks_like_a_key_becomes_a_secret(resnet: RunSpec) -> None:
    broken = changed(resnet, environments={"HF_TOKEN": "hf_0123456789abcdefghij", "KEPT": "1"}, secrets=["OTHER"])

    mended = apply_fixes(broken, found(broken))

    assert (mended.secrets, dict(mended.environments)) == (("OTHER", "HF_TOKEN"), {"KEPT": "1"})


def test_a_finding_without_a_fix_changes_nothing(resnet: RunSpec) -> None:
    broken = changed(resnet, engine_name="PyTorch", engine_version=CUDA, inputs=[*DATA, *DATA])

    assert apply_fixes(broken, found(broken)) == broken


def _value(spec: RunSpec, field: str) -> Any:
    place, _, name = field.partition(".")
    held = getattr(spec, place)
    if not name:
        return held
    if place in ("inputs", "outputs"):
        return next(each.path for each in held if each.name == name)
    return held.get(name)
