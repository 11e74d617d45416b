"""What somebody else says is never rewritten: neither alone, nor as a value in a sentence of ours."""

import re

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from aisbench_core.chinese import PLACEHOLDER, TEXTS, catalogue, event_in_chinese, in_chinese

WITH_VALUES = sorted(english for english in catalogue() if PLACEHOLDER.search(english))
SHORT = sorted(english for english in catalogue() if english.replace(" ", "").isalpha() and english.count(" ") == 0)
"""States, steps and other words of ours that others use as well: all, none, running…"""

STATES = tuple(f"{state}: " for state in yaml.safe_load((TEXTS / "states.zh.yaml").read_text("utf-8")))
"""What the core puts before sentences. Those that begin with a value begin with a name or a path, never like this."""

FRAGMENTS = [
    *SHORT,
    *("ValueError", "torch.OutOfMemoryError", "note", "my note", "Killed", "the stack", "/data/a b.txt", "[Errno 28]"),
    *(": ", "; ", " (", ")", ", ", " ", "\n", "'", '"', "{}", "{0}", "3", "-1.5", "多谢", "：", "x"),
]
"""What foreign texts and ours have in common, and what is between their parts."""

SAME_SHAPE: dict[str, list[str]] = {}
for each in WITH_VALUES:
    SAME_SHAPE.setdefault(PLACEHOLDER.sub("{}", each), []).append(catalogue()[each])


def filled(chinese: str, values: list[str]) -> str:
    """The Chinese sentence with its values as they are; a word is one of a few that the core itself puts there."""
    ours = [in_chinese(value) if f"{{{number}:word}}" in chinese else value for number, value in enumerate(values)]
    return re.sub(r":(said|word)\}", "}", chinese).format(*ours)


foreign = st.one_of(st.text(), st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join))
VALUES = {
    "": foreign.filter(bool),
    "n": st.integers(0, 10**6).map(str),
    "v": st.from_regex(r"\A[A-Za-z_]{1,12}\Z"),
    "k": st.sampled_from(["accuracy", "throughput_ratio"]),
    "f": st.sampled_from(["r1/events.jsonl", "metrics.jsonl"]),
    "w": st.from_regex(r"\A[^\s(){}:;,']{1,12}\Z"),
}


def splits(english: str, said: str, value: str) -> tuple[str, ...]:
    """The values in a text of this sentence, where each is matched by `value`: greedily, or as short as possible."""
    pattern = value.join(map(re.escape, PLACEHOLDER.sub("\0", english).split("\0")))
    found = re.fullmatch(pattern, said, re.DOTALL)
    return found.groups() if found else ()


@pytest.mark.parametrize(
    "said",
    [
        "ValueError: all",
        "note: running",
        "RuntimeError: no number (all)",
        "KeyError: 'none'",
        "AssertionError: is out of range",
        "the stack is empty",
        "run fast",
        "x: none; y: all",
        "budget: running (completed)",
        "left instead of right",
        "the file; running",
        "found it",
        "x is 3",
        "loss is nan",
        "train.py, line 3",
    ],
)
def test_a_foreign_text_stays_as_it_is(said: str) -> None:
    assert in_chinese(said) == said


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("failed: worker-0 ended with exit code 1: ValueError: all", "失败：worker-0 以退出码 1 结束：ValueError: all"),
        ("a.log cannot be read: ValueError: all", "a.log 无法读取：ValueError: all"),
        ("ann changed the note meanwhile; it says: note: running", "ann 已同时修改了备注，内容为：note: running"),
        ("a.yaml is not YAML: line 3: no: values", "a.yaml 不是 YAML：第 3 行：no: values"),
        ("OBS broke off: none (all); running", "OBS 中断：none (all); running"),
    ],
)
def test_a_foreign_text_in_a_sentence_stays_as_it_is(said: str, expected: str) -> None:
    assert in_chinese(said) == expected


@pytest.mark.parametrize(
    ("source", "said", "expected"),
    [
        ("follower", "failed: Killed", "失败：Killed"),
        ("follower", "running: 3 cells", "开始运行：3 cells"),
        ("follower", "queued: the job ended as Failed", "进入排队：the job ended as Failed"),
        ("follower", "failed: the job ended as Failed", "失败：作业以 Failed 结束"),
        ("cloud", "3 cells", "3 cells"),
        ("cloud", "failed: the job ended as Failed", "failed: the job ended as Failed"),
        ("person", "failed: Killed", "failed: Killed"),
    ],
)
def test_an_event_is_as_much_ours_as_its_source_is(source: str, said: str, expected: str) -> None:
    assert event_in_chinese(said, source) == expected


@given(foreign)
@example("running: ValueError: all")
def test_no_foreign_text_is_rewritten(said: str) -> None:
    if said not in catalogue():
        assert in_chinese(said) == said


@given(st.data())
def test_no_value_in_a_sentence_is_rewritten(data: st.DataObject) -> None:
    english = data.draw(st.sampled_from(WITH_VALUES))
    values = [data.draw(VALUES[kind]) for kind in PLACEHOLDER.findall(english)]
    # In front, `0: 0` reads as a name and a sentence about it, which only messages with values keep apart.
    assume(english[0] != "{" or not (values[0].startswith(STATES) or ": " in values[0]))
    # The separator itself at a value's edge, as in `a: : 0`, belongs to either side, which only messages keep apart.
    assume(all(value == value.strip(": ") for value in values))
    filling = iter(values)
    said = PLACEHOLDER.sub(lambda _: next(filling), english)
    # Other values give the same text, as do `a: b` with `c` and `a` with `b: c`: nobody can tell these sentences apart.
    assume(splits(english, said, "(.+)") == splits(english, said, "(.+?)"))

    assert in_chinese(said) in (said, *(filled(each, values) for each in SAME_SHAPE[PLACEHOLDER.sub("{}", english)]))
