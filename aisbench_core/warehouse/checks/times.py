"""The checks of one run's times."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from aisbench_core.messages import Message, joined
from aisbench_core.model.columns import PERIODS
from aisbench_core.rulesets.ruleset import Clock, Times, Tolerance
from aisbench_core.warehouse.records.facts import LONGEST_S, Facts
from aisbench_core.warehouse.values import Check, CheckLevel

SECOND = 1_000_000

_STARTS_FIRST = Message("every period starts before it ends")
_INSIDE_TOTAL = Message("every period lies inside total")
_ALL_DO = Message("all do")
_TIMED = Message("platform duration, total")
_IN_ORDER, _ALL_ARE = Message("times in their order"), Message("all are")


def checked(rule_id: str, passed: bool, level: CheckLevel, expected: str, actual: str, evidence: str = "") -> Check:
    """A check that is OK if it passed, and otherwise of this level."""
    return Check(rule_id, CheckLevel.OK if passed else level, expected, actual, evidence)


def listed(sentences: Sequence[str]) -> str:
    """Sentences separated by semicolons; empty when there is none."""
    return joined("; ", sentences) if sentences else ""


def times(facts: Facts, rule: Times, level: CheckLevel) -> Check:
    """V02: the phases of the result block, each by itself and inside the total."""
    reversed_ones = ", ".join(_reversed(facts))
    if reversed_ones or not rule.inside_total:
        return checked("V02", not reversed_ones, level, _STARTS_FIRST, reversed_ones or _ALL_DO)
    outside = ", ".join(_outside(facts))
    return checked("V02", not outside, level, _INSIDE_TOTAL, outside or _ALL_DO)


def _reversed(facts: Facts) -> Iterator[str]:
    for name in PERIODS:
        start, end = period(facts, name)
        if start is not None and end is not None and start > end:
            yield name


def _outside(facts: Facts) -> Iterator[str]:
    first, last = period(facts, "total")
    for name in PERIODS[:-1]:
        start, end = period(facts, name)
        early = start is not None and first is not None and start < first
        if early or (end is not None and last is not None and end > last):
            yield name


def period(facts: Facts, name: str) -> tuple[int | None, int | None]:
    """Start and end of a phase of the result block, in microseconds."""
    return getattr(facts, f"{name}_start_time"), getattr(facts, f"{name}_end_time")


def durations(facts: Facts, rule: Tolerance, level: CheckLevel) -> Check | None:
    """V23: the duration that the platform counted, against that of the result block."""
    start, end = period(facts, "total")
    if facts.duration_s is None or start is None or end is None or end < start:
        return None
    total = (end - start) / SECOND
    fits = facts.duration_s <= total * (1 + rule.tolerance)
    expected = Message("at most {number} s", number=repr(total))
    return checked("V23", fits, level, expected, f"{facts.duration_s!r} s", _TIMED)


_TIMES = ("created_at", "submitted_at", "started_at", "ended_at")


def clock(facts: Facts, rule: Clock, level: CheckLevel) -> Check:
    """V26: the stored times, in order. The present time is not used: every evaluation must give the same."""
    ahead = rule.ahead_s * SECOND
    names = _TIMES[1:] if facts.imported else _TIMES
    measured = [(name, at) for name in names if (at := getattr(facts, name)) is not None]
    wrong: list[Message] = []
    for (earlier, before), (later, after) in pairwise(measured):
        if after < before - ahead:
            wrong.append(Message("{later} lies before {earlier}", later=later, earlier=earlier))
        if after > before + LONGEST_S * SECOND:
            wrong.append(Message("{later} lies months after {earlier}", later=later, earlier=earlier))
    wrong += _after_the_end(facts, ahead)
    return checked("V26", not wrong, level, _IN_ORDER, listed(wrong) or _ALL_ARE)


def _after_the_end(facts: Facts, ahead: int) -> Iterator[Message]:
    # The result was written, or imported, after everything that it is about.
    last = "imported_at" if facts.imported else "total_end_time"
    end = getattr(facts, last)
    if end is None:
        return
    for name in ("ended_at", "proc_end_time", *(("total_end_time",) if facts.imported else ())):
        at = getattr(facts, name)
        if at is not None and at > end + ahead:
            yield Message("{later} lies after {earlier}", later=name, earlier=last)
