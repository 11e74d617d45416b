"""What each rule of a ruleset looks at in one run: what it expects, and what it found.

A rule that has nothing to look at (no cards, no power, no second server) says nothing. Levels, thresholds and words
about a rule are the ruleset's; an imported result that says nothing of single cards, and accuracy on synthetic data,
are warned about however strict a ruleset is: there is nothing that could be wrong.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from aisbench_core.model import Division
from aisbench_core.model.system import MOST_LETTERS
from aisbench_core.rulesets.ruleset import (
    Accuracy,
    Agreement,
    Clock,
    Consequence,
    Definitions,
    Description,
    Durations,
    Fields,
    Power,
    Rule,
    ServerAccuracy,
    Stragglers,
    Times,
)
from aisbench_core.warehouse.facts import LONGEST_S, Card, Cards, Facts
from aisbench_core.warehouse.throughput import AS_REPORTED, is_usable
from aisbench_core.warehouse.values import Check, CheckLevel

NOT_NEGATIVE = ("average_power", "max_power", "energy_consumption", "efficientcy", "resource_util_ratio")
PERIODS = ("prepare", "dataload", "proc", "total")
SYSTEM_FIELDS = 33
_SECOND = 1_000_000
_LEVELS = {Consequence.FAIL: CheckLevel.FAIL, Consequence.WARN: CheckLevel.WARN, Consequence.OFF: CheckLevel.OK}

Look: TypeAlias = Callable[[Facts, Any, CheckLevel], Check | None]
"""Facts, the rule, and the level of a check that it does not fulfil."""


def division_of(facts: Facts) -> Division:
    """The division whose levels count: closed only when that is stated, and never for a rehearsal."""
    return Division.CLOSED if facts.division == Division.CLOSED and not facts.rehearsal else Division.OPEN


def no_result(facts: Facts) -> Check:
    """The only check of a run that has no result."""
    return Check("V01", CheckLevel.FAIL, "a result", "none", facts.detail)


def _fields(facts: Facts, rule: Fields, level: CheckLevel) -> Check:
    problems = json.loads(facts.problems) if facts.problems else ()
    wrong = list(dict.fromkeys([*problems, *_missing(facts, rule), *_out_of_range(facts)]))
    found = "; ".join(wrong) or "all"
    return Check("V01", level if wrong else CheckLevel.OK, "every required field, in range", found, "train_result_info")


def _missing(facts: Facts, rule: Fields) -> Iterator[str]:
    return (f"{name} is missing" for name in rule.required if getattr(facts, name) in (None, ""))


def _out_of_range(facts: Facts) -> Iterator[str]:
    reported = facts.throughput_ratio
    if reported is not None and not is_usable(reported):
        yield f"throughput_ratio is {reported}, allowed: 1e-100 to 1e+100"
    for name in NOT_NEGATIVE:
        value = getattr(facts, name)
        if value is not None and not value >= 0:
            yield f"{name} is {value}, allowed: 0 or more"
    if facts.resource_util_ratio is not None and facts.resource_util_ratio > 1:
        yield f"resource_util_ratio is {facts.resource_util_ratio}, allowed: at most 1"


def _times(facts: Facts, rule: Times, level: CheckLevel) -> Check:
    wrong = list(_late(facts))
    if wrong or not rule.inside_total:
        found = ", ".join(wrong) or "all do"
        return Check("V02", level if wrong else CheckLevel.OK, "every period starts before it ends", found)
    outside = list(_outside(facts))
    found = ", ".join(outside) or "all do"
    return Check("V02", level if outside else CheckLevel.OK, "every period lies inside total", found)


def _late(facts: Facts) -> Iterator[str]:
    for name in PERIODS:
        start, end = _period(facts, name)
        if start is not None and end is not None and start > end:
            yield name


def _outside(facts: Facts) -> Iterator[str]:
    first, last = _period(facts, "total")
    for name in PERIODS[:-1]:
        start, end = _period(facts, name)
        early = start is not None and first is not None and start < first
        if early or (end is not None and last is not None and end > last):
            yield name


def _period(facts: Facts, name: str) -> tuple[int | None, int | None]:
    return getattr(facts, f"{name}_start_time"), getattr(facts, f"{name}_end_time")


def _ranks(facts: Facts, _: Rule, level: CheckLevel) -> Check:
    if facts.imported and not facts.cards.stored:
        evidence = "the imported result holds only its sum"
        return Check("V03", CheckLevel.WARN, "a throughput of each card", "none", evidence)
    expected, found = facts.ranks_expected or 0, facts.ranks_found
    cards = expected if facts.card_count is None else facts.card_count
    whole = 0 < expected == facts.cards.stored == found == cards
    evidence = "; ".join([*map(_card, facts.cards.unusable), *_miscounted(facts.cards, expected, found or 0)])
    return Check("V03", CheckLevel.OK if whole else level, f"{cards} ranks", f"{found} of {expected} ranks", evidence)


def _miscounted(cards: Cards, expected: int, found: int) -> Iterator[str]:
    if cards.stored < expected:
        yield f"ranks that are missing: {expected - cards.stored}"
    if not cards.unusable and found < cards.stored:
        yield f"ranks that are there more than once: {cards.stored - found}"


def _card(card: Card) -> str:
    server, rank, throughput = card
    return f"server {server} rank {rank}: {'no number' if throughput is None else f'{throughput:.7g}'}"


def _agreement(facts: Facts, rule: Agreement, level: CheckLevel) -> Check | None:
    reported, computed = facts.throughput_ratio, facts.throughput
    if reported is None or computed is None or not is_usable(reported) or facts.formula_id == AS_REPORTED:
        return None
    agrees = math.isclose(reported, computed, rel_tol=rule.tolerance)
    return Check("V04", CheckLevel.OK if agrees else level, repr(computed), repr(reported), facts.formula_id)


def _stragglers(facts: Facts, rule: Stragglers, level: CheckLevel) -> Check | None:
    if facts.throughput is None or facts.formula_id == AS_REPORTED:
        return None
    cards = facts.cards
    evidence = "; ".join(map(_card, cards.slowest))
    expected = f"every rank at {_percent(rule.share)} of the median or above"
    return Check("V05", level if cards.slow else CheckLevel.OK, expected, f"{cards.slow} below", evidence)


def _accuracy(facts: Facts, rule: Accuracy, level: CheckLevel) -> Check:
    accuracy = facts.accuracy
    found = "not measured" if accuracy is None else repr(accuracy)
    if facts.synthetic_data:
        return Check("V06", CheckLevel.WARN, "real data", found, "accuracy on synthetic data is not a measurement")
    if accuracy is None or not 0 < accuracy <= 1:
        return Check("V06", level, "above 0 and at most 1", found)
    target, source = target_of(facts.workload, facts.model, facts.accuracy_target, facts.accuracy_target_source, rule)
    if target is None:
        return Check("V06", CheckLevel.OK, "above 0 and at most 1", found, "the workload has no target")
    missed = _LEVELS[rule.below_target.of(division_of(facts))]
    return Check("V06", CheckLevel.OK if accuracy >= target else missed, f"at least {target!r}", found, source)


def target_of(
    workload: str, model: str, own: float | None, own_source: str, rule: Accuracy
) -> tuple[float | None, str]:
    """The accuracy that a run has to reach, and where that is said: the ruleset's word counts before the workload's."""
    stated = rule.targets.get(workload) or rule.targets.get(model)
    return (stated.accuracy, stated.source) if stated else (own, own_source)


def _server_accuracy(facts: Facts, rule: ServerAccuracy, level: CheckLevel) -> Check | None:
    lowest, highest = facts.lowest_accuracy, facts.highest_accuracy
    if lowest is None or highest is None:
        return None
    expected = f"servers within {rule.most_apart!r} of each other"
    apart = highest - lowest > rule.most_apart
    return Check("V07", level if apart else CheckLevel.OK, expected, f"{lowest!r} to {highest!r}")


def _code(facts: Facts, _: Rule, level: CheckLevel) -> Check:
    known = CheckLevel.OK if facts.code_sha256 else level
    return Check("V15", known, "a hash of the code", facts.code_sha256 or "none")


def _definition(facts: Facts, rule: Definitions, level: CheckLevel) -> Check | None:
    if not rule.allowed:
        return None
    allowed = facts.throughput_definition in rule.allowed
    expected = f"one of {', '.join(rule.allowed)}"
    return Check("V16", CheckLevel.OK if allowed else level, expected, facts.throughput_definition or "none")


def _power(facts: Facts, rule: Power, level: CheckLevel) -> Check | None:
    if facts.average_power is None:
        return None
    if facts.max_power is not None and facts.average_power > facts.max_power:
        found = f"{facts.average_power!r} W on average, {facts.max_power!r} W at most"
        return Check("V19", level, "an average below the maximum", found)
    start, end = _period(facts, "total")
    if facts.energy_consumption is None or start is None or end is None or end <= start:
        return Check("V19", CheckLevel.OK, "an average below the maximum", f"{facts.average_power!r} W on average")
    energy = facts.average_power * (end - start) / _SECOND
    agrees = math.isclose(energy, facts.energy_consumption, rel_tol=rule.tolerance)
    return Check(
        "V19",
        CheckLevel.OK if agrees else level,
        f"{energy!r} J",
        f"{facts.energy_consumption!r} J",
        "average_power x total time",
    )


def _description(facts: Facts, rule: Description, level: CheckLevel) -> Check:
    known = facts.system_fields or 0
    enough = CheckLevel.OK if known >= rule.fields else level
    return Check("V21", enough, f"{rule.fields} of {SYSTEM_FIELDS} fields", f"{known} fields", "system description")


def _durations(facts: Facts, rule: Durations, level: CheckLevel) -> Check | None:
    start, end = _period(facts, "total")
    if facts.duration_s is None or start is None or end is None or end < start:
        return None
    total = (end - start) / _SECOND
    longer = facts.duration_s > total * (1 + rule.tolerance)
    found = f"{facts.duration_s!r} s"
    return Check("V23", level if longer else CheckLevel.OK, f"at most {total!r} s", found, "platform duration, total")


def _model(facts: Facts, _: Rule, level: CheckLevel) -> Check | None:
    if not facts.test_model or not facts.model:
        return None
    same = _letters(facts.test_model) == _letters(
        facts.model[:MOST_LETTERS]
    )  # of which the configuration holds so many
    return Check("V25", CheckLevel.OK if same else level, facts.model, facts.test_model, "config.json")


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())


_MOMENTS = ("created_at", "submitted_at", "started_at", "ended_at")


def _clock(facts: Facts, rule: Clock, level: CheckLevel) -> Check:
    """Only stored times are compared with each other: a verdict must not depend on when it is asked for."""
    ahead = rule.ahead_s * _SECOND
    last, wrong = None, []
    for name in _MOMENTS[1:] if facts.imported else _MOMENTS:
        moment = getattr(facts, name)
        if moment is None:
            continue
        if last is not None and moment < last[1] - ahead:
            wrong.append(f"{name} lies before {last[0]}")
        if last is not None and moment > last[1] + LONGEST_S * _SECOND:
            wrong.append(f"{name} lies months after {last[0]}")
        last = (name, moment)
    wrong += _after_the_end(facts, ahead)
    return Check("V26", level if wrong else CheckLevel.OK, "times in their order", "; ".join(wrong) or "all are")


def _after_the_end(facts: Facts, ahead: int) -> Iterator[str]:
    """Nothing is later than the moment at which somebody took the result down."""
    named = "imported_at" if facts.imported else "total_end_time"
    known = facts.imported_at if facts.imported else facts.total_end_time
    if known is None:
        return
    for name in ("ended_at", "proc_end_time", *(("total_end_time",) if facts.imported else ())):
        moment = getattr(facts, name)
        if moment is not None and moment > known + ahead:
            yield f"{name} lies after {named}"


def _percent(share: float) -> str:
    return f"{share * 100:g}%"


LOOKS: Mapping[str, Look] = {
    "V01": _fields,
    "V02": _times,
    "V03": _ranks,
    "V04": _agreement,
    "V05": _stragglers,
    "V06": _accuracy,
    "V07": _server_accuracy,
    "V15": _code,
    "V16": _definition,
    "V19": _power,
    "V21": _description,
    "V23": _durations,
    "V25": _model,
    "V26": _clock,
}
"""Every rule about one run, by its id."""
