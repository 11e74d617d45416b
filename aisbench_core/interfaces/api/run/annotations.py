"""What people say about runs: name, tags, note, and why one was set aside, with who changed them and when."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, Field

from aisbench_core.base.errors import RunNotFound
from aisbench_core.base.messages import Message
from aisbench_core.interfaces.api.endpoint import ApiCall
from aisbench_core.model import AnnotationChange, Annotations, Frozen

Tag = Annotated[str, Field(max_length=200)]


class NameRequest(Frozen):
    """A run's new name."""

    name: Annotated[str, Field(max_length=400, description="At most 80 letters; empty: the default name.")]


class NoteRequest(Frozen):
    """A run's new note, in place of the one that was seen."""

    note: Annotated[str, Field(max_length=20_000, description="At most 4000 letters; empty removes the note.")]
    since: Annotated[
        AwareDatetime | None,
        Field(description="`noted_at` of the note that was read; if there is another one since, 409. Null: none."),
    ] = None


class ReasonRequest(Frozen):
    """Why a run is set aside."""

    reason: Annotated[str, Field(max_length=2000, description="At most 500 letters; empty: the run counts again.")]


class TagsRequest(Frozen):
    """Tags to add and to remove; what is already so is no change."""

    add: Annotated[tuple[Tag, ...], Field(max_length=100)] = ()
    remove: Annotated[tuple[Tag, ...], Field(max_length=100)] = ()


@dataclass(frozen=True, slots=True)
class RunAnnotations:
    """Name, tags and note of a run; `name` is empty unless somebody gave it one. `set_aside`: why it is in no
    statistic, empty if it may be. `changes`: all, oldest first."""

    run_id: str
    name: str
    tags: Sequence[str]
    note: str
    set_aside: str
    noted_at: Annotated[datetime | None, Field(description="When the note was last changed; null: never.")]
    changes: Sequence[AnnotationChange]


def show_annotations(call: ApiCall) -> RunAnnotations:
    """Name, tags and note of a run, with all changes."""
    run_id = _run_id(call)
    return _build_report(run_id, call.core.annotations.of(run_id))


def rename_run(call: ApiCall) -> RunAnnotations:
    """Give a run a name; an empty one brings the default back."""
    request: NameRequest = call.body
    run_id = _run_id(call)
    return _build_report(run_id, call.core.annotations.rename(run_id, request.name, call.actor))


def write_note(call: ApiCall) -> RunAnnotations:
    """Replace a run's note, unless somebody wrote another one since it was read."""
    request: NoteRequest = call.body
    run_id = _run_id(call)
    return _build_report(run_id, call.core.annotations.note(run_id, request.note, call.actor, request.since))


def set_run_aside(call: ApiCall) -> RunAnnotations:
    """Leave a run out of statistics, for a reason; with an empty one it counts again."""
    request: ReasonRequest = call.body
    run_id, annotations = _run_id(call), call.core.annotations
    if request.reason.strip():
        return _build_report(run_id, annotations.set_aside(run_id, request.reason, call.actor))
    return _build_report(run_id, annotations.count_again(run_id, call.actor))


def change_tags(call: ApiCall) -> RunAnnotations:
    """Add and remove tags of a run."""
    request: TagsRequest = call.body
    run_id = _run_id(call)
    return _build_report(run_id, call.core.annotations.tag(run_id, request.add, request.remove, call.actor))


def _run_id(call: ApiCall) -> str:
    """The whole id: the ledger knows prefixes, the warehouse imported runs by their whole ids."""
    core, run_id = call.core, call.path["run_id"]
    if run := core.ledger.find(run_id):
        return run.run_id
    if core.warehouse.runs.select_recorded([run_id]):
        return run_id
    core.ledger.get(run_id)  # raises: it says whether there are none or several
    raise RunNotFound(Message("there is no run {run_id!r}", run_id=run_id))


def _build_report(run_id: str, annotations: Annotations) -> RunAnnotations:
    last = annotations.last_note
    return RunAnnotations(
        *(run_id, annotations.name, annotations.tags, annotations.note, annotations.reason_set_aside),
        *(last.at if last else None, annotations.changes),
    )
