"""Annotations of runs: tags and a note, as an append-only list of changes."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from aisbench_core.messages import Hint, Message
from aisbench_core.model.run import Event, Level

# Letters of a note, letters of a tag, tags of a run.
MAX_NOTE, MAX_TAG, MAX_TAGS = 4000, 64, 50

TAG_SEPARATORS = ",;"
# Unicode categories that control terminals or break lines.
_CONTROL = frozenset({"Cc", "Cs", "Zl", "Zp"})

# Characters that change the direction of the text around them.
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class AnnotationKind(StrEnum):
    """Kind of a change: the note was written, or a tag added or removed."""

    NOTE = "note"
    TAG = "tag"
    UNTAG = "untag"


@dataclass(frozen=True, slots=True, order=True)
class AnnotationChange:
    """One change: `text` is the complete new note, or the tag. Changes are ordered by time."""

    at: datetime
    who: str
    kind: AnnotationKind
    text: str


@dataclass(frozen=True, slots=True)
class Annotations:
    """All changes of one run, in order; the last one of the note and of each tag counts."""

    changes: tuple[AnnotationChange, ...] = ()

    @classmethod
    def of(cls, changes: Iterable[AnnotationChange]) -> "Annotations":
        """From changes of several sources, without duplicates."""
        return cls(tuple(sorted(set(changes))))

    @property
    def tags(self) -> tuple[str, ...]:
        """The current tags, sorted."""
        last = {change.text: change.kind for change in self.changes if change.kind is not AnnotationKind.NOTE}
        return tuple(sorted(tag for tag, kind in last.items() if kind is AnnotationKind.TAG))

    @property
    def last_note(self) -> AnnotationChange | None:
        """The last change of the note."""
        return next((change for change in reversed(self.changes) if change.kind is AnnotationKind.NOTE), None)

    @property
    def note(self) -> str:
        """The current note, or empty."""
        return self.last_note.text if self.last_note else ""

    def timeline(self, run_id: str) -> list[Event]:
        """The changes as events of the run."""
        return [
            Event(run_id, change.at, "person", Level.INFO, _sentence(change), change.who) for change in self.changes
        ]


NO_ANNOTATIONS = Annotations()


def tag_error(tag: str) -> Hint:
    """Why a tag is invalid; empty if it is valid."""
    if not tag:
        return Message("must not be empty")
    if len(tag) <= MAX_TAG and any(letter in TAG_SEPARATORS for letter in tag):
        return Message("must not contain commas or semicolons: they separate tags")
    return _error(tag, tag, MAX_TAG)


def note_error(note: str) -> Hint:
    """Why a note is invalid; empty if it is valid."""
    return _error(note, note.replace("\n", "").replace("\t", ""), MAX_NOTE)


def _error(text: str, checked: str, limit: int) -> Hint:
    """`checked`: the text without the control characters that are allowed."""
    if len(text) > limit:
        return Message("must have at most {most} letters, and has {length}", most=limit, length=len(text))
    if any(unicodedata.category(letter) in _CONTROL or letter in _BIDI for letter in checked):
        return Message("must not contain control characters")
    return ""


def whole_note(person: str, imported: str) -> str:
    """A run's complete note: people's, then the import's."""
    return "; ".join(part for part in (person, imported) if part)


def _sentence(change: AnnotationChange) -> Message:
    if change.kind is AnnotationKind.NOTE:
        return Message("note changed")
    if change.kind is AnnotationKind.TAG:
        return Message("tag added: {tag}", tag=change.text)
    return Message("tag removed: {tag}", tag=change.text)
