"""How two specs differ, field by field."""

from typing import Any

import pytest

from aisbench_core.model import (
    Channel,
    FieldDifference,
    Frozen,
    LogLevels,
    RunSpec,
    Update,
    Volume,
    find_differences,
    flatten_spec,
    unknown_fields,
)
from aisbench_core.model.spec_fields import fields_where
from tests.records import spec


def test_equal_specs_do_not_differ() -> None:
    assert find_differences(spec(), spec()) == ()


def test_each_field_that_differs_is_named_as_people_name_it() -> None:
    original = spec(inputs=[{"name": "data_url", "path": "/b/data/"}], environments={"GLOG_v": "2"})
    now = spec(
        node_count=2,
        parameters={"epoch_size": 90, "batch_size": 128},
        inputs=[{"name": "data_url", "path": "/b/other/", "access_method": "env"}],
        log_levels={"cann": "error"},
    )

    assert find_differences(original, now) == (
        FieldDifference("parameters.batch_size", 256, 128),
        FieldDifference("inputs.data_url", "/b/data/", "/b/other/"),
        FieldDifference("node_count", 1, 2),
        FieldDifference("environments.GLOG_v", "2", None),
        FieldDifference("inputs.data_url.access_method", None, "env"),
        FieldDifference("log_levels.cann", None, "error"),
    )


def test_an_output_that_is_downloaded_first_is_a_difference() -> None:
    before, after = (spec(outputs=[{"name": "train_url", "prefetch": prefetch}]) for prefetch in (False, True))

    assert find_differences(before, after) == (FieldDifference("outputs.train_url.prefetch", None, True),)


def test_a_number_and_its_text_are_different_answers_and_so_is_true() -> None:
    before = spec(parameters={"a": 90, "b": 1, "c": ""})
    after = spec(parameters={"a": "90", "b": True})

    assert [each.field for each in find_differences(before, after)] == ["parameters.a", "parameters.b", "parameters.c"]


def test_what_is_left_empty_is_not_set() -> None:
    assert find_differences(spec(), spec(pool_id="", update={"cann": ""}, volumes=[])) == ()
    assert "pool_id" not in flatten_spec(RunSpec(workload="w"))


def test_only_what_is_known_of_an_original_is_compared() -> None:
    known = {"workload", "node_count"}

    found = find_differences(spec(flavor="a"), spec(flavor="b", node_count=4), known)

    assert [each.field for each in found] == ["node_count"]
    assert "flavor" in unknown_fields(known)
    assert unknown_fields(None) == ()


# A value of each field that is not its default. A field that is new in a spec fails the test until it has one here,
# and then if a difference in it is lost.
SAMPLES: dict[type[Frozen], dict[str, Any]] = {
    Channel: {"path": "/b/o/", "access_method": "env", "prefetch": True, "local_dir": "/home/x"},
    Volume: {"server_path": "1.2.3.4:/", "pfs_path": "/b/p", "local_path": "/x", "read_only": True, "id": "v"},
    LogLevels: {"cann": "error", "mindspore": "error", "events": True, "stdout": False},
    Update: {"cann": "/a.run", "mindspore": "/a.whl", "protobuf": "/b.whl"},
}
CASES = [(kind, field) for kind in SAMPLES for field in kind.model_fields if (kind, field) != (Channel, "name")]


def with_part(kind: type[Frozen], **changes: object) -> RunSpec:
    """A spec with one channel, volume, … that has these values."""
    if kind is Channel:
        return spec(outputs=[{"name": "train_url", **changes}])
    if kind is Volume:
        return spec(volumes=[{"local_path": "/data", **changes}])
    return spec(**{"log_levels" if kind is LogLevels else "update": changes})


@pytest.mark.parametrize(("kind", "field"), CASES, ids=[f"{kind.__name__}.{field}" for kind, field in CASES])
def test_a_difference_in_one_part_of_a_field_alone_is_named(kind: type[Frozen], field: str) -> None:
    (found,) = find_differences(with_part(kind), with_part(kind, **{field: SAMPLES[kind][field]}))

    assert found.now not in (None, "")


def test_the_inputs_differ_like_the_outputs() -> None:
    before, now = spec(inputs=[{"name": "data_url"}]), spec(inputs=[{"name": "data_url", "local_dir": "/home/x"}])

    assert find_differences(before, now) == (FieldDifference("inputs.data_url.local_dir", None, "/home/x"),)


# What cannot change a result, and what is compared as something else: the code's hash, and how outputs are handled.
CANNOT_CHANGE_A_RESULT = {
    "name",
    "description",
    "log_path",
    "imported",
    "auto_stop_hours",
    "stop_when_stalled_minutes",
}
COMPARED_OTHERWISE = {"code_dir", "engine_name"}


def test_a_reproduction_compares_every_field_that_can_change_a_result() -> None:
    assert {*fields_where(lambda field: field.is_reproduced)} == {
        *RunSpec.model_fields
    } - CANNOT_CHANGE_A_RESULT - COMPARED_OTHERWISE
