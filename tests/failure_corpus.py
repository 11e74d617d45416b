"""Labelled failures: runs with logs, events and exit codes, and the cause that each of them has.

`tests/failures/` holds them with their sources. A third is held out: rules are written without it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from pathlib import Path

import yaml
from pydantic import TypeAdapter

from aisbench_core.model import (
    DiagnosedFault,
    EventKind,
    JobDetails,
    JobDiagnosis,
    JobEvent,
    JobTask,
    Run,
    RunAttempt,
    RunState,
)
from aisbench_core.model.spec import Frozen
from aisbench_core.running.diagnosing.cause import Explanation, Situation
from aisbench_core.running.diagnosing.explaining import RunFacts, build_explanation, find_cause
from aisbench_core.running.diagnosing.log_clues import find_clues
from aisbench_core.running.diagnosing.rules import shipped_rules
from tests import records as a

FOLDER = Path(__file__).parent / "failures"
NOTHING_FOUND = ("unknown", "none", "stopped")
"""Labels of runs for which any cause would be a wrong one."""


class SaidEvent(Frozen):
    """An event of the platform."""

    level: str
    message: str
    kind: EventKind = EventKind.OTHER


class Case(Frozen):
    """A run that ended as described, and the cause that it has; `rank` and `node`: of its first error, if known."""

    id: str
    cause: str
    source: str
    held_out: bool = False
    state: RunState = RunState.FAILED
    logs: Mapping[int, str] = {}
    events: tuple[SaidEvent, ...] = ()
    detail: str = "the job ended as Failed"
    no_job: bool = False
    task: str = ""
    exit_code: int | None = None
    message: str = ""
    fault: str = ""
    reason: str = ""
    diagnosis: Mapping[str, str] = {}
    rank: int | None = None
    node: int | None = None
    kind: str = ""


class _Cases(Frozen):
    cases: tuple[Case, ...]


@cache
def cases() -> tuple[Case, ...]:
    """All of them."""
    found: list[Case] = []
    for file in sorted(FOLDER.glob("*.yaml")):
        stored = TypeAdapter(_Cases).validate_python(yaml.load(file.read_text("utf-8"), yaml.CSafeLoader))
        found += [case.model_copy(update={"kind": file.stem}) for case in stored.cases]
    return tuple(found)


def explained(case: Case, folder: Path) -> Explanation:
    """What the product says about it."""
    files = {node: folder / f"{case.id}-{node}.log" for node in case.logs}
    for node, file in files.items():
        file.write_text(case.logs[node], "utf-8")
    run, details = _run(case), _details(case)
    tails = {node: tuple(text.splitlines()[-8:]) for node, text in case.logs.items()}
    facts = RunFacts(run, details, find_clues(files, shipped_rules(), 2026), tails)
    return build_explanation(facts, find_cause(facts, shipped_rules()))


def answer(found: Explanation) -> str:
    """The answer in the words of the labels."""
    if found.cause:
        return found.cause.rule
    return {Situation.NOTHING: "none", Situation.STOPPED: "stopped"}.get(found.situation, "unknown")


@dataclass(frozen=True)
class Score:
    """How good the answers to some cases are."""

    cases: int
    answered: int
    right: int
    expected: int
    wrong: tuple[str, ...]
    missed: tuple[str, ...]

    @property
    def precision(self) -> float:
        """Of the causes that were named, those that are right."""
        return self.right / self.answered if self.answered else 1.0

    @property
    def recall(self) -> float:
        """Of the causes that there are, those that were named."""
        return self.right / self.expected if self.expected else 1.0


def score(chosen: Sequence[Case], folder: Path) -> Score:
    """Answers to these cases against their labels."""
    answers = {case.id: answer(explained(case, folder)) for case in chosen}
    named = {case.id for case in chosen if answers[case.id] not in NOTHING_FOUND}
    expected = {case.id for case in chosen if case.cause not in NOTHING_FOUND}
    right = {case.id for case in chosen if case.id in named and answers[case.id] == case.cause}
    wrong = [f"{case.id}: {answers[case.id]}, not {case.cause}" for case in chosen if case.id in named - right]
    return Score(len(chosen), len(named), len(right), len(expected), tuple(wrong), tuple(sorted(expected - named)))


def _run(case: Case) -> Run:
    nodes = max([*case.logs, 0]) + 1
    run = a.run(
        case.id,
        a.spec(node_count=nodes),
        state=case.state,
        final_state=case.state if case.state.is_terminal else None,
        detail=case.detail,
        job_id="" if case.no_job else f"job-{case.id}",
    )
    if case.cause == "result-missing":  # the job itself completed
        return replace(run, final_state=RunState.COMPLETED)
    return run


def _details(case: Case) -> JobDetails:
    ended = None if case.state is RunState.RUNNING else a.T0 + timedelta(minutes=10)
    task = case.task or "worker-0"
    tasks = (JobTask(task, exit_code=case.exit_code, message=case.message),) if case.exit_code or case.message else ()
    named = task if case.fault else ""
    attempts: tuple[RunAttempt, ...] = (RunAttempt(1, a.T0, ended, case.fault, case.reason, named, "", tasks),)
    if case.state is RunState.COMPLETED:
        attempts = (replace(attempts[0], recovery="job_reschedule"), RunAttempt(2, a.T0 + timedelta(minutes=11), ended))
    events = tuple(
        JobEvent(a.T0 + timedelta(minutes=9, seconds=number), event.level, event.message, "Job", event.kind)
        for number, event in enumerate(case.events)
    )
    faults = tuple(DiagnosedFault(code, (("hint", hint),)) for code, hint in case.diagnosis.items())
    return JobDetails(events, (), attempts, (), JobDiagnosis(True, "Error", faults) if faults else None)
