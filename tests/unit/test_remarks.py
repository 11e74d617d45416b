"""Tags and notes: of every change the latest counts, and hostile texts are only texts."""

from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.base.errors import ResultError
from aisbench_core.domain.results.record import add_annotations, read_annotations
from aisbench_core.model import AnnotationChange, AnnotationKind, Annotations, note_error, tag_error
from tests.records import T0

HOSTILE = ("it's", '"quoted"', "</script><b>", "=1+1", "🏁👨‍👩‍👧", "标签", "`a` [b](c) $x$")


def change(minute: int, kind: str, text: str, who: str = "ann") -> AnnotationChange:
    return AnnotationChange(T0 + timedelta(minutes=minute), who, AnnotationKind(kind), text)


def test_for_each_tag_and_for_the_note_the_last_change_counts() -> None:
    changes = [
        change(3, "untag", "draft"),
        change(1, "tag", "draft"),
        change(2, "tag", "baseline", "bob"),
        change(4, "note", "fan 3 was off"),
        change(5, "note", "", "bob"),
    ]

    known = Annotations.of([*changes, changes[0]])

    assert known.tags == ("baseline",)
    assert known.note == ""
    assert known.last_note == changes[-1]
    assert [event.message for event in known.timeline("r")] == [
        "tag added: draft", "tag added: baseline", "tag removed: draft", "note changed", "note changed",
    ]  # fmt: skip
    assert Annotations().note == ""


@pytest.mark.parametrize("tag", HOSTILE)
def test_odd_letters_are_letters(tag: str) -> None:
    assert tag_error(tag) == ""
    assert note_error(f"{tag}\n\t{tag}") == ""


@pytest.mark.parametrize("tag", ["", "a,b", "a;b", "a\nb", "a\x00b", "\x1b[31m", "x" * 65, "\u202egnp"])
def test_what_would_command_a_terminal_or_break_a_list_is_no_tag(tag: str) -> None:
    assert tag_error(tag)


def test_a_note_has_an_end() -> None:
    assert note_error("x" * 10_000) == "must have at most 4000 letters, and has 10000"
    assert note_error("a\x07") == "must not contain control characters"


def test_a_folder_keeps_each_change_once_and_names_a_damaged_line(tmp_path: Path) -> None:
    one, other = change(1, "tag", "a"), change(2, "note", "line\nline")

    add_annotations(tmp_path, [one])
    add_annotations(tmp_path, [one, other])

    assert read_annotations(tmp_path).changes == (one, other)
    assert (tmp_path / "annotations.jsonl").read_text("utf-8").count("\n") == 2
    (tmp_path / "annotations.jsonl").write_text("{\n", "utf-8")
    with pytest.raises(ResultError, match="line 1"):
        read_annotations(tmp_path)
