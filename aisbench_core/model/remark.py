"""What people remark of a run after the fact: tags and a note. Every change is kept, so that none is lost."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from aisbench_core.messages import Message
from aisbench_core.model.run import Event, Level

NOTE_MOST, TAG_MOST, TAGS_MOST = 4000, 64, 50
"""Letters of a note, letters of a tag, tags of a run."""

BETWEEN_TAGS = ",;"
_COMMANDS = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Categories of letters that command a terminal, or break a line."""

_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Letters that turn the direction of the text around them."""


class RemarkKind(StrEnum):
    """What a person did: wrote the note, or added or removed a tag."""

    NOTE = "note"
    TAG = "tag"
    UNTAG = "untag"


@dataclass(frozen=True, slots=True, order=True)
class Remark:
    """One change: `text` is the whole new note, or the tag. The order is that of time."""

    at: datetime
    who: str
    kind: RemarkKind
    text: str


@dataclass(frozen=True, slots=True)
class Remarks:
    """All changes of one run, in order; for each tag, and for the note, the last one counts."""

    changes: tuple[Remark, ...] = ()

    @classmethod
    def of(cls, changes: Iterable[Remark]) -> "Remarks":
        """The changes, whoever kept them: each of them once."""
        return cls(tuple(sorted(set(changes))))

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that the run has, sorted."""
        last = {change.text: change.kind for change in self.changes if change.kind is not RemarkKind.NOTE}
        return tuple(sorted(tag for tag, kind in last.items() if kind is RemarkKind.TAG))

    @property
    def noted(self) -> Remark | None:
        """The change that the note was written with."""
        return next((change for change in reversed(self.changes) if change.kind is RemarkKind.NOTE), None)

    @property
    def note(self) -> str:
        """The note; empty when there is none."""
        return self.noted.text if self.noted else ""

    def timeline(self, run_id: str) -> list[Event]:
        """The changes as what happened to the run."""
        return [
            Event(run_id, change.at, "person", Level.INFO, _sentence(change), change.who) for change in self.changes
        ]


NOTHING = Remarks()
"""What is known of a run that nobody remarked anything of."""


def tag_complaint(tag: str) -> Message | Literal[""]:
    """What is wrong with a tag; empty if nothing is."""
    if not tag:
        return Message("must not be empty")
    if len(tag) <= TAG_MOST and any(letter in BETWEEN_TAGS for letter in tag):
        return Message("must hold no comma and no semicolon: they stand between tags")
    return _complaint(tag, tag, TAG_MOST)


def note_complaint(note: str) -> Message | Literal[""]:
    """What is wrong with a note; empty if nothing is."""
    return _complaint(note, note.replace("\n", "").replace("\t", ""), NOTE_MOST)


def _complaint(text: str, letters: str, most: int) -> Message | Literal[""]:
    """`letters`: those of the text that must not be commands."""
    if len(text) > most:
        return Message("must have at most {most} letters, and has {length}", most=most, length=len(text))
    return Message("must hold no control letters") if _has_commands(letters) else ""


def whole_note(person: str, imported: str) -> str:
    """A run's note: what people wrote, and then what the import had to say."""
    return "; ".join(part for part in (person, imported) if part)


def _has_commands(text: str) -> bool:
    return any(unicodedata.category(letter) in _COMMANDS or letter in _TURNING for letter in text)


def _sentence(change: Remark) -> Message:
    if change.kind is RemarkKind.NOTE:
        return Message("note changed")
    if change.kind is RemarkKind.TAG:
        return Message("tag added: {tag}", tag=change.text)
    return Message("tag removed: {tag}", tag=change.text)
