"""Tags and notes of runs: kept in the run's folder where it is here, and in the warehouse for everybody."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from aisbench_core.errors import DamagedLedger, Problem, RunNotFound, SpecError
from aisbench_core.messages import Message
from aisbench_core.model import Clock, Remark, RemarkKind, Remarks, Run, note_complaint, tag_complaint
from aisbench_core.model.remark import TAGS_MOST
from aisbench_core.read_only import require_writable
from aisbench_core.results.remarks import add_remarks, read_remarks
from aisbench_core.running.ledger import Ledger
from aisbench_core.running.places import RunFolder
from aisbench_core.settings import Settings
from aisbench_core.warehouse import Warehouse
from aisbench_core.warehouse.records.annotations import check_seen


class RemarkBook:
    """What people remark of runs. Threads may share it; every method about one run raises RunNotFound."""

    def __init__(self, settings: Settings, ledger: Ledger, warehouse: Warehouse, clock: Clock) -> None:
        self._settings = settings
        self._ledger = ledger
        self._warehouse = warehouse
        self._clock = clock

    def of(self, run_id: str) -> Remarks:
        """All that was remarked of a run, wherever that happened."""
        run = self._run(run_id)
        own = read_remarks(self._folder(run_id).path)
        if run and not run.state.is_terminal:  # nobody elsewhere knows it yet
            return own
        known = self._warehouse.people.remarks([run_id]).get(run_id, Remarks())
        return Remarks.of([*own.changes, *known.changes])

    def tags(self, run_ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """The tags of those of the runs that have any; of runs on their way those in their folders."""
        found = {run_id: remarks.tags for run_id, remarks in self._warehouse.people.remarks(run_ids).items()}
        here = {run_id: read_remarks(self._folder(run_id).path).tags for run_id in run_ids if run_id not in found}
        return {run_id: tags for run_id, tags in {**here, **found}.items() if tags}

    def tag(self, run_id: str, add: Iterable[str], remove: Iterable[str], who: str) -> Remarks:
        """Add tags, and remove others; what is so already is no change. Raises SpecError on what is no tag."""
        known = self.of(run_id)
        added = [tag.strip() for tag in add]
        removed = [tag.strip() for tag in remove]
        problems = [Problem(repr(tag)[:80], why) for tag in added if (why := tag_complaint(tag))]
        after = (set(known.tags) | set(added)) - set(removed)
        if len(after) > TAGS_MOST:
            problems.append(Problem("tags", Message("a run has at most {most}", most=TAGS_MOST), str(len(after))))
        if problems:
            raise SpecError(Message("tags of {run_id}", run_id=run_id), problems)
        now = self._clock()
        new = [Remark(now, who, RemarkKind.TAG, tag) for tag in sorted(after - set(known.tags))]
        new += [Remark(now, who, RemarkKind.UNTAG, tag) for tag in sorted(set(known.tags) - after)]
        return self._add(run_id, known, new, None)

    def note(self, run_id: str, text: str, who: str, seen: datetime | None) -> Remarks:
        """Write the note anew; empty text takes it away. `seen`: when the note was written that the person saw.

        Raises SpecError on a note that is too long, and StaleRun when somebody wrote another one since."""
        text = text.replace("\r\n", "\n").strip()
        complaint = note_complaint(text)
        if complaint:
            raise SpecError(Message("the note of {run_id}", run_id=run_id), [Problem("note", complaint)])
        known = self.of(run_id)
        if text == known.note:
            return known
        return self._add(run_id, known, [Remark(self._clock(), who, RemarkKind.NOTE, text)], seen)

    def _add(self, run_id: str, known: Remarks, new: Sequence[Remark], seen: datetime | None) -> Remarks:
        if not new:
            return known
        check_seen(known, new, seen)
        require_writable(self._settings.data_dir)
        every = Remarks.of([*known.changes, *new])
        folder = self._folder(run_id)
        if folder.record.exists() or self._warehouse.known([run_id]):
            every = self._warehouse.people.remark(run_id, new, seen)
        if folder.path.is_dir():
            add_remarks(folder.path, every.changes)
        return every

    def _run(self, run_id: str) -> Run | None:
        """The ledger's run; None for one that only the warehouse, or its folder, knows."""
        try:
            return self._ledger.get(run_id)
        except (RunNotFound, DamagedLedger):
            if self._folder(run_id).record.exists() or self._warehouse.known([run_id]):
                return None
            raise

    def _folder(self, run_id: str) -> RunFolder:
        return RunFolder(self._settings.runs_dir / Path(run_id).name)
