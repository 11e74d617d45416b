"""System descriptions of runs, and templates for new runs of a profile and flavor."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from pydantic import ValidationError

from aisbench_core.base.errors import ConfigError, DamagedLedger, Problem, ResultError, RunNotFound, SpecError
from aisbench_core.base.messages import Message
from aisbench_core.base.private_files import require_writable
from aisbench_core.base.value_errors import value_error
from aisbench_core.config.settings import Settings, load_profile
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.changes import note_values
from aisbench_core.domain.authoring.config_file import ConfigFile
from aisbench_core.domain.results.record import (
    file_text,
    read_outline,
    read_record,
    read_stated,
    write_record,
    write_stated,
)
from aisbench_core.model import (
    FIELDS,
    SYSTEM_FIELDS,
    TESTER_FIELDS,
    Actor,
    Clock,
    Event,
    Finding,
    Run,
    RunRecord,
    RunSpec,
    Stated,
    known_from_job,
    stated_of,
)
from aisbench_core.running.run_files import read_facts
from aisbench_core.running.systems import reading
from aisbench_core.running.systems.descriptions import StatedFields, SystemTemplate, SystemValues, make_finding
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.parts import RECORD_FILES, STATED_FILES
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.store.seals.service import Seals

Where = str | SystemTemplate
"""A run's id, or a template."""

Value = str | int | None

# Fields that each job decides; a template must not contain them.
OF_EACH_RUN = (
    "number_of_nodes",
    "accelerators_per_node",
    "framework",
    "other_software_stack",
    "test_mode",
    "test_model",
    "test_object_type",
)


class Systems:
    """The system descriptions of this console. Thread-safe."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        folders: RunFolders,
        record: Callable[[RunRecord], None],
        seals: Seals,
        clock: Clock,
    ) -> None:
        """`record` stores a run in the warehouse; it is idempotent."""
        self._settings = settings
        self._ledger = ledger
        self._folders = folders
        self._record = record
        self._seals = seals
        self._clock = clock

    def of(self, where: Where) -> SystemValues:
        """The current description. Raises RunNotFound, ConfigError for an unknown profile, ResultError if damaged."""
        stated = read_stated(self._find_folder(where)) or Stated()
        if isinstance(where, SystemTemplate):
            return SystemValues(stated, Stated())
        return SystemValues(stated, *self._read_job(self._find_run(where)))

    @permitted
    def state(self, where: Where, changes: Mapping[str, Value], actor: Actor) -> SystemValues:
        """Change fields; an empty value removes one. Changes of a run are logged as an event of it.

        Raises SpecError with a problem for each invalid field; nothing is changed then."""
        require_writable(self._settings.data_dir)
        if isinstance(where, SystemTemplate):
            self._store_changes(self._find_folder(where), changes, is_template=True)
            return self.of(where)
        run = self._find_run(where)
        folder = self._folders.path(run.run_id).path
        with self._seals.seal_changes(run.run_id, (*STATED_FILES, *RECORD_FILES), actor):
            before, after = self._folders.update(
                run.run_id, STATED_FILES, lambda: self._store_changes(folder, changes, is_template=False)
            )
            gone = [name for name in STATED_FILES if not (folder / name).exists()]
            self._folders.remove(run.run_id, gone)
            self._record_change(run, before, after, actor)
        return self.of(where)

    def read(self, files: Sequence[ConfigFile]) -> StatedFields:
        """The fields in upstream's system.json and config.json; stores nothing. Raises ConfigError."""
        return reading.read_fields(files)

    @permitted
    def import_fields(self, where: Where, fields: StatedFields, actor: Actor) -> tuple[Finding, ...]:
        """State fields that were read from files; returns findings about those left out. Raises SpecError."""
        excluded = [name for name in OF_EACH_RUN if name in fields.values] if isinstance(where, SystemTemplate) else []
        self.state(where, {name: value for name, value in fields.values.items() if name not in excluded}, actor)
        message, hint = Message("was left out"), Message("it is known from each job")
        return tuple(make_finding("system.run-only", name, message, hint) for name in excluded)

    @permitted
    def keep(self, run_id: str, actor: Actor, *, any_flavor: bool = False) -> SystemTemplate:
        """Make a run's stated fields the template for new runs of its profile, on its flavor (or pool) or on any."""
        run = self._find_run(run_id)
        template = SystemTemplate(run.profile, "" if any_flavor else run.spec.flavor or run.spec.pool_id)
        stated = self.of(run.run_id).stated.values
        # Also the fields that are not stated, which removes them from the template.
        self.state(template, {name: stated.get(name) for name in FIELDS if name not in OF_EACH_RUN}, actor)
        return template

    def take_over(self, run: Run) -> int:
        """Copy the templates of its profile and flavor to a new run; returns the number of fields."""
        values = self.template_for(run.profile, run.spec)
        if values:
            write_stated(stated_of(values), self._folders.path(run.run_id).path)
        return len(values)

    def template_for(self, profile: str, spec: RunSpec) -> dict[str, str | int]:
        """The fields with which a new run starts; those for its flavor win. Raises ResultError for damaged files."""
        values: dict[str, str | int] = {}
        for flavor in ("", spec.flavor or spec.pool_id):
            if stated := read_stated(self._template_folder(SystemTemplate(profile, flavor))):
                values |= stated.values
        return values

    def files(self, where: Where) -> dict[str, str]:
        """Upstream's two files by name, with all keys; fields without a value are empty text."""
        merged = self.of(where).merged
        both = (("system.json", SYSTEM_FIELDS), ("config.json", TESTER_FIELDS))
        return {name: file_text(merged, fields, whole=True) for name, fields in both}

    def _store_changes(self, folder: Path, changes: Mapping[str, Value], *, is_template: bool) -> tuple[Stated, Stated]:
        """What was stated before, and what is now."""
        before = read_stated(folder) or Stated()
        after = _apply_changes(before, changes, is_template=is_template)
        note_values(*({name: one.values.get(name, "") for name in changes} for one in (before, after)))
        write_stated(after, folder)
        return before, after

    def _record_change(self, run: Run, before: Stated, after: Stated, actor: Actor) -> None:
        """Log the change as an event and update the run's record, if it has one."""
        names = [name for name in FIELDS if before.values.get(name) != after.values.get(name)]
        message = Message("system description changed: {fields}", fields=", ".join(names))
        events = [Event.by(actor, run.run_id, self._clock(), message)] if names else []
        for event in events:
            self._ledger.note(event)
        record = self._folders.update(run.run_id, RECORD_FILES, lambda: self._with_events(run, events))
        if record is not None:
            self._record(replace(record, described=after))

    def _with_events(self, run: Run, events: Sequence[Event]) -> RunRecord | None:
        """Add events to the run's record, if it has one."""
        folder = self._folders.path(run.run_id)
        if not folder.record.exists():
            return None
        record = read_record(folder.record, folder.metrics, folder.events)
        if run.state.is_terminal:  # until then collecting writes these files
            record = replace(record, events=(*record.events, *events))
            write_record(record, folder.record, folder.metrics, folder.events)
        return record

    def _read_job(self, run: Run) -> tuple[Stated, Stated]:
        """What the job decides, and what was captured in it."""
        folder = self._run_folder(run)
        if folder.record.exists():
            record = read_outline(folder.record)
            return record.system_from_job, record.system_captured
        try:
            facts = read_facts(folder.launch)
        except ResultError:  # the run's folder is lost
            return known_from_job(run.spec, "", "", ""), Stated()
        workload = facts.workload
        return known_from_job(run.spec, workload.framework, workload.model, facts.accelerator), Stated()

    def _find_folder(self, where: Where) -> Path:
        if isinstance(where, str):
            return self._run_folder(self._find_run(where)).path
        load_profile(self._settings, where.profile)  # raises for an unknown profile
        return self._template_folder(where)

    def _find_run(self, run_id: str) -> Run:
        """A run of the ledger, or of a record only: imported runs, and runs whose ledger was lost."""
        try:
            return self._ledger.get(run_id)
        except (RunNotFound, DamagedLedger):
            folder = self._folders.read(run_id)
            if not folder.record.exists():
                raise
            return read_outline(folder.record).run

    def _run_folder(self, run: Run) -> RunFolder:
        return self._folders.read(run.run_id)

    def _template_folder(self, template: SystemTemplate) -> Path:
        name = f"flavor-{quote(template.flavor, safe='')}" if template.flavor else "any-flavor"
        return self._settings.systems_dir / template.profile / name


def _apply_changes(before: Stated, changes: Mapping[str, Value], *, is_template: bool) -> Stated:
    problems = [Problem(name, Message("is not a field")) for name in changes if name not in FIELDS]
    if is_template:
        problems += [
            Problem(name, Message("is known from each job, so it is not kept for others"))
            for name, value in changes.items()
            if name in OF_EACH_RUN and value not in ("", None)
        ]
    problems += [
        problem for name, value in changes.items() if name in FIELDS for problem in _list_problems(name, value)
    ]
    if problems:
        hint = Message("`aisbench system show` lists every field")
        raise SpecError(Message("the system description"), problems, hint)
    values = {**before.values, **changes}
    return stated_of({name: value for name, value in values.items() if value not in ("", None)})


def _list_problems(name: str, value: Value) -> list[Problem]:
    if value in ("", None):
        return []
    try:
        stated_of({name: value})
    except ValidationError as error:
        return [Problem(name, value_error(detail), repr(value)[:80]) for detail in error.errors()]
    return []


def where_of(text: str) -> Where:
    """A run's id, or `@PROFILE` or `@PROFILE/FLAVOR`. Raises ConfigError when the profile is missing."""
    if not text.startswith("@"):
        return text
    profile, _, flavor = text[1:].partition("/")
    if not profile:
        raise ConfigError(Message("{text!r} names no profile", text=text), Message("write @PROFILE or @PROFILE/FLAVOR"))
    return SystemTemplate(profile, flavor)
