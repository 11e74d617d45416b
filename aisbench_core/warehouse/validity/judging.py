"""Verdicts: a ruleset over the facts of runs, one that is being recorded as well as all that are stored."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, NamedTuple

from aisbench_core.messages import Message, from_data, to_data, verbatim
from aisbench_core.model import Division, RunState, canonical_json
from aisbench_core.rulesets.ruleset import Consequence, Ruleset, ValidityRule
from aisbench_core.warehouse.checks import LOOKS, division_of, no_result
from aisbench_core.warehouse.records.facts import Facts, facts_of
from aisbench_core.warehouse.values import Check, CheckLevel, Validity

_Plan = Sequence[tuple[Any, ValidityRule, CheckLevel]]


class Verdict(NamedTuple):
    """What a ruleset says of a run, as it is stored."""

    checks: str
    failed_checks: str
    warned_checks: str
    validity: str
    ruleset_id: str
    ruleset_sha256: str


class Judge:
    """One ruleset, ready to judge any number of runs."""

    def __init__(self, ruleset: Ruleset) -> None:
        self.ruleset = ruleset
        self.straggler_share = ruleset.run.V05.share if ruleset.run.V05 else 0.0
        self._plans: Mapping[Division, _Plan] = {
            division: _plan(ruleset, division) for division in (Division.CLOSED, Division.OPEN)
        }

    def verdict(self, facts: Facts) -> Verdict:
        """The verdict on one run: valid only if it completed and no check failed, incomplete if nothing is whole.

        An imported result is claimed where a launched one would be valid: what ran was not seen from here."""
        found = self._checks(facts)
        failed = ";".join([check.id for check in found if check.level is CheckLevel.FAIL])
        warned = ";".join([check.id for check in found if check.level is CheckLevel.WARN])
        checks = f"[{','.join(map(_as_json, found))}]"
        validity = _validity(facts, failed).value
        return Verdict(checks, failed, warned, validity, self.ruleset.id, self.ruleset.sha256)

    def of_cells(
        self,
        run: Mapping[str, Any],
        result: Mapping[str, Any],
        cards: Sequence[Sequence[Any]],
        servers: Sequence[Sequence[Any]],
    ) -> Verdict:
        """The verdict on a run that is about to be stored."""
        return self.verdict(facts_of(run, result, cards, servers, self.straggler_share))

    def _checks(self, facts: Facts) -> list[Check]:
        if facts.ranks_expected is None:
            return [no_result(facts)]
        found = (look(facts, rule, level) for look, rule, level in self._plans[division_of(facts)])
        return [check for check in found if check is not None]


def _plan(ruleset: Ruleset, division: Division) -> _Plan:
    levels = {Consequence.FAIL: CheckLevel.FAIL, Consequence.WARN: CheckLevel.WARN}
    return [
        (LOOKS[rule_id], rule, levels[rule.of(division)])
        for rule_id, rule in ruleset.rules.items()
        if rule_id in LOOKS and rule.of(division) in levels
    ]


def _validity(facts: Facts, failed: str) -> Validity:
    if facts.ranks_expected is None or facts.state != RunState.COMPLETED:
        return Validity.INCOMPLETE
    if failed:
        return Validity.INVALID
    return Validity.CLAIMED if facts.imported else Validity.VALID


_CHECK = tuple(field.name for field in fields(Check))


_SAID = ("expected", "found", "evidence")
_OURS, _THEIRS = True, False
"""Instead of the data of a sentence without values, which is its own template, and of somebody else's text."""


def _as_json(check: Check) -> str:
    """Most checks of most runs say the same."""
    return _json_of(check, tuple(_told_apart(getattr(check, name)) for name in _SAID))


def _told_apart(text: object) -> object:
    """Equal texts can have different values, or be no sentence of ours."""
    if not isinstance(text, Message):
        return None
    return text.template, *((value, _told_apart(value)) for value in text.values.values())


@lru_cache(maxsize=8192)
def _json_of(check: Check, _told: object) -> str:
    data = {name: _data(text) for name in _SAID if isinstance(text := getattr(check, name), Message)}
    return canonical_json({name: getattr(check, name) for name in _CHECK} | {"data": data})


def _data(sentence: Message) -> object:
    if not sentence.values:
        return _OURS
    return _THEIRS if sentence.template == verbatim("").template else to_data(sentence)


def without_data(checks: str) -> str:
    """The checks of a stored verdict as versions stored them that did not know their values."""
    return canonical_json([{name: cells[name] for name in cells if name != "data"} for cells in json.loads(checks)])


def stored_check(cells: Mapping[str, Any]) -> Check:
    """A check as it was stored, its sentences with their values where they are known."""
    expected, found, evidence = (_sentence(cells, name) for name in _SAID)
    return Check(cells["id"], CheckLevel(cells["level"]), expected, found, evidence)


def _sentence(cells: Mapping[str, Any], name: str) -> str:
    text, data = cells.get(name, ""), cells.get("data")
    known = data.get(name) if isinstance(data, dict) else None
    if known is _THEIRS:
        return verbatim(text)
    return from_data(text, {"id": text, "values": {}} if known is _OURS else known)


def stored_checks(text: str) -> tuple[Check, ...]:
    """The checks of a stored verdict."""
    return tuple(stored_check(cells) for cells in json.loads(text))
