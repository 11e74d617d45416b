"""How two specs differ, field by field."""

from aisbench_core.model import FieldDifference, RunSpec, differences, flat, unknown_fields
from tests.records import spec


def test_equal_specs_do_not_differ() -> None:
    assert differences(spec(), spec()) == ()


def test_each_field_that_differs_is_named_as_people_name_it() -> None:
    original = spec(inputs=[{"name": "data_url", "path": "/b/data/"}], environments={"GLOG_v": "2"})
    now = spec(
        node_count=2,
        parameters={"epoch_size": 90, "batch_size": 128},
        inputs=[{"name": "data_url", "path": "/b/other/", "access_method": "env"}],
        log_levels={"cann": "error"},
    )

    assert differences(original, now) == (
        FieldDifference("parameters.batch_size", 256, 128),
        FieldDifference("inputs.data_url", "/b/data/", "/b/other/"),
        FieldDifference("node_count", 1, 2),
        FieldDifference("environments.GLOG_v", "2", None),
        FieldDifference("inputs.data_url.access_method", None, "env"),
        FieldDifference("log_levels.cann", None, "error"),
    )


def test_an_output_that_is_downloaded_first_is_a_difference() -> None:
    before, after = (spec(outputs=[{"name": "train_url", "prefetch": prefetch}]) for prefetch in (False, True))

    assert differences(before, after) == (FieldDifference("outputs.train_url.prefetch", None, True),)


def test_a_number_and_its_text_are_different_answers_and_so_is_true() -> None:
    before = spec(parameters={"a": 90, "b": 1, "c": ""})
    after = spec(parameters={"a": "90", "b": True})

    assert [each.field for each in differences(before, after)] == ["parameters.a", "parameters.b", "parameters.c"]


def test_what_is_left_empty_is_not_set() -> None:
    assert differences(spec(), spec(pool_id="", update={"cann": ""}, volumes=[])) == ()
    assert "pool_id" not in flat(RunSpec(workload="w"))


def test_only_what_is_known_of_an_original_is_compared() -> None:
    known = {"workload", "node_count"}

    found = differences(spec(flavor="a"), spec(flavor="b", node_count=4), known)

    assert [each.field for each in found] == ["node_count"]
    assert "flavor" in unknown_fields(known)
    assert unknown_fields(None) == ()
