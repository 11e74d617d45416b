"""System descriptions: of each run, and those that new runs of a profile and flavor take over."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from pydantic import ValidationError

from aisbench_core.authoring.upstream.found import ConfigFile
from aisbench_core.errors import ConfigError, DamagedLedger, Problem, ResultError, RunNotFound, SpecError
from aisbench_core.messages import Message
from aisbench_core.model import (
    FIELDS,
    SYSTEM_FIELDS,
    TESTER_FIELDS,
    Clock,
    Event,
    Finding,
    Level,
    Run,
    RunRecord,
    RunSpec,
    Stated,
    known_from_job,
    stated_of,
)
from aisbench_core.read_only import require_writable
from aisbench_core.results.record import read_outline, read_record, write_record
from aisbench_core.results.stated import file_text, read_stated, write_stated
from aisbench_core.running.launch_facts import read_facts
from aisbench_core.running.ledger import Ledger
from aisbench_core.running.places import RunFolder
from aisbench_core.settings import Settings, load_profile
from aisbench_core.system import reading
from aisbench_core.system.described import Described, Kept, StatedFields, finding
from aisbench_core.value_errors import value_complaint

Where = str | Kept
"""A run, by its id; or what new runs of a profile take over."""

Value = str | int | None

OF_EACH_RUN = (
    "number_of_nodes",
    "accelerators_per_node",
    "framework",
    "other_software_stack",
    "test_mode",
    "test_model",
    "test_object_type",
)
"""What every job decides for itself; kept for others, it would be wrong sooner or later."""


class Systems:
    """Every system description of this console. Threads may share it."""

    def __init__(self, settings: Settings, ledger: Ledger, record: Callable[[RunRecord], None], clock: Clock) -> None:
        """`record` stores a run in the warehouse; doing so twice changes nothing."""
        self._settings = settings
        self._ledger = ledger
        self._record = record
        self._clock = clock

    def of(self, where: Where) -> Described:
        """The description as it stands. Raises RunNotFound, ConfigError for no such profile, ResultError if damaged."""
        stated = read_stated(self._folder(where)) or Stated()
        return Described(stated, Stated() if isinstance(where, Kept) else self._known(self._run(where)))

    def state(self, where: Where, changes: Mapping[str, Value], who: str) -> Described:
        """Change some fields; an empty value takes a statement back. A run's change is an event of the run.

        Raises SpecError with a problem for each field that cannot be so, and then changes nothing."""
        require_writable(self._settings.data_dir)
        folder = self._folder(where)
        before = read_stated(folder) or Stated()
        after = _changed(before, changes, kept=isinstance(where, Kept))
        write_stated(after, folder)
        if isinstance(where, str):
            self._follow_up(self._run(where), before, after, who)
        return self.of(where)

    def read(self, files: Sequence[ConfigFile]) -> StatedFields:
        """What upstream's system.json and config.json state; nothing is stored. Raises ConfigError."""
        return reading.read(files)

    def bring(self, where: Where, found: StatedFields, who: str) -> tuple[Finding, ...]:
        """State what was found in files; gives what else there is to say. Raises SpecError."""
        left = [name for name in OF_EACH_RUN if name in found.values] if isinstance(where, Kept) else []
        self.state(where, {name: value for name, value in found.values.items() if name not in left}, who)
        message, hint = Message("was left out"), Message("it is known from each job")
        return tuple(finding("system.run-only", name, message, hint) for name in left)

    def keep(self, run_id: str, who: str, *, any_flavor: bool = False) -> Kept:
        """Keep what is stated of a run for new runs of its profile, on its flavor (or pool) or on any."""
        run = self._run(run_id)
        kept = Kept(run.profile, "" if any_flavor else _place(run))
        values = self.of(run.run_id).stated.values
        mine: dict[str, Value] = dict.fromkeys(FIELDS) | {
            name: value for name, value in values.items() if name not in OF_EACH_RUN
        }
        self.state(kept, {name: value for name, value in mine.items() if name not in OF_EACH_RUN}, who)
        return kept

    def take_over(self, run: Run) -> int:
        """Give a new run what is kept for its profile and flavor; returns how many fields that states."""
        values = self.kept_for(run.profile, run.spec)
        if values:
            write_stated(stated_of(values), self._run_folder(run).path)
        return len(values)

    def kept_for(self, profile: str, spec: RunSpec) -> dict[str, str | int]:
        """What a new run takes over there, by field. Raises ResultError when it is damaged."""
        places = ("", spec.flavor or spec.pool_id)
        found = [read_stated(self._kept_folder(Kept(profile, flavor))) for flavor in places]
        return {name: value for each in found if each for name, value in each.values.items()}

    def files(self, where: Where) -> dict[str, str]:
        """Upstream's two files by their names, with every key; what is not stated is empty text."""
        whole = self.of(where).whole
        both = (("system.json", SYSTEM_FIELDS), ("config.json", TESTER_FIELDS))
        return {name: file_text(whole, fields, whole=True) for name, fields in both}

    def _follow_up(self, run: Run, before: Stated, after: Stated, who: str) -> None:
        """What a change of a run's description leads to: an event, and a new record of a run that has one."""
        names = [name for name in FIELDS if before.values.get(name) != after.values.get(name)]
        message = Message("system description changed: {fields}", fields=", ".join(names))
        events = [Event(run.run_id, self._clock(), "console", Level.INFO, message, who)] if names else []
        for event in events:
            self._ledger.note(event)
        folder = self._run_folder(run)
        if folder.record.exists():
            record = read_record(folder.record, folder.metrics, folder.events)
            if run.state.is_terminal:  # a run that is being collected writes its own files
                record = replace(record, events=(*record.events, *events))
                write_record(record, folder.record, folder.metrics, folder.events)
            self._record(replace(record, described=after))

    def _known(self, run: Run) -> Stated:
        folder = self._run_folder(run)
        if folder.record.exists():
            return read_outline(folder.record).known
        try:
            facts = read_facts(folder.launch)
        except ResultError:  # its folder is lost
            return known_from_job(run.spec, "", "", "")
        return known_from_job(run.spec, facts.workload.framework, facts.workload.model, facts.accelerator)

    def _folder(self, where: Where) -> Path:
        if isinstance(where, str):
            return self._run_folder(self._run(where)).path
        load_profile(self._settings, where.profile)  # there is no other way to notice a wrong name
        return self._kept_folder(where)

    def _run(self, run_id: str) -> Run:
        """A run of the ledger, or one that only its record knows: it was imported, or the ledger was lost."""
        try:
            return self._ledger.get(run_id)
        except (RunNotFound, DamagedLedger):
            folder = RunFolder(self._settings.runs_dir / Path(run_id).name)
            if not folder.record.exists():
                raise
            return read_outline(folder.record).run

    def _run_folder(self, run: Run) -> RunFolder:
        return RunFolder(self._settings.runs_dir / run.run_id)

    def _kept_folder(self, kept: Kept) -> Path:
        place = f"flavor-{quote(kept.flavor, safe='')}" if kept.flavor else "any-flavor"
        return self._settings.systems_dir / kept.profile / place


def _place(run: Run) -> str:
    return run.spec.flavor or run.spec.pool_id


def _changed(before: Stated, changes: Mapping[str, Value], *, kept: bool) -> Stated:
    problems = [Problem(name, Message("is not a field")) for name in changes if name not in FIELDS]
    if kept:
        problems += [
            Problem(name, Message("is known from each job, so it is not kept for others"))
            for name, value in changes.items()
            if name in OF_EACH_RUN and value not in ("", None)
        ]
    problems += [problem for name, value in changes.items() if name in FIELDS for problem in _problems(name, value)]
    if problems:
        hint = Message("`aisbench system show` lists every field")
        raise SpecError(Message("the system description"), problems, hint)
    values = {**before.values, **changes}
    return stated_of({name: value for name, value in values.items() if value not in ("", None)})


def _problems(name: str, value: Value) -> list[Problem]:
    if value in ("", None):
        return []
    try:
        stated_of({name: value})
    except ValidationError as error:
        return [Problem(name, value_complaint(detail), repr(value)[:80]) for detail in error.errors()]
    return []


def where_of(text: str) -> Where:
    """A run's id, or `@PROFILE` or `@PROFILE/FLAVOR`. Raises ConfigError when the profile is missing."""
    if not text.startswith("@"):
        return text
    profile, _, flavor = text[1:].partition("/")
    if not profile:
        raise ConfigError(Message("{text!r} names no profile", text=text), Message("write @PROFILE or @PROFILE/FLAVOR"))
    return Kept(profile, flavor)
