"""Specs as JSON of API v2 and as YAML of ma-cli, and back: the same, or what is not kept is named."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aisbench_core.config.profile_files import save_profile
from aisbench_core.config.settings import Settings
from aisbench_core.domain.authoring.config_file import ConfigFile
from aisbench_core.exchange.upstream.configs.contents import Hints
from aisbench_core.exchange.upstream.configurations import Configs
from aisbench_core.exchange.upstream.jobs.writing import JobForm
from aisbench_core.model import AccessMethod, Channel, LogLevels, RunSpec, Update, Volume, find_differences
from tests.unit.good_specs import profile
from tests.unit.upstream_files import WORKLOADS

NAMES = st.from_regex(r"[a-z][a-z_]{0,7}[a-z]", fullmatch=True)
TEXTS = st.from_regex(r"[A-Za-z0-9 .:'\"#{}\[\]\-/一二三]{0,20}", fullmatch=True).map(str.strip)
PATHS = st.from_regex(r"/[a-z]{3,8}/([a-z0-9]{1,6}/){1,3}", fullmatch=True)
CHANNELS = st.lists(st.builds(Channel, name=NAMES, path=PATHS), max_size=2, unique_by=lambda channel: channel.name)
KEPT = {
    "description": TEXTS,
    "parameters": st.dictionaries(NAMES, TEXTS, max_size=3),
    "inputs": CHANNELS,
    "boot_file": st.just("src/go.py"),
    "engine_name": st.just("Ascend-Powered-Engine"),
    "engine_version": st.just("mindspore_2.2.12-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt9b"),
    "node_count": st.integers(1, 64),
    "working_dir": st.just("/home/ma-user/go"),
    "local_code_dir": st.just("/home/ma-user/code"),
    "environments": st.dictionaries(NAMES.map(str.upper), TEXTS, max_size=3),
    "log_levels": st.builds(LogLevels, events=st.none() | st.booleans()),
    "log_path": PATHS,
    "environment_check": st.none() | st.booleans(),
}
"""What both forms hold."""

V2_ONLY = {
    "auto_stop_hours": st.none() | st.integers(1, 720),
    "retries": st.integers(0, 128),
    "retry_always": st.booleans(),
    "retry_on_hang": st.booleans(),
    "volumes": st.lists(st.builds(Volume, pfs_path=PATHS, local_path=PATHS), max_size=2),
}


def specs(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[RunSpec]:
    fixed = {"workload": "mindspore_bert", "framework_version": "r1.8", "imported": True, "code_dir": "/here"}
    place = {"flavor": "modelarts.kat1.8xlarge", "cards_per_node": 8}
    outputs = st.builds(Channel, name=st.just("train_url"), path=PATHS)
    optional = st.fixed_dictionaries({"outputs": st.tuples(outputs), "name": NAMES}, optional=fields)
    return optional.map(lambda values: RunSpec.model_validate({**fixed, **place, **values}))


@pytest.fixture(scope="module")
def configs(tmp_path_factory: pytest.TempPathFactory) -> Configs:
    place = Settings(data_dir=tmp_path_factory.mktemp("data"))
    save_profile(place, profile(flavor="modelarts.kat1.8xlarge"))
    return Configs(place, WORKLOADS)


def read_again(configs: Configs, text: str, spec: RunSpec) -> RunSpec:
    document = configs.read([ConfigFile("job", text.encode())])
    hints = Hints(spec.workload, spec.framework_version, code_dir=spec.code_dir)
    return configs.understand(document, hints).specs[0].spec


@given(specs({**KEPT, **V2_ONLY}))
@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_v2_gives_the_same_spec_back(configs: Configs, spec: RunSpec) -> None:
    exported = configs.write_job(JobForm.V2, spec, "lab")

    assert find_differences(spec, read_again(configs, exported.text, spec)) == ()
    assert exported.findings == ()


@given(specs(KEPT))
@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ma_cli_gives_the_same_spec_back(configs: Configs, spec: RunSpec) -> None:
    exported = configs.write_job(JobForm.MA_CLI, spec, "lab")

    assert find_differences(spec, read_again(configs, exported.text, spec)) == ()
    assert exported.findings == ()


@given(specs({**KEPT, **V2_ONLY}))
@settings(max_examples=40, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_ma_cli_does_not_keep_is_named(configs: Configs, spec: RunSpec) -> None:
    exported = configs.write_job(JobForm.MA_CLI, spec, "lab")

    lost = {each.field for each in find_differences(spec, read_again(configs, exported.text, spec))}
    assert {finding.field for finding in exported.findings} == lost


@pytest.mark.parametrize("form", JobForm)
def test_what_no_file_holds_is_named(configs: Configs, form: JobForm) -> None:
    spec = RunSpec(
        workload="mindspore_bert",
        framework_version="r1.8",
        secrets=("HF",),
        stop_when_stalled_minutes=30,
        update=Update(cann="/opt/Ascend-cann-toolkit_8.run"),
        flavor="modelarts.kat1.8xlarge",
        cards_per_node=4,
        priority=3,
        imported=True,
    )

    named = {finding.field for finding in configs.write_job(form, spec, "lab").findings}

    assert named >= {"secrets", "stop_when_stalled_minutes", "update.cann", "cards_per_node", "priority"}


def test_an_export_is_the_job_that_a_launch_would_create(configs: Configs) -> None:
    spec = RunSpec(workload="mindspore_bert", framework_version="r1.8", cards_per_node=8)

    v2 = json.loads(configs.write_job(JobForm.V2, spec, "lab").text)
    options = yaml.safe_load(configs.write_job(JobForm.MA_CLI, spec, "lab").text)

    assert v2["algorithm"]["boot_file"] == "/bench/aisbench/upstream/mindspore_bert/run_pretrain.py"
    assert {"name": "train_steps", "value": "12000"} in v2["algorithm"]["parameters"]
    assert (options["boot-file"], options["train-instance-type"]) == ("run_pretrain.py", "modelarts.kat1.8xlarge")
    assert {"train_steps": "12000"} in options["parameters"]


def test_an_image_with_its_command_goes_out_and_in_again(configs: Configs) -> None:
    spec = RunSpec(
        workload="mindspore_bert",
        framework_version="r1.8",
        name="go",
        image_url="lab/x:1",
        command="cd code && bash run.sh; sleep 1",
        conda_env="/home/ma-user/anaconda3/envs/a b",
        inputs=(Channel(name="d", path="/b/d/", access_method=AccessMethod.ENV, prefetch=True, local_dir="/home/d"),),
        code_dir="/here",
        imported=True,
    )

    exported = configs.write_job(JobForm.V2, spec, "lab")

    assert find_differences(spec, read_again(configs, exported.text, spec)) == ()


def test_keys_are_never_written(configs: Configs, tmp_path: Path) -> None:
    assert tmp_path.exists()
    for form in JobForm:
        assert "access" not in configs.write_job(form, RunSpec(workload="mindspore_bert", imported=True), "lab").text
