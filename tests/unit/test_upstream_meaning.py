"""What a modelarts_config.py means here: a profile, keys that stay apart, and a spec for each job."""

import pytest

from aisbench_core.base.errors import ConfigError
from aisbench_core.exchange.upstream.configs.contents import Hints, ImportedConfig
from aisbench_core.exchange.upstream.configs.service import interpret_document
from aisbench_core.model import Api, Channel, Level, RunSpec
from tests.unit.upstream_files import (
    ACCESS,
    ACCESS_KEY,
    PACKAGE,
    SECRET_KEY,
    V1_ENGINE,
    V2_ENGINE,
    WORKLOADS,
    config,
    document,
    imported,
    line_of,
    one,
    said,
    session,
    v2,
)


def spec(text: str, shell: str | None = None, **hints: str) -> RunSpec:
    """The only spec of a configuration."""
    (found,) = imported(text, shell, **hints).specs
    return found.spec


# --- the whole ----------------------------------------------------------------------------------------


def test_a_configuration_becomes_a_profile_keys_and_a_spec_for_each_job() -> None:
    found = imported(config())

    assert found.profile
    assert found.profile.model_dump(exclude_defaults=True) == {
        "name": "cn-north-4",
        "region": "cn-north-4",
        "project_id": "0123456789abcdef0123456789abcdef",
        "obs_server": "https://obs.cn-north-4.myhuaweicloud.com",
        "bucket": "zgwtest",
    }
    assert found.keys
    assert found.keys.access_key.get_secret_value() == ACCESS_KEY
    assert found.keys.secret_key.get_secret_value() == SECRET_KEY
    assert [(each.source, each.spec.api) for each in found.specs] == [
        ("session_config", Api.V1),
        ("session_config_v2", Api.V2),
    ]
    assert not found.has_errors


def test_a_job_becomes_a_spec_whose_parameters_have_the_workloads_types() -> None:
    assert spec(v2()) == RunSpec(
        imported=True,
        workload="mindspore_bert",
        framework_version="r1.3",
        parameters={
            "bert_network": "large_acc",
            "enable_modelarts": True,
            "distribute": "true",
            "epoch_size": 5,
            "train_steps": 12000,
            "enable_save_ckpt": "true",
            "enable_lossscale": "true",
            "do_shuffle": "true",
            "enable_data_sink": "true",
            "data_sink_steps": 100,
            "accumulation_steps": 1,
            "save_checkpoint_steps": 12000,
            "save_checkpoint_num": 1,
        },
        inputs=(Channel(name="data_url", path="/zgwtest/lcm_test/dataset/enwiki_small/"),),
        outputs=(Channel(name="train_url", path="/zgwtest/lcm_test/result/"),),
        boot_file="run_pretrain.py",
        engine_name="Ascend-Powered-Engine",
        engine_version=V2_ENGINE,
        flavor="modelarts.kat1.8xlarge",
        cards_per_node=8,
        name="aisbench-debug",
        description="lcm-debug desc",
    )


def test_the_two_example_jobs_differ_only_in_interface_and_engine() -> None:
    first, second = (each.spec for each in imported(config()).specs)

    assert first.engine_version == V1_ENGINE
    assert first.model_copy(update={"api": Api.V2, "engine_version": V2_ENGINE}) == second


def test_comments_on_parameters_survive() -> None:
    (found,) = imported(v2()).specs

    assert found.comments["train_steps"] == "参数 train_steps 的说明"


# --- profile and keys ---------------------------------------------------------------------------------


def test_keys_are_in_no_profile_no_spec_no_finding_and_no_text() -> None:
    found = imported(config())

    texts = [repr(found), str(found.profile), str(found.specs), str(found.findings)]
    assert not [text for text in texts if ACCESS_KEY in text or SECRET_KEY in text]


@pytest.mark.parametrize(
    "change",
    [
        {"job_name": f"'x-{ACCESS_KEY}'"},
        {"inputs": f"'/{SECRET_KEY}/'"},
        {"job_description_prefix": f"'{SECRET_KEY}'"},
        {"parameters": f"[{{'name': 'ak', 'value': '{ACCESS_KEY}'}}]"},
        {"parameters": f"[{{'name': '{ACCESS_KEY}', 'value': 'x'}}]"},
        {"parameters": f"[{{'name': 'x', 'value': 'x', '{SECRET_KEY}': f(x)}}]"},
        {f"sk_{SECRET_KEY}": "1"},
        {"parameters": f"[\n# sk {SECRET_KEY}\n{{'name': 'x', 'value': 'x'}}]"},
    ],
)
def test_a_key_that_is_repeated_elsewhere_is_left_out(change: dict[str, str]) -> None:
    text = v2(**change)

    texts = repr(document(text)) + repr(imported(text))
    assert ACCESS_KEY not in texts
    assert SECRET_KEY not in texts


def test_a_key_in_an_address_is_an_error_with_its_line() -> None:
    text = config(ACCESS.replace("'https://obs", f"'https://{SECRET_KEY}@obs"))

    found = imported(text)

    finding = one(found, "config.secret")
    assert (finding.field, finding.line) == ("access_config.server", line_of(text, "'server'"))
    assert found.profile is None
    assert SECRET_KEY not in repr(found)


def test_one_key_alone_is_not_imported() -> None:
    found = imported(config(ACCESS.replace(SECRET_KEY, "")))

    assert found.keys is None
    assert one(found, "config.keys").field == "access_config.secret_access_key"


def test_a_file_without_keys_says_nothing_about_them() -> None:
    found = imported(config(ACCESS.replace(SECRET_KEY, "").replace(ACCESS_KEY, "")))

    assert (found.keys, said(found, "config.keys")) == (None, [])


def test_a_profile_that_cannot_be_made_says_what_is_missing() -> None:
    access = ACCESS.replace("'cn-north-4'", "''").replace("'https://obs.cn-north-4.myhuaweicloud.com'", "None")

    found = imported(config(access, session("session_config_v2", out_base_url="''")))

    assert found.profile is None
    assert len(found.specs) == 1
    message = one(found, "config.profile").message
    assert message == "no profile can be created without region_name, server, out_base_url with a bucket"


def test_a_private_clouds_endpoints_are_taken_together_or_not_at_all() -> None:
    three = ACCESS
    for name in ("iam_endpoint", "obs_endpoint"):
        three = three.replace(f"'{name}': ''", f"'{name}': 'https://{name}.example'")
    two = three
    three = three.replace("'modelarts_endpoint' : ''", "'modelarts_endpoint' : 'https://modelarts.example'")

    whole, half = imported(config(three)), imported(config(two))

    assert whole.profile
    assert half.profile
    assert whole.profile.modelarts_endpoint == "https://modelarts.example"
    assert whole.profile.iam_endpoint == "https://iam_endpoint.example"
    assert (half.profile.modelarts_endpoint, half.profile.iam_endpoint) == ("", "")
    assert "modelarts_endpoint" in one(half, "config.endpoints").message


def test_an_endpoint_without_a_scheme_is_refused_where_it_stands() -> None:
    access = ACCESS
    for name in ("iam_endpoint'", "obs_endpoint'", "modelarts_endpoint' "):
        access = access.replace(f"'{name}: ''", f"'{name}: 'modelarts.example'")
    text = config(access)

    found = imported(text)

    assert found.profile is None
    refused = {each.field: (each.message, each.line) for each in said(found, "config.range")}
    assert refused.keys() == {
        f"access_config.{name}" for name in ("iam_endpoint", "obs_endpoint", "modelarts_endpoint")
    }
    message, line = refused["access_config.iam_endpoint"]
    assert message.startswith("must begin with https://, such as https://modelarts.example")
    assert line == line_of(text, "'iam_endpoint'")


@pytest.mark.parametrize(
    ("region", "name"), [("CN North 4", "cn-north-4"), ("cn_central_221", "cn_central_221"), ("武汉", "imported")]
)
def test_a_profile_is_named_after_its_region(region: str, name: str) -> None:
    profile = imported(config(ACCESS.replace("'cn-north-4'", repr(region)))).profile

    assert profile
    assert (profile.region, profile.name) == (region, name)


def test_a_profile_takes_the_name_that_a_person_gives() -> None:
    good, bad = imported(config(), profile="team"), imported(config(), profile="../../etc")

    assert good.profile
    assert good.profile.name == "team"
    assert bad.profile is None
    assert one(bad, "config.range").field == "access_config.name"


# --- which workload -----------------------------------------------------------------------------------


def resnet(engine: str, **changes: str) -> str:
    """A ResNet configuration."""
    boot = {"boot_file": "'/zgwtest/lcm_test/bert/train.py'", "framework_version": repr(engine)}
    return v2(**{"parameters": "[{'name': 'run_distribute', 'value': 'True'}]", **boot, **changes})


@pytest.mark.parametrize(
    ("engine", "version"),
    [
        ("mindspore_1.10.0-cann_6.0.1-py_3.7-euler_2.8.3-aarch64", "r1.10"),
        ("mindspore_1.8.1-cann_5.1.1-py_3.7-euler_2.8.3-aarch64", "r1.8"),
        ("MindSpore-1.5-cann_5.0.3-python3.7-euleros2.8-aarch64", "r1.5"),
    ],
)
def test_boot_file_and_engine_tell_workload_and_version(engine: str, version: str) -> None:
    found = spec(resnet(engine))

    assert (found.workload, found.framework_version) == ("mindspore_resnet", version)


def test_an_engine_of_another_version_leaves_the_version_open() -> None:
    found = imported(resnet("mindspore_9.9.0-cann_9"))

    assert found.specs[0].spec.framework_version == ""
    assert found.specs[0].spec.engine_version == "mindspore_9.9.0-cann_9"
    assert "r1.3" in one(found, "config.version").hint


def test_a_boot_file_that_tells_nothing_leaves_the_workload_to_the_person() -> None:
    text = v2(boot_file="'/zgwtest/lcm_test/bert/own.py'")

    asked, answered = imported(text), imported(text, workload="mindspore_bert", framework_version="r1.3")

    finding = one(asked, "config.workload")
    assert (finding.level, finding.line) == (Level.WARNING, line_of(text, "'boot_file'"))
    assert (asked.specs[0].spec.workload, asked.has_errors) == ("unknown", False)
    assert "mindspore_bert" in finding.hint
    assert answered.specs[0].spec.boot_file == "own.py"


def test_the_package_names_workload_and_version() -> None:
    path = f"/opt/bench/{PACKAGE}-single-0711/code/config/modelarts_config.py"

    found = spec(v2(boot_file="'/zgwtest/lcm_test/bert/own.py'"), package=path)

    assert (found.workload, found.framework_version) == ("mindspore_resnet", "r1.8")


@pytest.mark.parametrize("hints", [{"workload": "nobody"}, {"framework_version": "r9"}])
def test_a_person_who_names_what_does_not_exist_is_told(hints: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="known"):
        interpret_document(document(v2()), WORKLOADS, Hints(**hints))


def test_the_local_code_directory_is_asked_for_and_taken() -> None:
    asked, told = imported(v2()), imported(v2(), code_dir="/opt/code")

    assert one(asked, "config.code-dir").level is Level.INFO
    assert (told.specs[0].spec.code_dir, said(told, "config.code-dir")) == ("/opt/code", [])


# --- all findings ---------------------------------------------------------------------------------------


def test_the_findings_stand_in_the_order_of_the_file() -> None:
    found: ImportedConfig = imported(v2(inputs="1", job_name="2", train_instance_count="'3'"))

    lines = [each.line for each in found.findings if each.line]

    assert lines == sorted(lines)
    assert len(set(found.findings)) == len(found.findings)
