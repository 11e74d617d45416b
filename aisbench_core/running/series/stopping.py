"""When a series with a stopping rule has measured enough, what it found, and which row is to run next.

Pure functions of what was measured: a follower that was killed comes to the same judgement again.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean

from aisbench_core.base.errors import Problem, SpecError
from aisbench_core.base.formats import format_change
from aisbench_core.base.messages import Message
from aisbench_core.domain.statistics.bisection import locate_step, rank_versions
from aisbench_core.domain.statistics.sequential import (
    ALPHA,
    FEWEST,
    anytime_change,
    anytime_margin,
    narrow_margin,
)
from aisbench_core.domain.statistics.summary import Summary
from aisbench_core.model import SeriesPlan, StopRule, Until
from aisbench_core.running.series.search_plans import WHAT
from aisbench_core.warehouse.measures.regression import EFFECT

# Repeats of a row at most, where a plan does not say: a search among versions has more rows.
MOST_REPEATS, MOST_OF_MANY = 30, 10

# A row with so many lost cells and no valid one is not tried any more.
GIVEN_UP = 3

# More certain than this is nobody of a model.
MOST_CERTAIN = 0.999

# The fewest versions between which there is something to search.
FEWEST_VERSIONS = 3


@dataclass(frozen=True, slots=True)
class RowValues:
    """A row of a series: its valid values, and the number of its active and lost cells."""

    title: Message | str
    values: Sequence[float]
    active: int = 0
    lost: int = 0

    @property
    def begun(self) -> int:
        """The number of its cells that were launched."""
        return len(self.values) + self.active + self.lost

    @property
    def is_given_up(self) -> bool:
        """Whether it fails again and again."""
        return not self.values and self.lost >= GIVEN_UP


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a stopping rule says now. `wanted`: the rows to run next, the most wanted first. `later`: rows that may be
    wanted after them; no other needs a run.

    `probabilities`: of each row to be the first slower one, 0 to 1; empty while it is not known that one is."""

    until: Until
    is_met: bool
    finding: Message
    wanted: tuple[int, ...] = ()
    probabilities: tuple[float, ...] = ()
    later: tuple[int, ...] = ()


def is_bisect(until: object) -> bool:
    """Whether a rule, as somebody typed it, searches for the first slower version."""
    return str(until).strip().lower() == StopRule.FIRST_SLOWER


def most_repeats(until: str) -> int:
    """Of each row, where nobody says how many."""
    return MOST_OF_MANY if is_bisect(until) else MOST_REPEATS


def require_rule_fits(plan: SeriesPlan) -> None:
    """Raises SpecError if the plan's stopping rule cannot judge its rows."""
    if plan.stopping and (problems := [*_find_problems(plan, plan.stopping.rule)]):
        raise SpecError(WHAT, problems)


def choose_between(field: str, listed: Sequence[str], good: str = "", bad: str = "") -> Sequence[str]:
    """The versions, or images, from the good one to the bad one. Raises SpecError unless the good one comes first."""
    ends = {"good": good or listed[0], "bad": bad or listed[-1]}
    unknown = [
        Problem(name, Message("must be one of {field}: {listed}", field=field, listed=", ".join(listed)), end)
        for name, end in ends.items()
        if end not in listed
    ]
    if unknown:
        raise SpecError(WHAT, unknown)
    first, last = (listed.index(end) for end in ends.values())
    if last - first < FEWEST_VERSIONS - 1:
        message = Message("{good} and {bad} must be in this order, with others between them", **ends)
        raise SpecError(WHAT, [Problem(field, message, ", ".join(listed))])
    return listed[first : last + 1]


def _find_problems(plan: SeriesPlan, rule: StopRule) -> Iterator[Problem]:
    if plan.search:
        yield Problem("until", Message("a search has its own end: its trials"), plan.until)
        return
    rows = plan.cell_count // plan.repeats
    if rule is StopRule.HALF_WIDTH and plan.repeats < FEWEST:
        yield Problem("repeats", Message("half-width needs {fewest} or more", fewest=FEWEST), str(plan.repeats))
    if rule is StopRule.DECIDED and rows != 2:
        message = Message("decided compares exactly two rows, for example two versions")
        yield Problem("until", message, str(rows))
    if rule is StopRule.FIRST_SLOWER and not _is_line(plan, rows):
        message = Message(
            "first-slower needs {fewest} or more versions, or images, and nothing else that varies",
            fewest=FEWEST_VERSIONS,
        )
        yield Problem("until", message, str(rows))


def _is_line(plan: SeriesPlan, rows: int) -> bool:
    return rows >= FEWEST_VERSIONS and rows in (len(plan.versions), len(plan.images))


def judge_rows(until: Until, rows: Sequence[RowValues]) -> Judgement:
    """What the rule says of the rows, which are in the order of the plan."""
    match until.rule:
        case StopRule.HALF_WIDTH:
            return _judge_widths(until, rows)
        case StopRule.DECIDED:
            return _compare_two(until, *rows)
        case StopRule.FIRST_SLOWER:
            return _find_first_slower(until, rows)


def widen_interval(summary: Summary | None, values: Sequence[float], rule: StopRule) -> Summary | None:
    """The summary with an interval that holds although the rule chose when to stop."""
    if summary is None or summary.ci_low is None:
        return summary
    margin = narrow_margin(values) if rule is StopRule.HALF_WIDTH else anytime_margin(values)
    if margin is None:
        return summary.without_interval
    return replace(summary, ci_low=summary.mean * math.exp(-margin), ci_high=summary.mean * math.exp(margin))


def _judge_widths(until: Until, rows: Sequence[RowValues]) -> Judgement:
    """Every row by itself: one that is narrow enough is not run again."""
    margins = [narrow_margin(row.values) if len(row.values) >= FEWEST else None for row in rows]
    wide = [index for index, margin in enumerate(margins) if margin is None or margin > until.share]
    wanted = _order_by_runs(rows, wide)
    limit = _format_share(until.share)
    if not wide:
        return Judgement(until, True, Message("the interval of each row is ± {limit} or narrower", limit=limit))
    widest = max(wide, key=lambda index: math.inf if margins[index] is None else margins[index] or 0.0)
    found = (
        Message("too few runs")
        if margins[widest] is None
        else Message("± {share}", share=_format_share(margins[widest]))
    )
    finding = Message("{row}: {found}; wanted is ± {limit}", row=rows[widest].title, found=found, limit=limit)
    return Judgement(until, False, finding, wanted)


def _compare_two(until: Until, baseline: RowValues, candidate: RowValues) -> Judgement:
    """Whether the second row is faster or slower than the first, or less than EFFECT away from it."""
    sides = (baseline, candidate)
    wanted = () if any(side.is_given_up for side in sides) else _order_by_runs(sides, (0, 1))
    names = {"candidate": candidate.title, "baseline": baseline.title}
    found = anytime_change(baseline.values, candidate.values)
    if found is None:
        few = Message("{candidate} and {baseline}: too few runs to compare", **names)
        return Judgement(until, False, few, wanted)
    change, low, high = found
    texts = {
        **names,
        "change": _format_share(abs(change)),
        "interval": f"{format_change(low, 1)} … {format_change(high, 1)}",
    }
    if high < 0:
        return Judgement(until, True, Message("{candidate} is {change} slower than {baseline} ({interval})", **texts))
    if low > 0:
        return Judgement(until, True, Message("{candidate} is {change} faster than {baseline} ({interval})", **texts))
    if low > -EFFECT and high < EFFECT:
        texts["effect"] = _format_share(EFFECT)
        equal = Message("{candidate} and {baseline} differ by less than {effect} ({interval})", **texts)
        return Judgement(until, True, equal)
    undecided = Message("{candidate} and {baseline} cannot be told apart yet ({interval})", **texts)
    return Judgement(until, False, undecided, wanted)


def _find_first_slower(until: Until, rows: Sequence[RowValues]) -> Judgement:
    """First both ends, until the last row is known to be slower than the first; then the rows between them."""
    ends = (rows[0], rows[-1])
    compared = _compare_two(until, *ends)
    change = anytime_change(ends[0].values, ends[1].values)
    if not any(row.values for row in rows[1:-1]) and (change is None or change[2] >= 0):
        wanted = _order_by_runs(rows, (0, len(rows) - 1))
        return replace(compared, wanted=wanted, later=tuple(range(1, len(rows) - 1))) if compared.wanted else compared
    chances = locate_step([row.values for row in rows])
    first = chances.index(max(chances))
    before, behind = ([value for row in part for value in row.values] for part in (rows[:first], rows[first:]))
    texts = {
        "row": rows[first].title,
        "chance": _format_share(min(chances[first], MOST_CERTAIN)),
        "change": _format_share(1 - geometric_mean(behind) / geometric_mean(before)),
    }
    if chances[first] >= 1 - ALPHA:
        named = Message(
            "{row} is the first slower one: {change} slower than those before it ({chance} certain)", **texts
        )
        return Judgement(until, True, named, (), tuple(chances))
    likely = Message("{row} is most likely the first slower one ({chance}); wanted is 95 %", **texts)
    active = [index for index, row in enumerate(rows) if row.active]
    wanted = tuple(index for index in rank_versions(chances, active) if not rows[index].is_given_up)
    later = tuple(index for index in range(1, len(rows) - 1) if index not in wanted) if wanted else ()
    return Judgement(until, False, likely, wanted, tuple(chances), later)


def _order_by_runs(rows: Sequence[RowValues], indices: Iterable[int]) -> tuple[int, ...]:
    """Those that are not given up, with the fewest runs first: drift affects all alike."""
    return tuple(sorted((each for each in indices if not rows[each].is_given_up), key=lambda each: rows[each].begun))


def _format_share(share: float | None) -> str:
    return f"{100 * (share or 0.0):.3g} %"
