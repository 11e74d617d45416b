"""What the rules about times look at in one run; of_runs.py says what a look is."""

from collections.abc import Iterator, Sequence

from aisbench_core.messages import Message, joined
from aisbench_core.model.columns import PERIODS
from aisbench_core.rulesets.ruleset import Clock, Durations, Times
from aisbench_core.warehouse.records.facts import LONGEST_S, Facts
from aisbench_core.warehouse.values import Check, CheckLevel

SECOND = 1_000_000

_STARTS_FIRST = Message("every period starts before it ends")
_INSIDE_TOTAL = Message("every period lies inside total")
_ALL_DO = Message("all do")
_TIMED = Message("platform duration, total")
_IN_ORDER, _ALL_ARE = Message("times in their order"), Message("all are")


def listed(sentences: Sequence[str]) -> str:
    """Sentences one after the other; empty when there is none."""
    return joined("; ", sentences) if sentences else ""


def times(facts: Facts, rule: Times, level: CheckLevel) -> Check:
    """V02: the block's periods, each by itself and inside the whole."""
    wrong = list(_late(facts))
    if wrong or not rule.inside_total:
        return Check("V02", level if wrong else CheckLevel.OK, _STARTS_FIRST, ", ".join(wrong) or _ALL_DO)
    outside = ", ".join(_outside(facts))
    return Check("V02", level if outside else CheckLevel.OK, _INSIDE_TOTAL, outside or _ALL_DO)


def _late(facts: Facts) -> Iterator[str]:
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
    """Start and end of one of the block's periods, in microseconds."""
    return getattr(facts, f"{name}_start_time"), getattr(facts, f"{name}_end_time")


def durations(facts: Facts, rule: Durations, level: CheckLevel) -> Check | None:
    """V23: the platform's duration beside the block's."""
    start, end = period(facts, "total")
    if facts.duration_s is None or start is None or end is None or end < start:
        return None
    total = (end - start) / SECOND
    longer = facts.duration_s > total * (1 + rule.tolerance)
    expected = Message("at most {number} s", number=repr(total))
    return Check("V23", level if longer else CheckLevel.OK, expected, f"{facts.duration_s!r} s", _TIMED)


_MOMENTS = ("created_at", "submitted_at", "started_at", "ended_at")


def clock(facts: Facts, rule: Clock, level: CheckLevel) -> Check:
    """V26. Only stored times are compared with each other: a verdict must not depend on when it is asked for."""
    ahead = rule.ahead_s * SECOND
    last: tuple[str, int] | None = None
    wrong: list[Message] = []
    for name in _MOMENTS[1:] if facts.imported else _MOMENTS:
        moment = getattr(facts, name)
        if moment is None:
            continue
        if last is not None and moment < last[1] - ahead:
            wrong.append(Message("{later} lies before {earlier}", later=name, earlier=last[0]))
        if last is not None and moment > last[1] + LONGEST_S * SECOND:
            wrong.append(Message("{later} lies months after {earlier}", later=name, earlier=last[0]))
        last = (name, moment)
    wrong += _after_the_end(facts, ahead)
    return Check("V26", level if wrong else CheckLevel.OK, _IN_ORDER, listed(wrong) or _ALL_ARE)


def _after_the_end(facts: Facts, ahead: int) -> Iterator[Message]:
    """Nothing is later than the moment at which somebody took the result down."""
    named = "imported_at" if facts.imported else "total_end_time"
    known = facts.imported_at if facts.imported else facts.total_end_time
    if known is None:
        return
    for name in ("ended_at", "proc_end_time", *(("total_end_time",) if facts.imported else ())):
        moment = getattr(facts, name)
        if moment is not None and moment > known + ahead:
            yield Message("{later} lies after {earlier}", later=name, earlier=named)
