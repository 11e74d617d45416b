"""The check that each rule of a ruleset makes of one run: what it expects, and what it found.

A rule without anything to check (no cards, no power, no second server) makes no check. Levels, thresholds and
descriptions of rules are in the ruleset. Two checks warn however strict a ruleset is, because nothing is wrong: of an
imported result without single cards, and of accuracy on synthetic data.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

from aisbench_core.base.formats import format_decimal
from aisbench_core.base.messages import Message, join_parts, make_verbatim
from aisbench_core.domain.rulesets.ruleset import (
    Accuracy,
    Clock,
    Consequence,
    Definitions,
    Description,
    Fields,
    ServerAccuracy,
    Stragglers,
    Times,
    Tolerance,
    ValidityRule,
)
from aisbench_core.model import Division
from aisbench_core.model.columns import KEYS, LONGEST_S, PERIODS
from aisbench_core.model.system import MOST_LETTERS
from aisbench_core.warehouse.measures.throughput import AS_REPORTED, is_usable
from aisbench_core.warehouse.validity.facts import Card, Facts
from aisbench_core.warehouse.values.runs import Check, CheckLevel

SECOND = 1_000_000

_STARTS_FIRST = Message("every period starts before it ends")
_INSIDE_TOTAL = Message("every period lies inside total")
_NOT_LONGER = Message("no period is longer than total, or than {days} days", days=LONGEST_S // 86_400)
_ALL_DO = Message("all do")
_STARTS_OK, _INSIDE_OK = (Check("V02", CheckLevel.OK, expected, _ALL_DO) for expected in (_STARTS_FIRST, _INSIDE_TOTAL))
_TIMED = Message("platform duration, total")
_IN_ORDER, _ALL_ARE = Message("times in their order"), Message("all are")


def make_check(rule_id: str, passed: bool, level: CheckLevel, expected: str, actual: str, evidence: str = "") -> Check:
    """A check that is OK if it passed, and otherwise of this level."""
    return Check(rule_id, CheckLevel.OK if passed else level, expected, actual, evidence)


cached_message = lru_cache(maxsize=1024, typed=True)(Message)
"""A Message with few different values, none of them a Message, from a cache: most runs' are equal."""


def join_sentences(sentences: Sequence[str]) -> str:
    """Sentences separated by semicolons; empty when there is none."""
    return join_parts("; ", sentences) if sentences else ""


def check_times(facts: Facts, rule: Times, level: CheckLevel) -> Check:
    """V02: the phases of the result block, each by itself and inside the total.

    The seconds of one that ends before it starts, or that is too long, count as not measured (see `measured.py`)."""
    periods = [(name, *get_period(facts, name)) for name in PERIODS]
    _, first, last = periods[-1]
    wrong = [name for name, start, end in periods if _is_after(start, end)]
    if wrong:
        return Check("V02", level, _STARTS_FIRST, ", ".join(wrong))
    longest = min(LONGEST_S * SECOND, last - first) if first is not None and last is not None else LONGEST_S * SECOND
    wrong = [name for name, start, end in periods if start is not None and end is not None and end - start > longest]
    if wrong:
        return Check("V02", level, _NOT_LONGER, ", ".join(wrong))
    if not rule.inside_total:
        return _STARTS_OK
    wrong = [name for name, start, end in periods[:-1] if _is_after(first, start) or _is_after(end, last)]
    return Check("V02", level, _INSIDE_TOTAL, ", ".join(wrong)) if wrong else _INSIDE_OK


def _is_after(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one > other


def get_period(facts: Facts, name: str) -> tuple[int | None, int | None]:
    """Start and end of a phase of the result block, in microseconds."""
    return getattr(facts, f"{name}_start_time"), getattr(facts, f"{name}_end_time")


_TIME_DIGITS = 7  # milliseconds of an hour


def check_durations(facts: Facts, rule: Tolerance, level: CheckLevel) -> Check | None:
    """V23: the duration that the platform counted, against that of the result block."""
    start, end = get_period(facts, "total")
    if facts.duration_s is None or start is None or end is None or end < start:
        return None
    total = (end - start) / SECOND
    fits = facts.duration_s <= total * (1 + rule.tolerance)
    expected = Message("at most {number} s", number=format_decimal(total, _TIME_DIGITS))
    actual = f"{format_decimal(facts.duration_s, _TIME_DIGITS)} s"
    return make_check("V23", fits, level, expected, actual, _TIMED)


_TIMES = ("created_at", "submitted_at", "started_at", "ended_at")


def check_clock(facts: Facts, rule: Clock, level: CheckLevel) -> Check:
    """V26: the stored times, in order. The present time is not used: every evaluation must give the same."""
    ahead = rule.ahead_s * SECOND
    names = _TIMES[1:] if facts.imported else _TIMES
    measured = [(name, at) for name in names if (at := getattr(facts, name)) is not None]
    wrong: list[_Wrong] = []
    for (earlier, before), (later, after) in pairwise(measured):
        if after < before - ahead:
            wrong.append((_describe_before, later, earlier))
        if after > before + LONGEST_S * SECOND:
            wrong.append((_months_after, later, earlier))
    wrong += _after_the_end(facts, ahead)
    return _of_clocks(level, *wrong)


def _describe_before(later: str, earlier: str) -> Message:
    return Message("{later} lies before {earlier}", later=later, earlier=earlier)


def _months_after(later: str, earlier: str) -> Message:
    return Message("{later} lies months after {earlier}", later=later, earlier=earlier)


def _describe_after(later: str, earlier: str) -> Message:
    return Message("{later} lies after {earlier}", later=later, earlier=earlier)


_Wrong = tuple[Callable[[str, str], Message], str, str]
"""The sentence about two times that are out of order, and their names."""


@lru_cache(maxsize=1024)
def _of_clocks(level: CheckLevel, *wrong: _Wrong) -> Check:
    sentences = [sentence(later, earlier) for sentence, later, earlier in wrong]
    return make_check("V26", not wrong, level, _IN_ORDER, join_sentences(sentences) or _ALL_ARE)


def _after_the_end(facts: Facts, ahead: int) -> Iterator[_Wrong]:
    # The result was written, or imported, after everything that it is about.
    last = "imported_at" if facts.imported else "total_end_time"
    end = getattr(facts, last)
    if end is None:
        return
    for name in ("ended_at", "proc_end_time", *(("total_end_time",) if facts.imported else ())):
        at = getattr(facts, name)
        if at is not None and at > end + ahead:
            yield _describe_after, name, last


NOT_NEGATIVE = tuple(
    key.stored_name for key in KEYS if key.key and key.key.zero_is_unmeasured and key.stored_name in Facts._fields
)
SYSTEM_FIELDS = 33
_LEVELS = {Consequence.FAIL: CheckLevel.FAIL, Consequence.WARN: CheckLevel.WARN, Consequence.OFF: CheckLevel.OK}

NONE = Message("none")
_SHARE = Message("above 0 and at most 1")
_NO_ACCURACY = Message("no accuracy")
_BELOW_MAXIMUM = Message("an average below the maximum")
_ALL_FIELDS, _ALL = Message("every required field, in range"), Message("all")
_BLOCK = "train_result_info"
_FIELDS_OK = Check("V01", CheckLevel.OK, _ALL_FIELDS, _ALL, _BLOCK)
_HASH_OF_CODE = Message("a hash of the code")
_SYSTEM = Message("system description")

CheckFunction: TypeAlias = Callable[[Facts, Any, CheckLevel], Check | None]
"""Takes the facts, the rule, and the level of a check that does not pass."""


def division_of(facts: Facts) -> Division:
    """The division whose levels apply: closed only when that is stated, and never for a rehearsal."""
    return Division.CLOSED if facts.division == Division.CLOSED and not facts.rehearsal else Division.OPEN


def no_result(facts: Facts) -> Check:
    """The only check of a run without a result."""
    return Check("V01", CheckLevel.FAIL, Message("a result"), NONE, facts.how_it_ended)


def _check_fields(facts: Facts, rule: Fields, level: CheckLevel) -> Check:
    missing = [Message("{name} is missing", name=name) for name in list_missing(facts, rule)]
    wrong = list(dict.fromkeys([*facts.objections, *missing, *_out_of_range(facts)]))
    if not wrong:
        return _FIELDS_OK
    # Problems of results that older versions collected are plain text, which has no Chinese.
    are_messages = all(isinstance(problem, Message) for problem in wrong)
    actual = join_sentences(wrong) if are_messages else "; ".join(wrong)
    return Check("V01", level, _ALL_FIELDS, actual, _BLOCK)


def list_missing(facts: Facts, rule: Fields) -> list[str]:
    """The fields that the rule requires and the result does not have."""
    return [name for name in rule.required if getattr(facts, name) in (None, "")]


def _out_of_range(facts: Facts) -> Iterator[Message]:
    reported = facts.throughput_ratio
    if reported is not None and not is_usable(reported):
        yield Message("throughput_ratio is {found}, allowed: 1e-100 to 1e+100", found=str(reported))
    for name in NOT_NEGATIVE:
        value = getattr(facts, name)
        if value is not None and not value >= 0:
            yield Message("{name} is {found}, allowed: 0 or more", name=name, found=str(value))
    share = facts.resource_util_ratio
    if share is not None and share > 1:
        yield Message("resource_util_ratio is {found}, allowed: at most 1", found=str(share))


def _is_in_log(facts: Facts) -> bool:
    """Whether a launched run's script wrote no files, and its framework's log says how fast it was."""
    return not facts.imported and not facts.cards.stored and facts.throughput_ratio is not None


def _check_ranks(facts: Facts, _: ValidityRule, level: CheckLevel) -> Check:
    if (facts.imported and not facts.cards.stored) or _is_in_log(facts):
        in_file, in_log = Message("the imported result holds only its sum"), Message("the log says only their sum")
        evidence = in_file if facts.imported else in_log
        return Check("V03", CheckLevel.WARN, Message("a throughput of each card"), NONE, evidence)
    expected, usable = facts.ranks_expected or 0, facts.ranks_found
    cards = expected if facts.card_count is None else facts.card_count
    complete = 0 < expected == facts.cards.stored == usable == cards
    if complete and not facts.cards.unusable:
        return _all_ranks(expected)
    wrong = [*map(_describe_card, facts.cards.unusable)]
    if facts.cards.stored < expected:
        wrong.append(Message("ranks that are missing: {count}", count=expected - facts.cards.stored))
    if not facts.cards.unusable and (usable or 0) < facts.cards.stored:
        wrong.append(Message("ranks that are there more than once: {count}", count=facts.cards.stored - (usable or 0)))
    actual = cached_message("{found} of {expected} ranks", found=usable, expected=expected)
    return make_check(
        "V03", complete, level, cached_message("{count} ranks", count=cards), actual, join_sentences(wrong)
    )


@lru_cache(maxsize=1024)
def _all_ranks(count: int) -> Check:
    actual = Message("{found} of {expected} ranks", found=count, expected=count)
    return Check("V03", CheckLevel.OK, Message("{count} ranks", count=count), actual)


def _describe_card(card: Card) -> Message:
    server, rank, throughput = card
    number = Message("no number") if throughput is None else f"{throughput:.7g}"
    return Message("server {server} rank {rank}: {throughput}", server=server, rank=rank, throughput=number)


def _check_agreement(facts: Facts, rule: Tolerance, level: CheckLevel) -> Check | None:
    reported, computed = facts.throughput_ratio, facts.throughput
    if reported is None or computed is None or not is_usable(reported) or facts.formula_id == AS_REPORTED:
        return None
    agrees = math.isclose(reported, computed, rel_tol=rule.tolerance)
    return make_check("V04", agrees, level, repr(computed), repr(reported), facts.formula_id)


def _check_stragglers(facts: Facts, rule: Stragglers, level: CheckLevel) -> Check | None:
    if facts.throughput is None or facts.formula_id == AS_REPORTED:
        return None
    cards = facts.cards
    if not cards.slow and not cards.slowest:
        return _no_stragglers(rule.share)
    return make_check(
        "V05", not cards.slow, level, _describe_floor(rule.share), cached_message("{count} below", count=cards.slow),
        join_sentences(list(map(_describe_card, cards.slowest))),
    )  # fmt: skip


@lru_cache(maxsize=64)
def _no_stragglers(share: float) -> Check:
    return Check("V05", CheckLevel.OK, _describe_floor(share), Message("{count} below", count=0))


def _describe_floor(share: float) -> Message:
    return cached_message("every rank at {share} of the median or above", share=f"{share * 100:g} %")


def _check_accuracy(facts: Facts, rule: Accuracy, level: CheckLevel) -> Check:
    accuracy = facts.accuracy
    actual = _NO_ACCURACY if accuracy is None else f"{accuracy:.4g}"
    target, source = target_of(facts.workload, facts.model, facts.accuracy_target, facts.accuracy_target_source, rule)
    if facts.synthetic_data and target is None:
        return Check("V06", CheckLevel.OK, Message("not applicable: synthetic data, and no target"), actual)
    if facts.synthetic_data:
        evidence = Message("accuracy on synthetic data is not a measurement")
        return Check("V06", CheckLevel.WARN, Message("real data"), actual, evidence)
    if accuracy is None and target is None and _is_in_log(facts):
        return Check("V06", CheckLevel.WARN, _SHARE, actual, Message("the log says none, and there is no target"))
    if accuracy is None or not 0 < accuracy <= 1:
        return Check("V06", level, _SHARE, actual)
    if target is None:
        return Check("V06", CheckLevel.OK, _SHARE, actual, Message("the workload has no target"))
    below = _LEVELS[rule.below_target.of(division_of(facts))]
    expected = cached_message("at least {number}", number=repr(target))
    if accuracy < target <= float(actual):  # only rounded it reaches the target
        actual = repr(accuracy)
    return make_check("V06", accuracy >= target, below, expected, actual, cached_message("{text}", text=source))


def target_of(
    workload: str, model: str, own: float | None, own_source: str, rule: Accuracy
) -> tuple[float | None, str]:
    """The accuracy that a run has to reach, and its source: the ruleset's target before the workload's own."""
    stated = rule.targets.get(workload) or rule.targets.get(model)
    return (stated.accuracy, stated.source) if stated else (own, own_source)


def _server_accuracy(facts: Facts, rule: ServerAccuracy, level: CheckLevel) -> Check | None:
    lowest, highest = facts.lowest_accuracy, facts.highest_accuracy
    if lowest is None or highest is None:
        return None
    expected = Message("servers within {number} of each other", number=repr(rule.most_apart))
    actual = Message("{lowest} to {highest}", lowest=repr(lowest), highest=repr(highest))
    return make_check("V07", highest - lowest <= rule.most_apart, level, expected, actual)


def _check_code(facts: Facts, _: ValidityRule, level: CheckLevel) -> Check:
    return make_check("V15", bool(facts.code_sha256), level, _HASH_OF_CODE, _quote_text(facts.code_sha256))


def _quote_text(text: str) -> Message:
    return make_verbatim(text) if text else NONE


def _check_definition(facts: Facts, rule: Definitions, level: CheckLevel) -> Check | None:
    if not rule.allowed:
        return None
    expected = Message("one of {allowed}", allowed=", ".join(rule.allowed))
    definition = facts.throughput_definition
    return make_check("V16", definition in rule.allowed, level, expected, _quote_text(definition))


def _check_power(facts: Facts, rule: Tolerance, level: CheckLevel) -> Check | None:
    if facts.average_power is None:
        return None
    if facts.max_power is not None and facts.average_power > facts.max_power:
        average, most = repr(facts.average_power), repr(facts.max_power)
        actual = Message("{average} W on average, {most} W at most", average=average, most=most)
        return Check("V19", level, _BELOW_MAXIMUM, actual)
    start, end = get_period(facts, "total")
    # Ours is the energy of the time in which the cards were read, which is not the whole of it.
    if not facts.imported or facts.energy_consumption is None or start is None or end is None or end <= start:
        actual = Message("{average} W on average", average=repr(facts.average_power))
        return Check("V19", CheckLevel.OK, _BELOW_MAXIMUM, actual)
    energy, reported = facts.average_power * (end - start) / SECOND, facts.energy_consumption
    agrees = math.isclose(energy, reported, rel_tol=rule.tolerance)
    return make_check("V19", agrees, level, f"{energy!r} J", f"{reported!r} J", Message("average_power x total time"))


def _check_description(facts: Facts, rule: Description, level: CheckLevel) -> Check:
    filled = facts.system_fields or 0
    expected = cached_message("{count} of {total} fields", count=rule.fields, total=SYSTEM_FIELDS)
    return make_check(
        "V21", filled >= rule.fields, level, expected, cached_message("{count} fields", count=filled), _SYSTEM
    )


def _check_model(facts: Facts, _: ValidityRule, level: CheckLevel) -> Check | None:
    if not facts.test_model or not facts.model:
        return None
    return _of_models(level, facts.model, facts.test_model)


@lru_cache(maxsize=1024)
def _of_models(level: CheckLevel, model: str, stated: str) -> Check:
    # The tester's configuration cuts off longer names.
    is_same = _keep_letters(stated) == _keep_letters(model[:MOST_LETTERS])
    return make_check("V25", is_same, level, make_verbatim(model), make_verbatim(stated), "config.json")


def _keep_letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())


CHECKS: Mapping[str, CheckFunction] = {
    "V01": _check_fields,
    "V02": check_times,
    "V03": _check_ranks,
    "V04": _check_agreement,
    "V05": _check_stragglers,
    "V06": _check_accuracy,
    "V07": _server_accuracy,
    "V15": _check_code,
    "V16": _check_definition,
    "V19": _check_power,
    "V21": _check_description,
    "V23": check_durations,
    "V25": _check_model,
    "V26": check_clock,
}
