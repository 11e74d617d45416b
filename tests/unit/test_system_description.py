"""System descriptions: 33 fields and the tester's configuration, read from files that nobody documented."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aisbench_core.base.errors import ConfigError
from aisbench_core.domain.authoring.config_file import ConfigFile
from aisbench_core.domain.results.record import file_text
from aisbench_core.model import (
    FIELDS,
    GROUPS,
    SYSTEM_FIELDS,
    TESTER_FIELDS,
    Mode,
    Stated,
    complete_stated,
    known_from_job,
    stated_of,
)
from aisbench_core.running.systems.descriptions import RULES, StatedFields, SystemValues
from aisbench_core.running.systems.reading import read_fields
from tests.records import spec

RESEARCH = "Research/Development/Internal"
KEYS_OF_MLPERF = """
submitter division status system_name number_of_nodes host_processors_per_node host_processor_model_name
host_processor_core_count host_processor_vcpu_count host_processor_frequency host_processor_caches
host_processor_interconnect host_memory_capacity host_storage_type host_storage_capacity host_networking
host_networking_topology host_memory_configuration accelerators_per_node accelerator_model_name
accelerator_host_interconnect accelerator_frequency accelerator_on-chip_memories accelerator_memory_configuration
accelerator_memory_capacity accelerator_interconnect accelerator_interconnect_topology cooling hw_notes framework
other_software_stack operating_system sw_notes
"""


def found(content: Any, name: str = "system.json") -> StatedFields:
    """What one file states."""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return read_fields([ConfigFile(name, text.encode())])


def rules(what: StatedFields) -> list[tuple[str, str]]:
    return [(each.rule, each.field) for each in what.findings]


def test_the_description_has_the_33_keys_of_mlperf_in_their_order() -> None:
    written = json.loads(file_text(Stated(), SYSTEM_FIELDS, whole=True))

    assert list(written) == KEYS_OF_MLPERF.split()
    assert set(written.values()) == {""}


def test_the_testers_configuration_has_the_keys_that_upstream_prints() -> None:
    written = json.loads(file_text(stated_of({"test_id": "20210126-ljp0IY"}), TESTER_FIELDS, whole=True))

    assert list(written) == [
        "testid",
        "Mode",
        "Model",
        "Divsion",
        "Scenario",
        "test_object_type",
        "tester_server_ip",
        "tester_server_port",
    ]
    assert written["testid"] == "20210126-ljp0IY"


def test_every_field_is_in_one_group_and_says_what_it_means() -> None:
    grouped = [name for names in GROUPS.values() for name in names]

    assert sorted(grouped) == sorted(FIELDS)
    assert [name for name, field in FIELDS.items() if not (field.title and field.description)] == []


def test_what_was_written_is_read_again() -> None:
    values = {name: 7 if FIELDS[name].default is None else f"text of {name}" for name in FIELDS}
    stated = stated_of(values | {"division": "open", "status": "Preview"})
    files = [
        ConfigFile("system.json", file_text(stated, SYSTEM_FIELDS, whole=True).encode()),
        ConfigFile("config.json", file_text(stated, TESTER_FIELDS, whole=True).encode("gbk")),
    ]

    again = read_fields(files)

    assert again == StatedFields(stated.values, ())


def test_keys_are_known_by_their_words_wherever_they_stand() -> None:
    what = found({"Host": {"host memory-capacity": "768 GB", "HostNetworking": "8 x 100 Gbit/s"}, "Divison": "Close"})

    assert what.values == {
        "host_memory_capacity": "768 GB",
        "host_networking": "8 x 100 Gbit/s",
        "division": "closed",
    }
    assert what.findings == ()


def test_short_names_mean_the_test_in_config_json_only() -> None:
    content = {
        "testid": "t-1",
        "Mode": "training",
        "Model": "resnet50_v1.5",
        "Divsion": "close",
        "tester_server_port": "9527",
    }

    assert found(content, "config.json").values == {
        "test_id": "t-1",
        "test_mode": "training",
        "test_model": "resnet50_v1.5",
        "test_division": "close",
        "tester_server_port": 9527,
    }
    assert found(content, "anything.txt").values == found(content, "config.json").values
    assert rules(found({"Mode": "training"})) == [("system.unknown", "Mode")]


def test_numbers_and_lists_become_text_where_a_field_takes_text() -> None:
    what = found({"cooling": ["air", "liquid"], "operating_system": 2.8, "number_of_nodes": "16", "sw_notes": None})

    assert what.values == {"cooling": "air; liquid", "operating_system": "2.8", "number_of_nodes": 16}


def test_what_is_not_a_field_is_named_without_its_value() -> None:
    what = found({"cooling": "air", "rack": {"secret_key": "do-not-repeat"}})

    assert what.values == {"cooling": "air"}
    assert rules(what) == [("system.unknown", "rack.secret_key")]
    assert "do-not-repeat" not in str(what)
    assert not what.has_errors


def test_of_one_field_stated_twice_the_first_counts() -> None:
    what = found('{"cooling": "air", "Cooling": "liquid", "cooling": "none"}')

    assert what.values == {"cooling": "air"}
    assert rules(what) == [("system.duplicate", "cooling")] * 2


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("number_of_nodes", "many"),
        ("number_of_nodes", 0),
        ("number_of_nodes", 2.5),
        ("tester_server_port", 70_000),
        ("division", "both"),
        ("cooling", "x" * 2001),
        ("cooling", [["air"]]),
        ("cooling", "\ud800"),
    ],
)
def test_a_value_that_its_field_does_not_take_is_an_error(field: str, value: Any) -> None:
    what = read_fields([ConfigFile("system.json", json.dumps({field: value}).encode())])

    assert rules(what) == [("system.type", field)]
    assert what.has_errors
    assert what.values == {}


@pytest.mark.parametrize("order", [("status", "hw_notes"), ("hw_notes", "status")])
def test_a_status_that_is_not_known_is_kept_as_a_note(order: tuple[str, str]) -> None:
    values = {"status": "available", "hw_notes": "400 W"}

    what = read_fields([ConfigFile("system.json", json.dumps({name: values[name] for name in order}).encode())])

    assert not what.findings
    assert what.values == {"hw_notes": "400 W; status: available"}


@pytest.mark.parametrize(
    ("status", "values"),
    [(" ", {}), (" soon ", {"hw_notes": "status: soon"}), ("so\x00on", {"hw_notes": "status: so on"})],
)
def test_a_status_is_noted_as_text_is_kept(status: str, values: dict[str, str]) -> None:
    assert read_fields([ConfigFile("system.json", json.dumps({"status": status}).encode())]).values == values


def test_a_status_that_is_no_text_is_an_error() -> None:
    what = read_fields([ConfigFile("system.json", json.dumps({"status": "\ud800"}).encode())])

    assert rules(what) == [("system.type", "hw_notes")]


@pytest.mark.parametrize(
    ("word", "status"), [("Available cloud", "Available cloud"), ("onprem", "Available on-premise"), ("RDI", RESEARCH)]
)
def test_words_of_mlperf_for_a_status_are_understood(word: str, status: str) -> None:
    assert read_fields([ConfigFile("system.json", json.dumps({"status": word}).encode())]).values == {"status": status}


@pytest.mark.parametrize("text", ["", "[]", "7", '{"a"', "[" * 100_000, '{"number_of_nodes": ' + "9" * 5000 + "}"])
def test_a_file_that_holds_no_object_is_refused_in_words(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^system\.json"):
        found(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(FIELDS)) | st.text(), inner),
    max_leaves=12,
)


@given(content=JSON, name=st.sampled_from(["system.json", "config.json", "other"]))
def test_no_content_breaks_the_reading_and_what_is_read_can_be_stated(content: Any, name: str) -> None:
    try:
        what = read_fields([ConfigFile(name, json.dumps(content).encode())])
    except ConfigError:
        assert not isinstance(content, dict)
    else:
        assert stated_of(what.values).values == what.values


def test_every_finding_has_a_rule() -> None:
    assert {level.value for level, _ in RULES.values()} == {"info", "warning", "error"}
    assert all(expected.endswith(".") for _, expected in RULES.values())


def test_text_is_kept_printable() -> None:
    assert stated_of({"hw_notes": " a\x00b\nc\x1b[31m "}).system.hw_notes == "a b\nc [31m"


def test_counts_begin_at_one() -> None:
    with pytest.raises(ValidationError):
        stated_of({"number_of_nodes": 0})


def test_the_job_says_what_it_knows_and_nothing_else() -> None:
    known = known_from_job(spec(node_count=2), "MindSpore", "resnet50_v1.5", "Ascend 910")

    assert known.values == {
        "system_name": "modelarts.kat1.8xlarge",
        "number_of_nodes": 2,
        "accelerators_per_node": 8,
        "accelerator_model_name": "Ascend 910",
        "framework": "MindSpore r1.10",
        "other_software_stack": "mindspore_1.10.0-cann_6.0.1-py_3.7-euler_2.8.3-aarch64",
        "test_mode": "training",
        "test_model": "resnet50_v1.5",
        "test_object_type": "cluster",
    }
    assert known_from_job(spec(node_count=2, mode=Mode.SINGLE_SERVER), "", "", "").tester.test_object_type == "single"


def test_an_absurdly_long_name_of_an_image_is_cut_and_breaks_nothing() -> None:
    known = known_from_job(spec(image_url="i" * 9000), "", "", "")

    assert len(known.system.other_software_stack) == 2000


def test_what_is_stated_goes_before_what_the_job_says() -> None:
    known = known_from_job(spec(), "MindSpore", "", "Ascend")
    described = SystemValues(stated_of({"accelerator_model_name": "Ascend 910A", "cooling": "air"}), known)

    assert described.merged.system.accelerator_model_name == "Ascend 910A"
    assert described.merged == complete_stated(described.stated, known)
    assert described.counted == (7, 33)
    assert described.counted_from_job == 5
    assert "accelerator_model_name" not in described.job_fields


def test_a_statement_that_the_job_contradicts_is_said() -> None:
    described = SystemValues(stated_of({"number_of_nodes": 3}), known_from_job(spec(), "", "", ""))

    assert [(each.rule, each.field) for each in described.findings] == [("system.job", "number_of_nodes")]
