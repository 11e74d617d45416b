"""From what is known of a run to its explanation. Pure functions; the order of the sources is theirs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from aisbench_core.base.messages import Message
from aisbench_core.domain.liveness.alerts import alert_of
from aisbench_core.domain.liveness.stalls import Watch
from aisbench_core.model import AlertKind, EventKind, JobDetails, JobFault, JobTask, Run, RunAttempt, RunState
from aisbench_core.running.diagnosing.ascend_fd import AscendFault, FaultKind
from aisbench_core.running.diagnosing.cause import Cause, CauseSource, Confidence, Explanation, FirstError, Situation
from aisbench_core.running.diagnosing.log_clues import Hit
from aisbench_core.running.diagnosing.rules import CauseClue, CauseRule

# Codes of tasks that were ended because another one had failed.
_ENDED_BY_OTHERS = frozenset({137, 143})

_DIAGNOSIS, _ASCEND_FD = "platform-diagnosis", "ascend-fd"
_CLASS = "class"
_RESULT, _HANG, _STALL, _AUTO_STOP, _PREEMPTED = "result-missing", "hang", "stall", "auto-stop", "preempted"
# What the platform diagnoses as a warning fails no job.
_FAILING_LEVELS = frozenset({"", "fatal", "error"})


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known of a run. `tails`: the last lines of each node's log; `watch`: what the stall guard knows;
    `faults`: what ascend-fd found."""

    run: Run
    details: JobDetails
    hits: Sequence[Hit]
    tails: Mapping[int, tuple[str, ...]]
    watch: Watch | None = None
    faults: Sequence[AscendFault] = ()

    @property
    def attempt(self) -> RunAttempt | None:
        """The last one."""
        return self.details.attempts[-1] if self.details.attempts else None


@dataclass(frozen=True, slots=True)
class FoundCause:
    """A cause, and what shows it: a line, a task, or lines that ascend-fd names."""

    cause: Cause
    hit: Hit | None = None
    task: str = ""
    error: FirstError | None = None


def situation_of(run: Run, details: JobDetails, watch: Watch | None) -> Situation:
    """Whether there is anything to explain."""
    if run.state is RunState.FAILED or run.is_stopped_as_stalled:
        return Situation.FAILED
    if run.state is RunState.STOPPED:
        return Situation.STOPPED
    alert = alert_of(run, details, watch)
    return Situation.HANGING if alert is not None and alert.is_stall else Situation.NOTHING


def find_cause(facts: RunFacts, rules: Mapping[str, CauseRule]) -> FoundCause | None:
    """The probable cause of a run that failed, hangs, or was stopped by the platform."""
    match situation_of(facts.run, facts.details, facts.watch):
        case Situation.FAILED if not facts.run.is_stopped_as_stalled:
            return next(_of_failure(facts, rules), None)
        case Situation.FAILED | Situation.HANGING:
            found = chain(_of_ascend_fd(facts, FaultKind.OWN), _of_logs(facts, rules, weak=False))
            return next(found, _of_silence(facts, rules))
        case Situation.STOPPED:
            return next((each for each in _of_events(facts, rules) if each.cause.rule == _AUTO_STOP), None)
    return None


def build_explanation(facts: RunFacts, found: FoundCause | None) -> Explanation:
    """The explanation that a finding comes to, without corrections."""
    situation = situation_of(facts.run, facts.details, facts.watch)
    if situation is Situation.STOPPED and found is not None:
        situation = Situation.FAILED if found.cause.rule == _AUTO_STOP else situation
    if situation in (Situation.NOTHING, Situation.STOPPED):
        return Explanation(facts.run.run_id, situation)
    return Explanation(
        facts.run.run_id,
        situation,
        found.cause if found else None,
        _first_error(facts, found),
        log_offset=found.hit.offset if found and found.hit and not found.error else None,
    )


def _of_failure(facts: RunFacts, rules: Mapping[str, CauseRule]) -> Iterator[FoundCause]:
    """What may have failed the run, most trusted first."""
    yield from _of_diagnosis(facts)
    if facts.run.final_state is not RunState.COMPLETED:
        yield from _of_ascend_fd(facts, FaultKind.OWN)
    yield from _of_fault(facts, rules, but=JobFault.HANG)
    # The platform knows its machines; what the programs on them wrote as they were killed does not.
    of_platform = {rule_id: rule for rule_id, rule in rules.items() if rule.faults or not rule.logs}
    yield from _of_messages(facts, of_platform)
    if facts.run.final_state is RunState.COMPLETED:
        yield FoundCause(rules[_RESULT].to_cause(_RESULT, CauseSource.RESULT))
    yield from _of_events(facts, rules)
    yield from _of_logs(facts, rules, weak=False)
    yield from _of_messages(facts, rules)
    yield from _of_logs(facts, rules, weak=True)
    yield from _of_ascend_fd(facts, FaultKind.EXCEPTION)
    yield from _of_exit_codes(facts, rules)
    yield from _of_fault(facts, rules)
    yield from _of_ascend_fd(facts, FaultKind.CONSEQUENCE)
    yield from _of_consequences(facts, rules)


def _of_diagnosis(facts: RunFacts) -> Iterator[FoundCause]:
    diagnosis = facts.details.diagnosis
    if diagnosis is None or diagnosis.level.lower() not in _FAILING_LEVELS:
        return
    # The list of codes is not public: a code and its class alone explain nothing to anybody.
    for fault in (each for each in diagnosis.faults if any(name != _CLASS for name, _ in each.facts)):
        said = "; ".join(f"{name}: {text}" for name, text in fault.facts)
        text = Message("The platform found {fault} in the job's log", fault=fault.code)
        advice = Message("See the platform's diagnosis below: {said}", said=said)
        yield FoundCause(Cause(_DIAGNOSIS, text, advice, Confidence.LIKELY, CauseSource.DIAGNOSIS))


def _of_ascend_fd(facts: RunFacts, kind: FaultKind) -> Iterator[FoundCause]:
    """The fault of the node whose log has the earliest error. ascend-fd gives lines of training logs no times."""
    first = facts.hits[0].node if facts.hits else None
    faults = [fault for fault in facts.faults if fault.kind is kind]
    is_ordered = len({fault.code for fault in faults}) == 1 or first in [fault.node for fault in faults]
    for fault in sorted(faults, key=lambda fault: fault.node != first)[:1]:
        text = Message("{cause} ({code})", cause=fault.cause or fault.description, code=fault.code)
        advice = Message("ascend-fd suggests: {suggestion}", suggestion=fault.advice)
        confidence = Confidence.LIKELY if is_ordered else Confidence.POSSIBLE
        cause = Cause(_ASCEND_FD, text, advice, confidence, CauseSource.ASCEND_FD)
        yield FoundCause(cause, error=_error_of(facts, fault))


def _error_of(facts: RunFacts, fault: AscendFault) -> FirstError:
    ranks = [hit.rank for hit in facts.hits if hit.node == fault.node]
    rank = 0 if facts.run.spec.card_count == 1 else next(iter(ranks), None)
    node = fault.node if fault.node is not None else next(iter(facts.tails), None)
    return FirstError(node, rank, None, fault.lines or facts.tails.get(node or 0, ()))


def _of_silence(facts: RunFacts, rules: Mapping[str, CauseRule]) -> FoundCause:
    """A hang that the platform suspects, else a stall that was found here."""
    alert = alert_of(facts.run, facts.details, facts.watch)
    if alert is not None and alert.kind is AlertKind.HANG:
        return FoundCause(rules[_HANG].to_cause(_HANG, CauseSource.PLATFORM))
    return FoundCause(rules[_STALL].to_cause(_STALL, CauseSource.STALL_GUARD))


def _of_fault(facts: RunFacts, rules: Mapping[str, CauseRule], but: JobFault | None = None) -> Iterator[FoundCause]:
    attempt = facts.attempt
    if attempt is None or attempt.is_restarted:
        return
    for rule_id, rule in rules.items():
        if attempt.fault in rule.faults and attempt.fault != but:
            yield FoundCause(rule.to_cause(rule_id, CauseSource.PLATFORM), task=attempt.task)


def _of_events(facts: RunFacts, rules: Mapping[str, CauseRule]) -> Iterator[FoundCause]:
    """The last attempt's events; what was said about earlier ones did not fail the run."""
    attempts = facts.details.attempts
    since = attempts[-2].ended_at if len(attempts) > 1 else None
    for event in facts.details.events:
        if since is not None and event.at < since:
            continue
        if event.kind is EventKind.PREEMPTED:
            yield FoundCause(rules[_PREEMPTED].to_cause(_PREEMPTED, CauseSource.PLATFORM))
        for rule_id, rule in rules.items():
            if _has_clue(event.message, rule.events):
                yield FoundCause(rule.to_cause(rule_id, CauseSource.PLATFORM), task=_task_in(event.message))


def _of_logs(facts: RunFacts, rules: Mapping[str, CauseRule], *, weak: bool) -> Iterator[FoundCause]:
    found = (hit for hit in facts.hits if hit.clue.weak is weak and not rules[hit.rule].consequence)
    hits = sorted(found, key=lambda hit: hit.clue.remark)
    for hit in hits[:1]:
        confidence = _rate_confidence(hits, rules)
        if confidence is Confidence.CERTAIN and _has_later_cause(hit, facts.hits, rules):
            confidence = Confidence.LIKELY
        yield FoundCause(rules[hit.rule].to_cause(hit.rule, CauseSource.LOG, confidence), hit)


def _has_later_cause(first: Hit, hits: Sequence[Hit], rules: Mapping[str, CauseRule]) -> bool:
    """Whether the node had another error afterwards: it survived the first one for a while."""
    later = (hit for hit in hits if hit.node == first.node and hit.offset > first.offset)
    return any(hit.rule != first.rule and not rules[hit.rule].consequence for hit in later)


def _rate_confidence(hits: Sequence[Hit], rules: Mapping[str, CauseRule]) -> Confidence:
    """Less than the clue's or the rule's if another node had another error, and nothing says which came first."""
    first = hits[0]
    rivals = [hit for hit in hits if hit.node != first.node and hit.rule != first.rule]
    is_ordered = first.at is not None and all(hit.at is not None for hit in rivals)
    return Confidence.POSSIBLE if rivals and not is_ordered else first.clue.confidence or rules[first.rule].confidence


def _of_messages(facts: RunFacts, rules: Mapping[str, CauseRule]) -> Iterator[FoundCause]:
    """What the platform says about tasks and requests."""
    tasks = facts.attempt.tasks if facts.attempt else ()
    ended = [(facts.attempt.reason, facts.attempt.task)] if facts.attempt and not facts.attempt.is_restarted else []
    said = [*((task.message, task.task) for task in tasks), *ended, (facts.run.detail, "")]
    for text, task in said:
        for rule_id, rule in rules.items():
            if text and _has_clue(text, rule.messages):
                yield FoundCause(rule.to_cause(rule_id, CauseSource.MESSAGE), task=task)


def _of_exit_codes(facts: RunFacts, rules: Mapping[str, CauseRule]) -> Iterator[FoundCause]:
    failed = _failed_task(facts)
    for rule_id, rule in rules.items():
        if failed and failed.exit_code in rule.exit_codes:
            # A signal says that somebody ended the process, not who.
            confidence = Confidence.POSSIBLE if failed.exit_code in _ENDED_BY_OTHERS else rule.confidence
            yield FoundCause(rule.to_cause(rule_id, CauseSource.EXIT_CODE, confidence), task=failed.task)


def _of_consequences(facts: RunFacts, rules: Mapping[str, CauseRule]) -> Iterator[FoundCause]:
    """In the order of the rules: a lost rank says more than the timeouts that follow."""
    for hit in sorted(facts.hits, key=lambda hit: hit.order):
        if rules[hit.rule].consequence:
            yield FoundCause(rules[hit.rule].to_cause(hit.rule, CauseSource.LOG), hit)


def _failed_task(facts: RunFacts) -> JobTask | None:
    """The task that failed; None if several did and nothing says which was first."""
    attempt = facts.attempt
    failed = [task for task in attempt.tasks if task.exit_code] if attempt else []
    named = [task for task in failed if attempt and task.task == attempt.task]
    own = named or [task for task in failed if task.exit_code not in _ENDED_BY_OTHERS] or failed
    return own[0] if len({task.exit_code for task in own}) == 1 else None


def _first_error(facts: RunFacts, found: FoundCause | None) -> FirstError | None:
    if found and found.error:
        return found.error
    if found and found.hit:
        hit = found.hit
        rank = 0 if hit.rank is None and facts.run.spec.card_count == 1 else hit.rank
        return FirstError(hit.node, rank, hit.line, hit.lines)
    failed = _failed_task(facts)
    node = _node_of((found.task if found else "") or (failed.task if failed else ""))
    lines = facts.tails.get(node if node is not None else 0, ()) if node is not None or len(facts.tails) == 1 else ()
    return FirstError(node, None, None, lines) if node is not None or lines else None


def _has_clue(text: str, clues: Iterable[CauseClue]) -> bool:
    lowered = text.lower()
    return any(clue.text.lower() in lowered and clue.search(text) for clue in clues)


def _task_in(message: str) -> str:
    """The task that an event is about: `[worker-2] …`."""
    return message[1:].partition("]")[0] if message.startswith("[worker-") else ""


def _node_of(task: str) -> int | None:
    number = task.rpartition("-")[2]
    return int(number) if task.startswith("worker-") and number.isdecimal() else None
