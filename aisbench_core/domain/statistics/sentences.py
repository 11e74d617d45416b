"""What a comparison comes to, as a sentence that can be sent on: by how much, how sure, from how many runs."""

from dataclasses import dataclass

from aisbench_core.base.formats import change_digits, format_change
from aisbench_core.base.messages import Message
from aisbench_core.domain.statistics.difference import MeanDifference, TTest, Unit

# What a throughput is divided by where sizes differ.
_PER = {"card": Message(" per card"), "node": Message(" per node")}


CONFOUNDED = Message(
    "cannot be told from the day: run both versions on the same day, or on five days or more between them"
)

TREND = Message("The runs follow a straight line: a trend, not a change of level.")

_TESTS = {
    TTest.POOLED: Message("t test with pooled spread, because both sides vary alike"),
    TTest.WELCH: Message("Welch's t test, because the smaller side varies more"),
    TTest.MODERATED: Message("t test with the spread that the groups share, because they are judged together"),
    TTest.TREND: Message("t test of the step beyond a straight line, because the runs drift"),
    TTest.CORRELATED: Message("t test with a larger error, because runs depend on the one before"),
    TTest.WITHIN_DAYS: Message("t test within days, because both sides ran on the same days"),
    TTest.PERMUTATION: Message("permutation test, because there are outliers"),
    TTest.RANK_SUM: Message("rank sum test (Mann–Whitney), because there are outliers"),
    TTest.ASSUMED: Message("test with an assumed spread between days, because too few days repeat"),
}

_UNITS = {
    Unit.RUN: Message("the run, because no day weighs on one side alone"),
    Unit.DAY: Message("the day, because runs of one day are alike"),
}


def method_sentence(difference: MeanDifference) -> Message:
    """Which test decided, what the unit of repetition is, and why."""
    return Message("{test}; the unit is {unit}.", test=_TESTS[difference.test], unit=_UNITS[difference.unit])


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: what it ran, on what, in how many valid runs; `name` if the rest is the same."""

    name: str
    version: str
    hardware: str
    runs: int


def difference_sentence(size: MeanDifference, candidate: Side, baseline: Side, per: str = "") -> Message:
    """Slower or faster with the interval, or that no difference is shown: where the interval has both signs."""
    low, high = size.ci_low, size.ci_high
    names = _name_sides(candidate, baseline) | {"per": _PER.get(per, "")}
    counts = {"runs": candidate.runs, "before": baseline.runs}
    if low <= 0 <= high:
        return Message(
            "No difference{per} between {candidate} and {baseline}{on} is shown: {change}"
            " (95 % interval: {interval}; {runs} and {before} runs)",
            change=format_change(size.change, 1),
            interval=f"{format_change(low, 1)} … {format_change(high, 1)}",
            **names,
            **counts,
        )
    values = _format_size(size)
    if high < 0:
        return Message(
            "{candidate} is {change} slower{per} than {baseline}{on}"
            " (95 % interval: {interval}; {runs} and {before} runs)",
            **(values | names | counts),
        )
    return Message(
        "{candidate} is {change} faster{per} than {baseline}{on} (95 % interval: {interval}; {runs} and {before} runs)",
        **(values | names | counts),
    )


def difference_headline(size: MeanDifference, candidate: str, baseline: str, per: str = "") -> Message:
    """Slower or faster with the interval, in a few words; of a difference whose interval has one sign."""
    values = {**_format_size(size), "candidate": candidate, "baseline": baseline, "per": _PER.get(per, "")}
    if size.change < 0:
        return Message("{candidate} is {change} slower{per} than {baseline} ({interval})", **values)
    return Message("{candidate} is {change} faster{per} than {baseline} ({interval})", **values)


def _format_size(size: MeanDifference) -> dict[str, str]:
    near, far = sorted((abs(size.ci_low), abs(size.ci_high)))
    digits = change_digits(size.change)
    interval = f"{100 * near:.{digits}f}–{100 * far:.{digits}f} %"
    return {"change": f"{100 * abs(size.change):.{digits}f} %", "interval": interval}


def not_compared_sentence(reason: Message, candidate: Side, baseline: Side) -> Message:
    """That there is no comparison: the runs of a side may differ in what decides speed, or missed their target."""
    return Message(
        "{candidate} is not compared with {baseline}{on}: {mixed}", mixed=reason, **_name_sides(candidate, baseline)
    )


def _name_sides(candidate: Side, baseline: Side) -> dict[str, str]:
    """What distinguishes the two: versions, or hardware; what they share is named once."""
    if candidate.hardware != baseline.hardware:
        names = [f"{side.version} · {side.hardware}" for side in (candidate, baseline)]
        return {"candidate": names[0], "baseline": names[1], "on": ""}
    on = Message(" on {hardware}", hardware=candidate.hardware)
    names = [side.version if candidate.version != baseline.version else side.name for side in (candidate, baseline)]
    return {"candidate": names[0], "baseline": names[1], "on": on}
