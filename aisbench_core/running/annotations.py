"""Names, tags, notes and reasons of set-aside runs, in the run's folder, if it is here, and in the warehouse."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from aisbench_core.base.errors import DamagedLedger, Problem, ResultError, RunNotFound, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import require_writable
from aisbench_core.config.settings import Settings
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import bind_content, note_values
from aisbench_core.domain.results.record import ANNOTATIONS_FILE, add_annotations, annotations_sha256, read_annotations
from aisbench_core.model import Actor, AnnotationChange, AnnotationKind, Annotations, Clock, Run, note_error, tag_error
from aisbench_core.model.annotation import MAX_TAGS, name_error, reason_error
from aisbench_core.store.audit.bound import ANNOTATIONS
from aisbench_core.store.ledger.deletions import DeletionLedger
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.parts import FolderPart
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.records.annotations import check_not_stale


@dataclass(frozen=True, slots=True)
class AnnotationService:
    """Reads and changes annotations. Threads may share it; methods about one run raise RunNotFound."""

    settings: Settings
    ledger: Ledger
    folders: RunFolders
    warehouse: Warehouse
    clock: Clock

    def of(self, run_id: str) -> Annotations:
        """All annotations of a run, of this console and others."""
        run = self._find_run(run_id)
        own = read_annotations(self._get_folder(run_id).path)
        if run and not run.state.is_terminal:  # an active run is not in the warehouse yet
            return own
        stored = self.warehouse.annotations.of([run_id]).get(run_id, Annotations())
        return Annotations.of([*own.changes, *stored.changes])

    def of_runs(self, runs: Sequence[Run]) -> Mapping[str, Annotations]:
        """Annotations by run id; those of runs that are not in the warehouse yet come from their folders."""
        ended = [run.run_id for run in runs if run.state.is_terminal]
        stored = self.warehouse.annotations.of(ended) if ended else {}
        here = [run.run_id for run in runs if run.run_id not in stored]
        self.folders.refresh(here, FolderPart.NOTES)
        return {run_id: read_annotations(self.folders.path(run_id).path) for run_id in here} | {**stored}

    def names(self, runs: Sequence[Run]) -> Mapping[str, str]:
        """The names that people gave, by run id. The warehouse is asked only about runs whose folder was removed."""
        self.folders.refresh([run.run_id for run in runs], FolderPart.NOTES)
        folders = {run.run_id: self.folders.path(run.run_id).path for run in runs}
        removed = [run_id for run_id, folder in folders.items() if not folder.is_dir()]
        stored = self.warehouse.annotations.of(removed) if removed else {}
        here = {run_id: _read_or_empty(folder) for run_id, folder in folders.items() if run_id not in stored}
        return {run_id: annotations.name for run_id, annotations in (here | {**stored}).items()}

    @permitted
    def rename(self, run_id: str, name: str, actor: Actor) -> Annotations:
        """Give the run a name; an empty one brings the default back. Raises SpecError on an invalid name."""
        name = name.strip()
        if error := name_error(name):
            raise SpecError(Message("the name of {run_id}", run_id=run_id), [Problem("name", error)])
        before = self.of(run_id)
        note_values(before.name, name)
        change = AnnotationChange(self.clock(), actor.name, AnnotationKind.NAME, name)
        after = self._add_changes(run_id, before, [change] if name != before.name else [], None)
        if self.ledger.has(run_id):
            self.ledger.set_name(run_id, name)
        return after

    @permitted
    def tag(self, run_id: str, add: Iterable[str], remove: Iterable[str], actor: Actor) -> Annotations:
        """Add and remove tags; what is already so is no change. Raises SpecError on an invalid tag."""
        before = self.of(run_id)
        added = [tag.strip() for tag in add]
        removed = [tag.strip() for tag in remove]
        problems = [Problem(repr(tag)[:80], why) for tag in added if (why := tag_error(tag))]
        after = (set(before.tags) | set(added)) - set(removed)
        if len(after) > MAX_TAGS:
            problems.append(Problem("tags", Message("a run has at most {most}", most=MAX_TAGS), str(len(after))))
        if problems:
            raise SpecError(Message("tags of {run_id}", run_id=run_id), problems)
        now, old = self.clock(), set(before.tags)
        note_values(", ".join(sorted(old)), ", ".join(sorted(after)))
        changes = ((AnnotationKind.TAG, after - old), (AnnotationKind.UNTAG, old - after))
        new = [AnnotationChange(now, actor.name, kind, tag) for kind, tags in changes for tag in sorted(tags)]
        every = self._add_changes(run_id, before, new, None)
        if self.ledger.has(run_id):
            self.ledger.set_tags(run_id, every.tags)
        return every

    @permitted
    def note(self, run_id: str, text: str, actor: Actor, since: datetime | None) -> Annotations:
        """Replace the note; an empty text removes it. `since`: the time of the note that the person saw.

        Raises SpecError on a note that is too long, and StaleRun when somebody wrote another one since."""
        text = text.replace("\r\n", "\n").strip()
        error = note_error(text)
        if error:
            raise SpecError(Message("the note of {run_id}", run_id=run_id), [Problem("note", error)])
        before = self.of(run_id)
        if text == before.note:
            return before
        note_values(before.note, text)
        change = AnnotationChange(self.clock(), actor.name, AnnotationKind.NOTE, text)
        return self._add_changes(run_id, before, [change], since)

    @permitted
    def set_aside(self, run_id: str, reason: str, actor: Actor) -> Annotations:
        """Leave the run out of statistics, for a reason that stands beside it; lists, reports and the rules about
        series still have it. Raises SpecError without a reason."""
        reason = " ".join(reason.split())
        if error := reason_error(reason):
            raise SpecError(Message("setting {run_id} aside", run_id=run_id), [Problem("reason", error)])
        return self._set_aside(run_id, reason, actor)

    @permitted
    def count_again(self, run_id: str, actor: Actor) -> Annotations:
        """Let a run that was set aside count again, if its checks do."""
        return self._set_aside(run_id, "", actor)

    def _set_aside(self, run_id: str, reason: str, actor: Actor) -> Annotations:
        before = self.of(run_id)
        deletion = DeletionLedger(self.ledger).find(run_id)
        if deletion and reason != deletion.reason:
            deleted = Message("it was deleted by {who}", who=deletion.who)
            raise SpecError(Message("run {run_id}", run_id=run_id), [Problem("reason", deleted)])
        note_values(before.reason_set_aside, reason)
        change = AnnotationChange(self.clock(), actor.name, AnnotationKind.SET_ASIDE, reason)
        return self._add_changes(run_id, before, [change] if reason != before.reason_set_aside else [], None)

    def _add_changes(
        self, run_id: str, before: Annotations, new: Sequence[AnnotationChange], since: datetime | None
    ) -> Annotations:
        if not new:
            return before
        check_not_stale(before, new, since)
        require_writable(self.settings.data_dir)
        self.folders.require_access()
        every = Annotations.of([*before.changes, *new])
        if self._is_recorded(run_id):
            every = self.warehouse.annotations.add(run_id, new, since)
            self.folders.update(run_id, [ANNOTATIONS_FILE], lambda: self._write_changes(run_id, every))
            return every
        self.folders.update(run_id, [ANNOTATIONS_FILE], lambda: self._write_changes(run_id, every))
        # Recorded on another machine meanwhile, perhaps without what was published only now.
        if self.folders.are_published and self._is_recorded(run_id):
            self.warehouse.annotations.add(run_id, new, None)
        return every

    def _write_changes(self, run_id: str, every: Annotations) -> None:
        folder = self.folders.path(run_id)
        if folder.path.is_dir():
            add_annotations(folder.path, every.changes)
            bind_content(ANNOTATIONS, annotations_sha256(read_annotations(folder.path).changes))

    def _is_recorded(self, run_id: str) -> bool:
        return self._get_folder(run_id).record.exists() or bool(self.warehouse.runs.select_recorded([run_id]))

    def _find_run(self, run_id: str) -> Run | None:
        """The ledger's run; None for one that only the warehouse, or its folder, has."""
        try:
            return self.ledger.get(run_id)
        except (RunNotFound, DamagedLedger):
            if self._get_folder(run_id).record.exists() or self.warehouse.runs.select_recorded([run_id]):
                return None
            raise

    def _get_folder(self, run_id: str) -> RunFolder:
        return self.folders.read(run_id)


def _read_or_empty(folder: Path) -> Annotations:
    try:
        return read_annotations(folder)
    except ResultError:  # a damaged file of one run hides no list of runs
        return Annotations()
