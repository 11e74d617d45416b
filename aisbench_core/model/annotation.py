"""Annotations of runs: a name, tags, a note, and why one was set aside, as an append-only list of changes."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from aisbench_core.base.messages import Hint, Message
from aisbench_core.model.run import Event, Level

# Letters of a note, letters of a tag, tags of a run, letters of a name, letters of a reason.
MAX_NOTE, MAX_TAG, MAX_TAGS, MAX_NAME, MAX_REASON = 4000, 64, 50, 80, 500

PINNED = "pinned"
"""The tag of runs that stand first in the list of runs."""

TAG_SEPARATORS = ",;"
# Unicode categories that control terminals or break lines.
_CONTROL = frozenset({"Cc", "Cs", "Zl", "Zp"})

# Characters that change the direction of the text around them.
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class AnnotationKind(StrEnum):
    """Kind of a change: the name was given, the note written, a tag added or removed, or the run set aside."""

    NAME = "name"
    NOTE = "note"
    TAG = "tag"
    UNTAG = "untag"
    SET_ASIDE = "set_aside"


@dataclass(frozen=True, slots=True, order=True)
class AnnotationChange:
    """One change: `text` is the new name, the complete new note, the tag, or the reason for setting the run aside,
    which is empty when it counts again. Changes are ordered by time."""

    at: datetime
    who: str
    kind: AnnotationKind
    text: str


@dataclass(frozen=True, slots=True)
class Annotations:
    """All changes of one run, in order; the last one of the name, of the note and of each tag counts."""

    changes: tuple[AnnotationChange, ...] = ()

    @classmethod
    def of(cls, changes: Iterable[AnnotationChange]) -> "Annotations":
        """From changes of several sources, without duplicates."""
        return cls(tuple(sorted(set(changes))))

    @property
    def tags(self) -> tuple[str, ...]:
        """The current tags, sorted."""
        kinds = (AnnotationKind.TAG, AnnotationKind.UNTAG)
        last = {change.text: change.kind for change in self.changes if change.kind in kinds}
        return tuple(sorted(tag for tag, kind in last.items() if kind is AnnotationKind.TAG))

    @property
    def last_note(self) -> AnnotationChange | None:
        """The last change of the note."""
        return self._find_last(AnnotationKind.NOTE)

    @property
    def note(self) -> str:
        """The current note, or empty."""
        return self.last_note.text if self.last_note else ""

    @property
    def name(self) -> str:
        """The name that a person gave the run, or empty."""
        named = self._find_last(AnnotationKind.NAME)
        return named.text if named else ""

    @property
    def set_aside(self) -> AnnotationChange | None:
        """Who set the run aside, when and why; None if it was not, or counts again."""
        last = self._find_last(AnnotationKind.SET_ASIDE)
        return last if last and last.text else None

    @property
    def reason_set_aside(self) -> str:
        """Why the run was set aside, or empty."""
        return self.set_aside.text if self.set_aside else ""

    def _find_last(self, kind: AnnotationKind) -> AnnotationChange | None:
        return next((change for change in reversed(self.changes) if change.kind is kind), None)

    def timeline(self, run_id: str) -> list[Event]:
        """The changes as events of the run."""
        return [
            Event(run_id, change.at, "person", Level.INFO, _describe_change(change), change.who)
            for change in self.changes
        ]


NO_ANNOTATIONS = Annotations()


def tag_error(tag: str) -> Hint:
    """Why a tag is invalid; empty if it is valid."""
    if not tag:
        return Message("must not be empty")
    if len(tag) <= MAX_TAG and any(letter in TAG_SEPARATORS for letter in tag):
        return Message("must not contain commas or semicolons: they separate tags")
    return _find_error(tag, tag, MAX_TAG)


def name_error(name: str) -> Hint:
    """Why a name is invalid; empty if it is valid."""
    return _find_error(name, name, MAX_NAME)


def note_error(note: str) -> Hint:
    """Why a note is invalid; empty if it is valid."""
    return _find_error(note, note.replace("\n", "").replace("\t", ""), MAX_NOTE)


def reason_error(reason: str) -> Hint:
    """Why a reason for setting a run aside is invalid; empty if it is valid."""
    return _find_error(reason, reason, MAX_REASON) if reason else Message("must not be empty")


def _find_error(text: str, checked: str, limit: int) -> Hint:
    """`checked`: the text without the control characters that are allowed."""
    if len(text) > limit:
        return Message("must have at most {most} letters, and has {length}", most=limit, length=len(text))
    if any(unicodedata.category(letter) in _CONTROL or letter in _BIDI for letter in checked):
        return Message("must not contain control characters")
    return ""


def whole_note(person: str, imported: str) -> str:
    """A run's complete note: people's, then the import's."""
    return "; ".join(part for part in (person, imported) if part)


def _describe_change(change: AnnotationChange) -> Message:
    if change.kind is AnnotationKind.NOTE:
        return Message("note changed")
    if change.kind is AnnotationKind.NAME:
        return Message("named: {name}", name=change.text) if change.text else Message("name removed")
    if change.kind is AnnotationKind.SET_ASIDE:
        return Message("set aside: {reason}", reason=change.text) if change.text else Message("no longer set aside")
    if change.kind is AnnotationKind.TAG:
        return Message("tag added: {tag}", tag=change.text)
    return Message("tag removed: {tag}", tag=change.text)
