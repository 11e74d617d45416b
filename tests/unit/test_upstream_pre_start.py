"""ma-pre-start.sh of the upstream tool: log levels and the mode come over, and go back in a script of our own."""

from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.errors import ConfigError
from aisbench_core.config.profile_files import save_profile
from aisbench_core.config.settings import Settings
from aisbench_core.domain.authoring.config_file import ConfigFile
from aisbench_core.exchange.upstream.configs.contents import ExportedConfig
from aisbench_core.exchange.upstream.configs.reading import read_document
from aisbench_core.exchange.upstream.configurations import Configs
from aisbench_core.model import Level, LogLevels, Mode, RunSpec
from tests.unit.good_specs import changed, code_folder, good_spec, profile
from tests.unit.upstream_files import WORKLOADS, config, imported, one, said

MANUALS = """#!/bin/bash
set -x
echo "Start to intall the run package"
LOCAL_DIR=$(cd "$(dirname "$0")";pwd)
TRAIN_PY_PATH=$(readlink -f `find ./ -name train.py`)
BASE_PATH=`dirname $TRAIN_PY_PATH`
pip install $BASE_PATH/run/mindspore_ascend*.whl
echo "replace origin mindspore packet!!! done ret:$? !!!"
sudo $CANN_RUN_PACKET --upgrade
# env set
export GLOG_v=3
    export ASCEND_GLOBAL_LOG_LEVEL=3  # 日志级别
export ASCEND_GLOBAL_EVENT_ENABLE=0
ASCEND_SLOG_PRINT_TO_STDOUT="0"
set +x
"""
CANN = "Ascend-cann-nnae_5.0.2.1_linux-aarch64.run"


def levels(script: str) -> LogLevels:
    (found,) = {each.spec.log_levels for each in imported(config(), pre_start=script).specs}
    return found


def exported(spec: RunSpec, place: Path) -> ExportedConfig:
    settings = Settings(data_dir=place / "data")
    save_profile(settings, profile())
    return Configs(settings, WORKLOADS).write(spec, profile().name)


def test_the_manuals_script_says_which_levels_and_that_it_does_more() -> None:
    found = imported(config(), pre_start=MANUALS)

    assert {each.spec.log_levels for each in found.specs} == {
        LogLevels.model_validate({"cann": "error", "mindspore": "fatal", "events": False, "stdout": False})
    }
    told = one(found, "config.pre-start")
    assert (told.level, told.line) == (Level.INFO, 2)
    assert "list packages under the spec's update" in told.hint


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("export ASCEND_GLOBAL_LOG_LEVEL=4", "cann", "none"),
        ("export GLOG_v=0", "mindspore", "info"),
        ("export GLOG_v=1\nexport GLOG_v=2", "mindspore", "error"),
        ("export ASCEND_GLOBAL_EVENT_ENABLE=1 ASCEND_SLOG_PRINT_TO_STDOUT=0", "events", True),
        ("GLOG_v=", "mindspore", None),
        ("# export GLOG_v=3", "mindspore", None),
        ("export GLOG_v=$LEVEL", "mindspore", None),
        ("echo 'two\nexport GLOG_v=3\nlines'", "mindspore", "fatal"),
    ],
)
def test_a_level_is_taken_by_its_number(line: str, field: str, value: object) -> None:
    assert getattr(levels(f"{line}\n"), field) == value


def test_a_number_that_means_nothing_is_an_error_with_its_line() -> None:
    told = one(imported(config(), pre_start="\nexport GLOG_v=7\n"), "config.type")

    assert (told.level, told.field, told.line) == (Level.ERROR, "ma-pre-start.sh.GLOG_v", 2)
    assert "allowed: 0, 1, 2, 3" in told.message


@pytest.mark.parametrize(
    ("shell", "mode"),
    [(None, Mode.SINGLE_SERVER), ("SINGLESERVER_MODE=False\n", Mode.CLUSTER), ("\n", Mode.SINGLE_SERVER)],
)
def test_the_mode_is_taken_from_it_where_the_shell_configuration_does_not_say(shell: str | None, mode: Mode) -> None:
    found = imported(config(), shell, "export SINGLESERVER_MODE=True\n")

    assert {each.spec.mode for each in found.specs} == {mode}


def test_two_scripts_of_one_kind_are_refused() -> None:
    script = ConfigFile("ma-pre-start.sh", b"")

    with pytest.raises(ConfigError, match=r"optionally with its config\.sh and ma-pre-start\.sh"):
        read_document([ConfigFile("modelarts_config.py", config().encode()), script, script])


# --- and back -----------------------------------------------------------------------------------------


@pytest.fixture
def resnet(tmp_path: Path) -> RunSpec:
    return good_spec(code_folder(tmp_path))


@pytest.mark.parametrize(
    "answers",
    [
        {"mode": "single_server"},
        {"log_levels": {"cann": "none", "mindspore": "warning", "events": True, "stdout": False}},
        {"log_levels": {"mindspore": "info"}, "mode": "single_server"},
    ],
)
def test_levels_and_mode_are_the_same_after_going_out_and_in_again(
    resnet: RunSpec, tmp_path: Path, answers: dict[str, Any]
) -> None:
    spec = changed(resnet, **answers)

    out = exported(spec, tmp_path)
    again = imported(out.text, pre_start=out.script)

    assert again.first
    assert (again.first.spec.mode, again.first.spec.log_levels) == (spec.mode, spec.log_levels)
    assert not said(again, "config.pre-start")
    assert not [each for each in again.findings if each.level is Level.ERROR]


def test_what_to_do_with_the_script_and_the_packages_is_said(resnet: RunSpec, tmp_path: Path) -> None:
    spec = changed(resnet, update={"cann": f"/p/{CANN}"}, log_levels={"cann": "info"})

    out = exported(spec, tmp_path)

    told = {each.field: each.hint for each in said_by(out)}
    assert "put it beside the boot file" in told["log_levels"]
    assert f"put {CANN} into run/" in told["update.cann"]
    assert f'run"/{CANN} --upgrade --quiet' in out.script
    assert "mindspore_resnet" in out.script


def test_a_spec_without_any_of_it_has_no_script(resnet: RunSpec, tmp_path: Path) -> None:
    assert exported(resnet, tmp_path).script == ""


def said_by(out: ExportedConfig) -> list[Any]:
    return [each for each in out.findings if each.rule == "config.pre-start"]
