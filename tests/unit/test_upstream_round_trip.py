"""Out and in again: an exported configuration is one that the upstream tool can import, and it means the same."""

import runpy
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from aisbench_core.base.errors import ConfigError, SpecError
from aisbench_core.config.profile_files import save_profile
from aisbench_core.config.settings import Profile, Settings
from aisbench_core.domain.authoring.specfile import from_yaml, to_yaml
from aisbench_core.exchange.upstream.configs.contents import ImportedConfig, ImportedSpec
from aisbench_core.exchange.upstream.configs.writing import write_config
from aisbench_core.exchange.upstream.configurations import Configs
from aisbench_core.model import AccessMethod, Api, Channel, Level, Mode, RunSpec, Volume
from tests.unit.good_specs import profile
from tests.unit.upstream_files import ACCESS, V2_ENGINE, WORKLOADS, config, imported, session

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PATHS = st.from_regex(r"(/[a-z0-9.-]{1,12}){1,4}/?", fullmatch=True)
NAMES = st.sampled_from(["epoch_size", "train_steps", "distribute", "enable_modelarts", "device_num"]) | TEXT
VALUES = TEXT | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
NOT_SET = st.sampled_from([None, ""])
COMMENTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), max_size=30)
ENGINES = st.sampled_from(["MindSpore-1.3-cann_5.0.2", V2_ENGINE, "mindspore_2.2.12-cann_7.0.1.1-py_3.9", "other"])


def job(label: str) -> st.SearchStrategy[dict[str, Any]]:
    """The values of a dict that describes a job, as text in Python."""
    item = st.tuples(NAMES, VALUES, COMMENTS).map(
        lambda each: f"        # {each[2]}\n        {{'{label}': {each[0]!r}, 'value': {each[1]!r}}},\n"
    )
    return st.fixed_dictionaries(
        {
            "boot_file": PATHS | st.just("/b/code/train.py"),
            "framework_version": ENGINES | TEXT,
            "out_base_url": st.just("/bench/results/") | PATHS | NOT_SET | TEXT,
        },
        optional={
            "hyperparameters" if label == "label" else "parameters": st.lists(item, max_size=5).map(
                lambda items: f"[\n{''.join(items)}    ]"
            ),
            "inputs": NOT_SET | PATHS | TEXT,
            "code_dir": NOT_SET | PATHS | st.just("/b/code/"),
            "job_name": NOT_SET | TEXT,
            "framework_type": NOT_SET | TEXT | st.just("Ascend-Powered-Engine"),
            "pool_id": NOT_SET | TEXT,
            "train_instance_type": NOT_SET | TEXT | st.just("modelarts.kat1.4xlarge"),
            "train_instance_count": st.integers(-1, 5000) | st.none(),
            "nas_type": NOT_SET | st.just("nfs") | TEXT,
            "nas_share_addr": NOT_SET | TEXT,
            "nas_mount_path": NOT_SET | PATHS,
            "job_description_prefix": NOT_SET | TEXT,
        },
    )


GOOD = st.sampled_from(["obs.example", "cn-north-4", "0123456789abcdef"])
NEEDED, ENDPOINTS = ("server", "region_name", "project_id"), ("iam_endpoint", "obs_endpoint", "modelarts_endpoint")
ACCESSES = st.fixed_dictionaries(
    dict.fromkeys(NEEDED, GOOD), optional=dict.fromkeys(ENDPOINTS, NOT_SET | TEXT)
) | st.fixed_dictionaries(dict.fromkeys((*NEEDED, *ENDPOINTS), GOOD | TEXT))
"""A public cloud, with endpoints that are set by mistake, or a private one."""


def written(name: str, values: Mapping[str, Any]) -> str:
    """A dict of the file; a list of parameters is text already."""
    lists = ("hyperparameters", "parameters")
    lines = (f"    {key!r}: {value if key in lists else repr(value)},\n" for key, value in values.items())
    return f"{name} = ed({{\n{''.join(lines)}}})\n"


def same(found: ImportedConfig) -> tuple[Profile | None, tuple[ImportedSpec, ...]]:
    """What has to be the same after going out and in again."""
    return found.profile, found.specs


@pytest.mark.slow
@given(ACCESSES, job("label"), job("name"), st.sampled_from(["", *WORKLOADS.names()]))
@settings(max_examples=150, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_import_export_import_is_the_identity(
    access: dict[str, Any], v1: dict[str, Any], v2: dict[str, Any], workload: str
) -> None:
    text = config(written("access_config", access), written("session_config", v1), written("session_config_v2", v2))
    first = imported(text, workload=workload)
    assume(len(first.specs) == 2)

    again = imported(write_config(first.specs, first.profile), workload=workload)

    assert same(again) == same(first)
    assert [from_yaml(to_yaml(each.spec, each.comments)) for each in first.specs] == [each.spec for each in first.specs]
    assert not again.has_errors


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_the_example_means_the_same_after_going_out_and_in_again(ending: str) -> None:
    first = imported(config())

    again = imported(write_config(first.specs, first.profile).replace("\n", ending).encode("gbk"))

    assert same(again) == same(first)
    assert again.keys is None


# --- what the upstream tool meets ---------------------------------------------------------------------


def upstream(text: str, folder: Path) -> Any:
    """The configuration as the upstream tool imports it: as a module, with the real easydict."""
    file = folder / "modelarts_config.py"
    file.write_text(text, "utf-8")
    # Not `import`: bytecode counts as up to date if a file of the same size is written again within the same second.
    return SimpleNamespace(**runpy.run_path(str(file), run_name="modelarts_config"))


def test_an_exported_configuration_can_be_imported_and_holds_no_keys(tmp_path: Path) -> None:
    found = imported(config())

    module = upstream(write_config(found.specs, found.profile), tmp_path)

    assert type(module.access_config).__name__ == "EasyDict"
    assert (module.access_config.access_key, module.access_config.secret_access_key) == ("", "")
    assert module.access_config.server == "https://obs.cn-north-4.myhuaweicloud.com"
    assert module.session_config.hyperparameters[3] == {"label": "epoch_size", "value": "5"}
    v2 = module.session_config_v2
    assert v2.parameters[1] == {"name": "enable_modelarts", "value": "True"}
    assert v2.boot_file == f"{v2.code_dir}run_pretrain.py"
    assert (v2.train_instance_count, v2.pool_id) == (1, None)
    assert v2.train_instance_type == "modelarts.kat1.8xlarge"
    assert v2.out_base_url == "/zgwtest/lcm_test/result/"
    assert v2.framework_version == V2_ENGINE


@given(TEXT, st.dictionaries(TEXT.filter(lambda name: name.strip() != ""), TEXT, max_size=4), TEXT)
@settings(max_examples=50, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_of_a_spec_breaks_out_of_its_quotes(
    tmp_path: Path, name: str, parameters: dict[str, str], comment: str
) -> None:
    spec = RunSpec(
        workload="w", name=name, parameters=dict(parameters), outputs=(Channel(name="train_url", path="/b/"),)
    )
    comments = dict.fromkeys(spec.parameters, comment.replace("\0", ""))

    module = upstream(write_config([ImportedSpec("", spec, comments)], None), tmp_path)

    assert module.session_config_v2.job_name == spec.name
    assert {each.name: each["value"] for each in module.session_config_v2.parameters} == spec.parameters
    assert module.session_config == {}


# --- what a launch would send -------------------------------------------------------------------------


@pytest.fixture
def configs(tmp_path: Path) -> Configs:
    place = Settings(data_dir=tmp_path)
    save_profile(place, profile(flavor="modelarts.kat1.8xlarge"))
    return Configs(place, WORKLOADS)


def test_an_export_is_the_job_that_a_launch_would_create(configs: Configs, tmp_path: Path) -> None:
    spec = RunSpec(workload="mindspore_bert", framework_version="r1.8", cards_per_node=8)

    exported = configs.write(spec, "lab")

    job = upstream(exported.text, tmp_path).session_config_v2
    assert job.job_name == "mindspore_bert"
    assert job.train_instance_type == "modelarts.kat1.8xlarge"
    assert job.framework_version == "mindspore_1.8.0-cann_5.1.0-py_3.7-euler_2.8.3-aarch64"
    assert (job.code_dir, job.out_base_url) == ("/bench/aisbench/upstream/mindspore_bert/", "/bench/aisbench/output/")
    assert {"name": "save_checkpoint_steps", "value": "12000"} in job.parameters
    assert "        # Training steps; wins over epoch_size.\n" in exported.text
    assert exported.findings == ()


def test_what_has_no_place_upstream_is_named(configs: Configs) -> None:
    spec = RunSpec(
        workload="mindspore_bert",
        inputs=(Channel(name="other", path="/b/x/"), Channel(name="more", path="/b/y/")),
        outputs=(Channel(name="train_url", access_method=AccessMethod.ENV, local_dir="/home/out"),),
        environments={"GLOG_v": "3"},
        volumes=(Volume(server_path="a:/", local_path="/m", read_only=True),),
        auto_stop_hours=3,
        retries=1,
        priority=2,
        log_path="/b/log/",
        mode=Mode.SINGLE_SERVER,
    )

    named = {each.field: each.level for each in configs.write(spec, "lab").findings}

    assert named == dict.fromkeys(
        ("environments", "auto_stop_hours", "retries", "priority", "log_path", "inputs.more", "inputs.other",
         "outputs.train_url", "outputs.train_url.local_dir", "volumes", "mode"), Level.WARNING
    )  # fmt: skip


def test_a_custom_image_cannot_be_exported(configs: Configs) -> None:
    with pytest.raises(SpecError, match="custom image"):
        configs.write(RunSpec(workload="mindspore_bert", image_url="org/image:1", command="python x.py"), "lab")


def test_an_unknown_workload_cannot_be_exported(configs: Configs) -> None:
    with pytest.raises(ConfigError, match="no workload named"):
        configs.write(RunSpec(workload="nobody"), "lab")


def test_two_specs_for_one_dict_cannot_be_exported() -> None:
    (found,) = imported(config(ACCESS, session("session_config_v2"))).specs

    with pytest.raises(SpecError, match="same interface"):
        write_config([found, found], None)


def test_a_spec_for_the_sdk_goes_where_v2_goes() -> None:
    spec = RunSpec(workload="w", api=Api.SDK)

    text = write_config([ImportedSpec("", spec, {})], None)

    assert "session_config = ed({})" in text
