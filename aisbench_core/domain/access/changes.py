"""What a change is about: one log line for each, and what the audit stores beside who made it."""

import logging
from contextvars import ContextVar
from dataclasses import dataclass, field

from aisbench_core.model import Actor

LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class ChangeNotes:
    """What a change under way says of itself: sentences, and values before and after it."""

    sentences: list[str] = field(default_factory=list)
    before: str = ""
    after: str = ""


NOTES: ContextVar[ChangeNotes | None] = ContextVar("notes of the change under way", default=None)


def log_change(actor: Actor, change: str) -> None:
    """Log who changed what. `change` names things by id or name, and holds no value that somebody typed as a secret."""
    LOG.info("%s (%s): %s", actor.name, actor.via, change)
    if notes := NOTES.get():
        notes.sentences.append(change)


def bind_content(what: str, sha256: str) -> None:
    """For the audit: the hash of what the change left behind, such as a file that goes on changing."""
    if notes := NOTES.get():
        notes.sentences.append(f"{what} {sha256}")


def note_values(before: object, after: object) -> None:
    """For the audit: what was there before the change, and what is there now. No secrets."""
    if notes := NOTES.get():
        notes.before, notes.after = str(before), str(after)
