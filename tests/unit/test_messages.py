"""Sentences as data: said in both languages, stored with their values, and never guessed from their text."""

import ast
import copy
import pickle
import re
import string
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aisbench_core.base.errors import AisbenchError, CloudRejected, SpecError
from aisbench_core.base.messages import Message, choose_plural, in_chinese, join_parts, make_verbatim
from aisbench_core.base.messages.message import CATALOGUE, load_entries
from aisbench_core.base.messages.stored import from_json, to_json
from tests.source_tree import nodes_of, product

TRY_AGAIN = Message("try again")
ANYBODYS = ["all", "none", "running", "failed", "ValueError: all", "RuntimeError: none", "note: running", "{x}", "{"]
anything = st.one_of(st.text(), st.sampled_from(ANYBODYS))
"""What a job, a file or a person may have said."""


def templates() -> Iterator[tuple[str, str]]:
    """Every template of the product, with the place where it stands; fails where one is not a literal."""
    for file in product():
        if file.parent.name == "messages":
            continue
        for node in nodes_of(file, ast.Call):
            if not isinstance(node.func, ast.Name):
                continue
            where = f"{file.name}:{node.lineno}"
            given_ = {
                "Message": node.args[:1],
                "cached_message": node.args[:1],
                "Mismatch": node.args[:1],
                "choose_plural": node.args[1:3],
            }.get(node.func.id, [])
            for argument in given_:
                template = argument.value if isinstance(argument, ast.Constant) else None
                assert isinstance(template, str), f"{where}: the template of a Message is one literal"
                yield where, template


def values_of(template: str) -> set[str]:
    return set(re.findall(r"\{(\w+)(?:![rs])?(?::[,.\w]*)?\}", template))


def test_every_sentence_of_the_product_has_a_chinese_one() -> None:
    missing = [
        f"{where}: {template}"
        for where, template in templates()
        if ("", template) not in load_entries() and _words(template)
    ]

    assert missing == []


def _words(template: str) -> str:
    """What is left of a template without its values and its punctuation."""
    rest = "".join(text for text, *_ in string.Formatter().parse(template))
    return "".join(letter for letter in rest if letter.isalpha())


def test_a_chinese_sentence_has_the_values_of_its_english_one() -> None:
    different = [
        english
        for (context, english), chinese in load_entries().items()
        if not context and values_of(english) != values_of(chinese)
    ]

    assert different == []


def test_no_entry_of_the_catalogue_stands_there_twice() -> None:
    blocks = [block for block in CATALOGUE.read_text("utf-8").split("\n\n") if "msgid" in block]
    keys = [block.partition("msgstr")[0].partition("msg")[2] for block in blocks]

    assert sorted({key for key in keys if keys.count(key) > 1}) == []


def test_a_message_reads_as_its_english_sentence() -> None:
    said = Message("{path} has {count:,} lines", path="a.log", count=12345)

    assert said == "a.log has 12,345 lines"
    assert isinstance(said, str)


def test_a_message_is_said_in_chinese_with_its_values_as_they_are() -> None:
    said = Message("{message} ({hint})", message="ValueError: all", hint=TRY_AGAIN)

    assert in_chinese(said) == "ValueError: all（请重试）"


@given(anything)
def test_what_others_say_is_the_same_in_every_language(text: str) -> None:
    assert in_chinese(text) == text
    assert in_chinese(make_verbatim(text)) == text
    assert in_chinese(Message("{message} ({hint})", message=text, hint=text)) == f"{text}（{text}）"


@given(anything, st.one_of(st.integers(), st.floats(allow_nan=False), st.none(), st.booleans()))
def test_a_stored_message_comes_back_with_its_values(text: str, number: float | None) -> None:
    said = join_parts("; ", [Message("{a}: {b}", a=text, b=number), TRY_AGAIN, text])

    again = from_json(str(said), to_json(said))

    assert again == said
    assert isinstance(again, Message)
    assert in_chinese(again) == in_chinese(said)


@given(anything)
def test_a_text_that_is_no_message_is_stored_as_it_is(text: str) -> None:
    assert to_json(text) == ""
    assert from_json(text, to_json(text)) == text


@pytest.mark.parametrize("data", ["{", "[]", "1", '{"id": 3}', '{"id": "{x}", "values": {}}', '{"id": "else"}', "null"])
def test_data_that_does_not_fit_its_sentence_is_ignored(data: str) -> None:
    again = from_json("try again", data)

    assert again == "try again"
    assert not isinstance(again, Message)


def test_a_message_survives_copies_between_threads_and_processes() -> None:
    said = join_parts(", ", [TRY_AGAIN, choose_plural(2, "{number} run of {who}", "{number} runs of {who}", who="ann")])

    for again in (copy.deepcopy(said), pickle.loads(pickle.dumps(said)), copy.copy(said)):  # noqa: S301  # our own
        assert to_json(again) == to_json(said)
    assert said == "try again, 2 runs of ann"


def test_values_can_be_masked_without_losing_the_sentence() -> None:
    said = Message("{message} ({hint})", message="key s3cret refused", hint=join_parts(" ", [TRY_AGAIN, "s3cret"]))

    masked = said.with_texts(lambda text: text.replace("s3cret", "***"))

    assert masked == "key *** refused (try again ***)"
    assert in_chinese(masked) == "key *** refused（请重试 ***）"


def test_an_error_is_one_sentence_with_its_hint() -> None:
    error = AisbenchError(Message("try again"), Message("try again in a moment"))

    assert str(error) == "try again (try again in a moment)"
    assert in_chinese(error.sentence) == "请重试（请稍后重试）"


def test_an_error_of_the_cloud_keeps_the_words_of_the_cloud() -> None:
    error = CloudRejected(
        make_verbatim("all"), operation="create job", status=400, code="X.1", request_id="r1", hint=Message("try again")
    )

    assert str(error) == "create job: all [HTTP 400, X.1, request r1] (try again)"
    assert in_chinese(error.sentence).endswith("all [HTTP 400, X.1, request r1]（请重试）")


def test_errors_without_a_message_of_ours_say_what_they_were_given() -> None:
    assert str(AisbenchError(make_verbatim("all"))) == in_chinese(AisbenchError(make_verbatim("all")).sentence) == "all"
    assert str(SpecError(make_verbatim("spec"), [])) == "spec: "
