"""Labelled failures: runs with logs, events and exit codes, and the cause that each of them has.

`tests/failures/` holds those that rules were written for, `tests/failures/unseen/` what people posted since;
CONTRIBUTING.md says how the second becomes the first. `python -m tests.failure_corpus` scores both."""

import hashlib
import tempfile
from collections import Counter
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
from aisbench_core.running.diagnosing.cause import Confidence, Explanation, Situation
from aisbench_core.running.diagnosing.explaining import RunFacts, build_explanation, find_cause
from aisbench_core.running.diagnosing.log_clues import find_clues
from aisbench_core.running.diagnosing.rules import shipped_rules
from tests import records as a

FOLDER = Path(__file__).parent / "failures"
UNSEEN = FOLDER / "unseen"
NOTHING_FOUND = ("unknown", "none", "stopped")
"""Labels of runs for which any cause would be a wrong one."""


class SaidEvent(Frozen):
    """An event of the platform."""

    level: str
    message: str
    kind: EventKind = EventKind.OTHER


class Case(Frozen):
    """A run that ended as described, and the cause that it has; `also`: causes that are right as well.

    `rank` and `node`: of its first error, if known."""

    id: str
    cause: str
    also: tuple[str, ...] = ()
    source: str
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


class FirstScore(Frozen):
    """What the rules knew of some reports before anybody had read them."""

    cases: int
    named: int
    right: int
    expected: int


class _Reports(Frozen):
    cases: tuple[Case, ...]
    first_score: FirstScore | None = None


@cache
def cases() -> tuple[Case, ...]:
    """Those that rules were written for."""
    return _read_cases(FOLDER)


@cache
def unseen_cases() -> tuple[Case, ...]:
    """Those that no rule was written for."""
    return _read_cases(UNSEEN)


def is_sealed(case: Case) -> bool:
    """Whether nobody who writes rules may look at the answer to this unseen case: every third one, by its name."""
    return int(hashlib.sha256(case.id.encode()).hexdigest(), 16) % 3 == 0


def first_scores() -> Mapping[str, FirstScore | None]:
    """By files of unseen reports."""
    return {file.stem: _read_reports(file).first_score for file in _list_files(UNSEEN)}


def _read_cases(folder: Path) -> tuple[Case, ...]:
    files = {file.stem: _read_reports(file) for file in _list_files(folder)}
    return tuple(case.model_copy(update={"kind": kind}) for kind, found in files.items() for case in found.cases)


def _list_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.yaml"))


def _read_reports(file: Path) -> _Reports:
    return TypeAdapter(_Reports).validate_python(yaml.load(file.read_text("utf-8"), yaml.CSafeLoader))


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
    """How good the answers to some cases are. `named` and `right`: by how sure they call themselves."""

    cases: int
    named: Mapping[Confidence, int]
    right: Mapping[Confidence, int]
    expected: int
    found: int
    wrong: tuple[str, ...]
    missed: tuple[str, ...]

    @property
    def precision(self) -> float:
        """Of the causes that were named, those that are right."""
        return _share(sum(self.right.values()), sum(self.named.values()))

    @property
    def recall(self) -> float:
        """Of the causes that there are, those that were named."""
        return _share(self.found, self.expected)

    def calibration(self, confidence: Confidence) -> float:
        """Of the causes that call themselves so sure, those that are right."""
        return _share(self.right[confidence], self.named[confidence])


def score(chosen: Sequence[Case], folder: Path) -> Score:
    """Answers to these cases against their labels."""
    named: Counter[Confidence] = Counter()
    right: Counter[Confidence] = Counter()
    found, wrong, missed = 0, [], []
    for case in chosen:
        explanation = explained(case, folder)
        said = answer(explanation)
        if said in NOTHING_FOUND:
            missed += [case.id] if case.cause not in NOTHING_FOUND else []
            continue
        confidence = explanation.cause.confidence if explanation.cause else Confidence.POSSIBLE
        named[confidence] += 1
        if said in (case.cause, *case.also):
            right[confidence] += 1
            found += case.cause not in NOTHING_FOUND
        else:
            wrong.append(f"{case.id}: {said} ({confidence}), not {case.cause}")
    expected = sum(case.cause not in NOTHING_FOUND for case in chosen)
    return Score(len(chosen), named, right, expected, found, tuple(wrong), tuple(missed))


def _share(some: int, of: int) -> float:
    return some / of if of else 1.0


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


def print_scores() -> None:
    """The figures of both parts. What is wrong about sealed cases is kept from those who write rules."""
    open_cases = [case for case in unseen_cases() if not is_sealed(case)]
    parts = {"own": cases(), "unseen": unseen_cases(), "unseen and open": open_cases}
    with tempfile.TemporaryDirectory() as folder:
        for name, part in parts.items():
            found = score(part, Path(folder))
            sure = ", ".join(f"{each} {found.right[each]} of {found.named[each]}" for each in Confidence)
            print(f"{name}: {found.cases} cases, {found.precision:.3f} and {found.recall:.3f}; right: {sure}")
            if name != "unseen":
                print(*found.wrong, *(f"{case_id}: missed" for case_id in found.missed), sep="\n")


if __name__ == "__main__":
    print_scores()
