"""Values of a modelarts_config.py: each is taken with the right type, or named with its line."""

import pytest

from aisbench_core.model import Level, RunSpec, Volume
from tests.unit.upstream_files import imported, line_of, one, said, v2


def spec(text: str, **hints: str) -> RunSpec:
    """The only spec of a configuration."""
    (found,) = imported(text, **hints).specs
    return found.spec


@pytest.mark.parametrize(
    ("key", "written", "rule", "word"),
    [
        ("inputs", "['/b/a/']", "config.type", "a list"),
        ("inputs", "True", "config.type", "True"),
        ("job_name", "12", "config.type", "12"),
        ("pool_id", "{'a': 'b'}", "config.type", "a dict"),
        ("train_instance_count", "'2'", "config.type", "text"),
        ("train_instance_count", "True", "config.type", "True"),
        ("train_instance_count", "2.0", "config.type", "2.0"),
        ("train_instance_count", "0", "config.range", "0"),
        ("train_instance_count", "-1", "config.range", "-1"),
        ("train_instance_count", "99999", "config.range", "99999"),
        ("parameters", "{'epoch_size': '5'}", "config.type", "a dict"),
        ("parameters", "'epoch_size=5'", "config.type", "text"),
        ("boot_file", "'/elsewhere/run_pretrain.py'", "config.boot-file", "/elsewhere"),
        ("boot_file", "'/zgwtest/lcm_test/bert2/run_pretrain.py'", "config.boot-file", "bert2"),
    ],
)
def test_a_wrong_value_is_named_with_its_line_and_the_rest_is_taken(
    key: str, written: str, rule: str, word: str
) -> None:
    text = v2(**{key: written})

    found = imported(text, workload="mindspore_bert")

    finding = one(found, rule)
    assert (finding.field, finding.line) == (f"session_config_v2.{key}", line_of(text, f"'{key}':"))
    assert finding.level is Level.ERROR
    assert word in finding.message
    assert found.specs[0].spec.description == "lcm-debug desc"


@pytest.mark.parametrize(
    "item",
    ["'x'", "{'name': 'x'}", "{'label': 'x', 'value': '1'}", "{'name': '', 'value': '1'}",
     "{'name': 'x', 'value': '1', 'help': 'y'}", "{'name': 1, 'value': '1'}"],
)  # fmt: skip
def test_a_parameter_that_the_upstream_tool_would_not_understand_is_named(item: str) -> None:
    found = imported(v2(parameters=f"[\n{item},\n{{'name': 'epoch_size', 'value': '3'}}]"))

    finding = one(found, "config.type")
    assert finding.field == "session_config_v2.parameters[0]"
    assert finding.line == line_of(v2(parameters="["), "'parameters'") + 1
    assert found.specs[0].spec.parameters == {"epoch_size": 3}


def test_a_parameter_given_twice_is_named_with_both_lines() -> None:
    text = v2(parameters="[\n{'name': 'epoch_size', 'value': '3'},\n{'name': ' epoch_size', 'value': '4'}]")

    found = imported(text)

    first = line_of(text, "'3'")
    finding = one(found, "config.duplicate")
    assert (finding.field, finding.line) == ("session_config_v2.parameters.epoch_size", first + 1)
    assert f"first in line {first}" in finding.message
    assert found.specs[0].spec.parameters == {"epoch_size": 4}


@pytest.mark.parametrize(
    ("name", "written", "value"),
    [
        ("epoch_size", "'5'", 5),
        ("epoch_size", "5", 5),
        ("epoch_size", "'five'", "five"),
        ("epoch_size", "'5.0'", "5.0"),
        ("epoch_size", "''", ""),
        ("enable_modelarts", "'TRUE'", True),
        ("enable_modelarts", "False", False),
        ("enable_modelarts", "'yes'", "yes"),
        ("distribute", "'True'", "True"),
        ("not_in_the_manifest", "90", "90"),
        ("not_in_the_manifest", "'90'", "90"),
    ],
)
def test_a_parameter_has_the_workloads_type_where_its_text_allows(name: str, written: str, value: object) -> None:
    taken = spec(v2(parameters=f"[{{'name': '{name}', 'value': {written}}}]")).parameters[name]

    assert (type(taken), taken) == (type(value), value)


def test_a_parameter_without_a_value_is_left_to_the_workload() -> None:
    assert spec(v2(parameters="[{'name': 'epoch_size', 'value': None}]")).parameters == {}


@pytest.mark.parametrize(
    ("texts", "cards"),
    [
        ({"train_instance_type": "'modelarts.kat1.4xlarge'"}, 4),
        ({"train_instance_type": "'modelarts.kat1.xlarge'"}, 1),
        ({"train_instance_type": "'modelarts.bm.npu.arm.8snt9b3.d'"}, 8),
        ({"train_instance_type": "None", "pool_id": "'pool1'"}, None),
        ({"train_instance_type": "'new'", "parameters": "[{'name': 'device_num', 'value': '4'}]"}, None),
    ],
)
def test_the_flavor_tells_the_cards_of_a_node_and_else_they_are_asked_for(
    texts: dict[str, str], cards: int | None
) -> None:
    found = imported(v2(**texts))

    assert found.specs[0].spec.model_dump(exclude_unset=True).get("cards_per_node") == cards
    assert bool(said(found, "config.cards")) == (cards is None)


def test_the_training_code_is_told_the_cards_of_a_node_when_the_flavor_does_not_tell() -> None:
    text = v2(train_instance_type="'new'", parameters="[{'name': 'device_num', 'value': '4'}]")

    assert spec(text, workload="mindspore_resnet").cards_per_node == 4


def test_a_share_becomes_a_volume() -> None:
    shared = {"nas_share_addr": "'192.168.8.150:/'", "nas_mount_path": "'/mnt'"}

    whole = spec(v2(nas_type="'nfs'", **shared))

    assert whole.volumes == (Volume(server_path="192.168.8.150:/", local_path="/mnt"),)
    assert one(imported(v2(nas_type="'cifs'", **shared)), "config.volume").field == "session_config_v2.nas_type"
    assert one(imported(v2(nas_mount_path="'/mnt'")), "config.volume").field == "session_config_v2.nas_mount_path"
