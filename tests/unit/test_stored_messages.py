"""Sentences in a database that anybody may have written: what does not fit is ignored, and costs nothing."""

import json
from typing import Any

import pytest

from aisbench_core.base.messages import Message, in_chinese
from aisbench_core.base.messages.stored import from_data, from_json, list_from_json, list_to_json

NESTED: dict[str, Any] = {"id": "x", "values": {}}
for _ in range(60):
    NESTED = {"id": "{a}{a}", "values": {"a": NESTED}}

HOSTILE = [
    {"id": "{a.__class__}", "values": {"a": "x"}},
    {"id": "{a[0]}", "values": {"a": "x"}},
    {"id": "{a:>999999999}", "values": {"a": "x"}},
    {"id": "{a:{a}}", "values": {"a": "9"}},
    {"id": "{0}", "values": {"a": "x"}},
    {"id": "{a}" * 1_000_000, "values": {"a": "x" * 1_000_000}},
    {"join": "x" * 1_000_000, "parts": ["a"] * 1_000_000},
    NESTED,
    {"id": "{a}", "values": {"a": ["x"]}},
    {"id": None, "values": {}},
    True,
    7,
    [],
]


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_data_of_somebody_else_changes_nothing_and_takes_no_memory(data: object) -> None:
    again = from_data("try again", data)

    assert again == "try again"
    assert not isinstance(again, Message)


def test_data_that_is_nested_too_deep_is_ignored() -> None:
    assert from_json("x", '{"id": "{a}", "values": {"a": ' * 5000 + '"x"' + "}}" * 5000) == "x"


def test_several_sentences_are_stored_in_one_column() -> None:
    said = [Message("{name} is missing", name="all"), "all"]

    again = list_from_json(list(map(str, said)), list_to_json(said))

    assert [in_chinese(text) for text in again] == ["缺少 all", "all"]


@pytest.mark.parametrize("data", [None, "", "{", "{}", "[]", "[null]", "7", json.dumps([True, NESTED])])
def test_sentences_without_data_that_fits_stay_as_they_are(data: str | None) -> None:
    assert list_from_json(["all", "try again"], data) == ["all", "try again"]


def test_where_none_of_several_sentences_is_ours_nothing_is_stored_of_them() -> None:
    assert list_to_json(["all", "none"]) == ""
