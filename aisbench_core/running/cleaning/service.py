"""Removes jobs, outputs, logs and folders of ended runs: first a plan with sizes, then what the plan names."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from aisbench_core.base import formats
from aisbench_core.base.errors import CloudError, CloudNotFound, ConfigError, Problem, ResultError, SpecError, StaleRun
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import require_writable
from aisbench_core.cloud.ports import Cloud, Connect, ObjectStore, OnProgress
from aisbench_core.config.settings import Settings
from aisbench_core.domain.access import permitted
from aisbench_core.domain.results.record import read_annotations, read_record, read_stated, write_record
from aisbench_core.model import TERMINAL, Actor, Clock, Event, Removal, Run, RunPart, RunRecord
from aisbench_core.running.cleaning import folders
from aisbench_core.running.cleaning.own_paths import has_overlap, own_directories
from aisbench_core.running.cleaning.plans import CleaningPlan, Obstacle, RemovalItem
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.parts import RECORD_FILES, FolderPart
from aisbench_core.store.run_folders.removals import read_removals, write_removals
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.store.seals.service import Seals

PAGE = 500
IN_OBS = (RunPart.OUTPUTS, RunPart.LOGS)


@dataclass(frozen=True, slots=True)
class Cleaning:
    """Threads and processes may share it. Every method about one run raises RunNotFound.

    `record` stores a run in the warehouse again; doing so twice changes nothing."""

    settings: Settings
    ledger: Ledger
    run_folders: RunFolders
    interactive: Connect
    record: Callable[[RunRecord], None]
    seals: Seals
    clock: Clock

    def plan(self, run_id: str, parts: Collection[RunPart] = tuple(RunPart)) -> CleaningPlan:
        """What these parts hold, and which of them must stay; nothing is changed. Raises CloudError, ConfigError."""
        run = self.ledger.get(run_id)
        return _merge_plans(run, [self._plan_part(run, part, parts) for part in RunPart if part in parts])

    def survey(self, run_id: str, parts: Collection[RunPart] = tuple(RunPart)) -> CleaningPlan:
        """Like `plan`, but a part that cannot be looked up, as its region does not answer, is one that stays."""
        run = self.ledger.get(run_id)
        found: list[CleaningPlan] = []
        for part in (part for part in RunPart if part in parts):
            try:
                found.append(self._plan_part(run, part, parts))
            except (CloudError, ConfigError, ResultError) as error:
                found.append(CleaningPlan(run.run_id, obstacles=(Obstacle(part, error.sentence),)))
        return _merge_plans(run, found)

    def due(self) -> Iterator[CleaningPlan]:
        """A survey of each run that the settings keep no longer, oldest first."""
        for run, parts in self._iterate_overdue():
            yield self.survey(run.run_id, parts)

    def removals(self, run_id: str) -> tuple[Removal, ...]:
        """What was removed of a run, oldest first. Raises ResultError on a damaged account."""
        return read_removals(self.run_folders.read(run_id, FolderPart.REMOVALS))

    @permitted
    def clean(self, plan: CleaningPlan, actor: Actor, on_progress: OnProgress = lambda *_: None) -> list[Removal]:
        """Remove what a plan names, in its order; after an interruption, plan and clean again.

        `on_progress`: objects done and planned. Raises SpecError for what must stay, StaleRun if more is there than the
        plan says, ResultError if the record was changed by something else, ReadOnlyFolder and CloudError."""
        require_writable(self.settings.data_dir)
        run = self.ledger.get(plan.run_id)
        self._check_plan(run, plan)
        done = []
        with self.seals.seal_changes(run.run_id, RECORD_FILES, actor):
            for item in plan.items:
                # StaleRun if it is collected again since it was checked; and that is refused from here on.
                run = self.ledger.advance(run, run)
                done.append(self._remove_item(run, item, actor, on_progress))
            self._add_to_record(run)
        return done

    def _plan_part(self, run: Run, part: RunPart, parts: Collection[RunPart]) -> CleaningPlan:
        """The plan for one of the parts."""
        try:
            if not run.state.is_terminal:
                raise _make_refusal(run, "state", Message("the run has not ended: it is {state}", state=run.state))
            if part in IN_OBS and not set(IN_OBS) <= set(parts):
                self._require_distinct(run)
            return CleaningPlan(run.run_id, tuple(self._list_items(run, part)))
        except SpecError as error:
            return CleaningPlan(run.run_id, obstacles=(Obstacle(part, error.problems[0].message),))

    def _list_items(self, run: Run, part: RunPart) -> list[RemovalItem]:
        """What a part holds. Raises SpecError if it must stay."""
        if part is RunPart.FOLDER:
            published = self.run_folders.removable(run.run_id, folders.is_removable)
            folder = self._get_folder(run.run_id)
            found = [RemovalItem(part, str(folder.path), *folders.count_removable(folder, published))]
        elif part is RunPart.JOB:
            found = self._find_job(run)
        else:
            cloud = self.interactive(run.profile, run.spec.api)
            paths = own_directories(run, cloud.profile, part)
            self._require_unused(run, paths)
            found = [RemovalItem(part, path, *_count_objects(cloud.objects, path)) for path in paths]
        begun = {removal.path for removal in self.removals(run.run_id) if removal.ended_at is None}
        return [item for item in found if item.objects or item.path in begun]

    def _find_job(self, run: Run) -> list[RemovalItem]:
        item = RemovalItem(RunPart.JOB, run.job_name, 0, 0)
        if not run.job_id:
            return [item]
        try:
            status = self.interactive(run.profile, run.spec.api).training.detail(run.job_id)
        except CloudNotFound:
            return [item]
        if not status.has_ended:
            raise _make_refusal(run, "job", Message("the job has not ended: it is {phase}", phase=status.phase))
        if status.name != run.job_name:
            raise _make_refusal(
                run, "job", Message("the region has another job with this id: {name}", name=status.name)
            )
        return [replace(item, objects=1)]

    def _require_unused(self, run: Run, paths: Sequence[str]) -> None:
        """Raises SpecError if another run or series needs what is in these directories, such as a checkpoint."""
        users = self.ledger.find_references(run.run_id)
        # An input can also be a directory above, such as that of all outputs.
        users += [
            other.run_id
            for other in self.ledger.active()
            if other.run_id != run.run_id
            and has_overlap(paths, [channel.path for channel in other.spec.inputs if channel.path])
        ]
        if users:
            raise _make_refusal(run, "outputs", Message("{run_id} uses files of this run", run_id=users[0]))

    def _check_plan(self, run: Run, plan: CleaningPlan) -> None:
        """Everything that `plan` refuses is refused again, whoever made the plan, and whatever changed meanwhile."""
        parts = list(dict.fromkeys(item.part for item in plan.items))
        fresh = self.plan(run.run_id, parts)
        if obstacles := plan.obstacles or fresh.obstacles:
            problems = [Problem(obstacle.part, obstacle.reason) for obstacle in obstacles]
            raise SpecError(Message("run {run_id}", run_id=run.run_id), problems)
        held = {(item.part, item.path): item for item in fresh.items}
        for item in plan.items:
            if item.path not in self._list_own_paths(run, item.part):
                raise _make_refusal(run, item.part, Message("{path} is not this run's own", path=item.path))
            now = held.get((item.part, item.path), item)
            if now.objects > item.objects or now.size > item.size:
                message = Message("{path} holds more than was shown", path=item.path)
                raise StaleRun(message, Message("look at the sizes again"))

    def _list_own_paths(self, run: Run, part: RunPart) -> tuple[str, ...]:
        if part is RunPart.FOLDER:
            return (str(self._get_folder(run.run_id).path),)
        if part is RunPart.JOB:
            return (run.job_name,)
        return own_directories(run, self.interactive(run.profile, run.spec.api).profile, part)

    def _require_distinct(self, run: Run) -> None:
        """Raises SpecError if the spec sends logs and outputs to one directory, which then go together or not."""
        if has_overlap(*(self._list_own_paths(run, part) for part in IN_OBS)):
            raise _make_refusal(run, "logs", Message("logs and outputs are in one directory: remove both, or neither"))

    def _remove_item(self, run: Run, item: RemovalItem, actor: Actor, on_progress: OnProgress) -> Removal:
        begun = self._begin_removal(run, item, actor)
        if item.part is RunPart.FOLDER:
            self.seals.remove_files(run.run_id, folders.is_removable, actor)
            folders.empty_folder(self._get_folder(run.run_id))
            self.run_folders.remove(run.run_id, self.run_folders.removable(run.run_id, folders.is_removable).keys())
        else:
            cloud = self.interactive(run.profile, run.spec.api)
            self._remove_remote(cloud, run, item, on_progress)
        on_progress(item.objects, item.objects)
        ended = replace(begun, ended_at=self.clock())
        self.ledger.note(Event.by(actor, run.run_id, ended.ended_at or self.clock(), _describe_removal(ended)))
        self._store_removal(run.run_id, begun, ended)
        return ended

    def _remove_remote(self, cloud: Cloud, run: Run, item: RemovalItem, on_progress: OnProgress) -> None:
        if item.part is RunPart.JOB:
            if item.objects:
                cloud.training.delete(run.job_id)
            return
        done = 0
        for page in cloud.objects.pages(item.path):
            # A proxy that ignores the prefix must not empty the bucket.
            foreign = next((stat.path for stat in page if not stat.path.startswith(item.path)), None)
            if foreign is not None:
                raise _make_refusal(run, item.part, Message("{path} is not this run's own", path=foreign))
            cloud.objects.delete_many([stat.path for stat in page])
            done += len(page)
            on_progress(min(done, item.objects), item.objects)

    def _begin_removal(self, run: Run, item: RemovalItem, actor: Actor) -> Removal:
        """Store that the removal began, before anything is gone; an interrupted one goes on."""
        for removal in self.removals(run.run_id):
            if (removal.part, removal.path, removal.ended_at) == (item.part, item.path, None):
                return removal
        removal = Removal(item.part, item.path, item.objects, item.size, actor.name, self.clock())
        self._store_removal(run.run_id, removal, removal)
        return removal

    def _store_removal(self, run_id: str, before: Removal, after: Removal) -> None:
        def write() -> None:
            folder = self._get_folder(run_id)
            write_removals(folder, [*(one for one in read_removals(folder) if one != before), after])

        self.run_folders.update(run_id, [FolderPart.REMOVALS], write)

    def _add_to_record(self, run: Run) -> None:
        """Add the events to the run's record, from which the warehouse gets them."""
        record = self.run_folders.update(run.run_id, RECORD_FILES, lambda: self._with_events(run))
        if record:
            folder = self._get_folder(run.run_id)
            described, annotations = read_stated(folder.path), read_annotations(folder.path)
            self.record(replace(record, described=described, annotations=annotations))

    def _with_events(self, run: Run) -> RunRecord | None:
        """Write events of removals into the run's record; None if there are no new ones, or no record."""
        folder = self._get_folder(run.run_id)
        if not folder.record.exists():
            return None
        try:
            record = read_record(folder.record, folder.metrics, folder.events)
        except ResultError:  # a damaged record stays as it is: `aisbench collect` writes it anew
            return None
        stored = {(event.at, event.message) for event in record.events}
        said = {(removal.ended_at, _describe_removal(removal)) for removal in self.removals(run.run_id)} - stored
        events = [event for event in self.ledger.events(run.run_id) if (event.at, event.message) in said]
        if not events:
            return None
        record = replace(record, events=(*record.events, *events))
        write_record(record, folder.record, folder.metrics, folder.events)
        return record

    def _iterate_overdue(self) -> Iterator[tuple[Run, list[RunPart]]]:
        rules = {part: days for part, days in self._list_retention() if days}
        offset = 0
        while rules and (page := self.ledger.page(TERMINAL, "", PAGE, offset, descending=False)):
            offset += len(page)
            self.run_folders.refresh([run.run_id for run in page], FolderPart.REMOVALS)
            for run in page:
                age = self.clock() - (run.ended_at or run.updated_at)
                gone = {removal.part for removal in self.removals(run.run_id) if removal.ended_at}
                parts = [part for part, days in rules.items() if age >= timedelta(days=days) and part not in gone]
                if parts:
                    yield run, parts

    def _list_retention(self) -> list[tuple[RunPart, int]]:
        settings = self.settings
        return [
            (RunPart.JOB, settings.keep_jobs_days),
            (RunPart.OUTPUTS, settings.keep_outputs_days),
            (RunPart.LOGS, settings.keep_logs_days),
            (RunPart.FOLDER, settings.keep_folders_days),
        ]

    def _get_folder(self, run_id: str) -> RunFolder:
        return self.run_folders.path(run_id)


def _count_objects(objects: ObjectStore, path: str) -> tuple[int, int]:
    """The number of objects below a path and their bytes, a page at a time."""
    count = size = 0
    for page in objects.pages(path):
        count += len(page)
        size += sum(stat.size for stat in page)
    return count, size


def _merge_plans(run: Run, plans: Sequence[CleaningPlan]) -> CleaningPlan:
    items = tuple(item for plan in plans for item in plan.items)
    return CleaningPlan(run.run_id, items, tuple(obstacle for plan in plans for obstacle in plan.obstacles))


def _make_refusal(run: Run, field: str, reason: Message) -> SpecError:
    return SpecError(Message("run {run_id}", run_id=run.run_id), [Problem(field, reason)])


def _describe_removal(removal: Removal) -> Message:
    if removal.part is RunPart.JOB:
        return Message("job {name} deleted in the region", name=removal.path)
    size = formats.format_size(removal.size)
    return Message("{path} removed: {size}, files: {count}", path=removal.path, count=removal.objects, size=size)
