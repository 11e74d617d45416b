"""Evaluation of runs by a ruleset: of one that is being recorded, or of any number that are stored."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from aisbench_core.base.messages import Message, make_verbatim
from aisbench_core.base.messages.stored import from_data, to_data
from aisbench_core.domain.rulesets.ruleset import Consequence, Ruleset, ValidityRule
from aisbench_core.model import Division, RunState, canonical_json
from aisbench_core.warehouse.validity.facts import Facts, facts_of
from aisbench_core.warehouse.validity.run_checks import CHECKS, division_of, no_result
from aisbench_core.warehouse.values.runs import Check, CheckLevel, Validity

_Plan = Sequence[tuple[Any, ValidityRule, CheckLevel]]


class Evaluation(NamedTuple):
    """The outcome of a run's checks, as its columns are stored."""

    checks: str
    failed_checks: str
    warned_checks: str
    validity: str
    ruleset_id: str
    ruleset_sha256: str


class Evaluator:
    """One ruleset, prepared to evaluate many runs."""

    def __init__(self, ruleset: Ruleset) -> None:
        self.ruleset = ruleset
        self.straggler_share = ruleset.run.V05.share if ruleset.run.V05 else 0.0
        self._plans: Mapping[Division, _Plan] = {
            division: _build_plan(ruleset, division) for division in (Division.CLOSED, Division.OPEN)
        }

    def evaluate(self, facts: Facts) -> Evaluation:
        """Check one run: it is valid if it completed and no check failed, incomplete without a result.

        An imported result is claimed where a launched one would be valid: nobody here saw what ran. A person may have
        set aside either."""
        checks = self._run_checks(facts)
        failed = ";".join([check.id for check in checks if check.level is CheckLevel.FAIL])
        warned = ";".join([check.id for check in checks if check.level is CheckLevel.WARN])
        stored = f"[{','.join(map(_as_json, checks))}]"
        is_complete = facts.ranks_expected is not None and facts.state == RunState.COMPLETED
        validity = derive_validity(is_complete, failed, facts.set_aside, facts.imported)
        return Evaluation(stored, failed, warned, validity.value, self.ruleset.id, self.ruleset.sha256)

    def evaluate_cells(
        self,
        run: Mapping[str, Any],
        result: Mapping[str, Any],
        cards: Sequence[Sequence[Any]],
        servers: Sequence[Sequence[Any]],
    ) -> Evaluation:
        """Check a run that is about to be stored."""
        return self.evaluate(facts_of(run, result, cards, servers, self.straggler_share))

    def _run_checks(self, facts: Facts) -> list[Check]:
        if facts.ranks_expected is None:
            return [no_result(facts)]
        checks = (check(facts, rule, level) for check, rule, level in self._plans[division_of(facts)])
        return [check for check in checks if check is not None]


def _build_plan(ruleset: Ruleset, division: Division) -> _Plan:
    levels = {Consequence.FAIL: CheckLevel.FAIL, Consequence.WARN: CheckLevel.WARN}
    return [
        (CHECKS[rule_id], rule, levels[rule.of(division)])
        for rule_id, rule in ruleset.rules.items()
        if rule_id in CHECKS and rule.of(division) in levels
    ]


def derive_validity(is_complete: bool, failed: str, set_aside: str, imported: bool) -> Validity:
    """What follows from the ids of failed checks and from the reason for setting the run aside."""
    if not is_complete:
        return Validity.INCOMPLETE
    if failed:
        return Validity.INVALID
    if set_aside:
        return Validity.SET_ASIDE
    return Validity.CLAIMED if imported else Validity.VALID


_SENTENCES = ("evidence", "expected", "found")

# Stored in place of their data: most sentences have no values, and some are quoted text.
_IS_TEMPLATE, _IS_QUOTED = "true", "false"
_QUOTED = make_verbatim("").template

_string = json.encoder.encode_basestring
"""A JSON string, as an encoder without `ensure_ascii` writes it."""


_MOST_WRITTEN = 4096
_written: dict[int, tuple[Check, str]] = {}


def _as_json(check: Check) -> str:
    """A check as `canonical_json` writes it, in a third of its time: a million runs have ten million checks."""
    # By identity: the usual checks are one object for all runs, and equal texts can be of different templates.
    known = _written.get(id(check))
    if known is not None and known[0] is check:
        return known[1]
    if len(_written) >= _MOST_WRITTEN:
        _written.clear()
    text = _encode_check(check)
    _written[id(check)] = check, text
    return text


def _encode_check(check: Check) -> str:
    evidence, expected, found = texts = check.evidence, check.expected, check.found
    data = ",".join(
        [
            f'"{name}":{_encode_data(text)}'
            for name, text in zip(_SENTENCES, texts, strict=True)
            if isinstance(text, Message)
        ]
    )
    return (
        f'{{"data":{{{data}}},"evidence":{_string(evidence)},"expected":{_string(expected)},"found":{_string(found)},'
        f'"id":{_string(check.id)},"level":{_string(check.level)}}}'
    )


def _encode_data(sentence: Message) -> str:
    if not sentence.values:
        return _IS_TEMPLATE
    if sentence.template == _QUOTED:
        return _IS_QUOTED
    if type(sentence) is not Message:
        return canonical_json(to_data(sentence))
    values = []
    for name, value in sorted(sentence.values.items()):
        if type(value) is str:
            values.append(f"{_string(name)}:{_string(value)}")
        elif type(value) is int:
            values.append(f"{_string(name)}:{value}")
        else:
            return canonical_json(to_data(sentence))
    return f'{{"id":{_string(sentence.template)},"values":{{{",".join(values)}}}}}'


def without_data(checks: str) -> str:
    """Stored checks without the data of their sentences, as earlier versions stored them."""
    return canonical_json([{name: cells[name] for name in cells if name != "data"} for cells in json.loads(checks)])


def stored_check(cells: Mapping[str, Any]) -> Check:
    """A check from its stored cells; its sentences are Messages where their data are stored."""
    evidence, expected, actual = (_decode_sentence(cells, name) for name in _SENTENCES)
    return Check(cells["id"], CheckLevel(cells["level"]), expected, actual, evidence)


def _decode_sentence(cells: Mapping[str, Any], name: str) -> str:
    text, data = cells.get(name, ""), cells.get("data")
    stored = data.get(name) if isinstance(data, dict) else None
    if stored is False:
        return make_verbatim(text)
    return from_data(text, {"id": text, "values": {}} if stored is True else stored)


# Pages list the same runs again and again, and parsing 50 runs' checks takes as long as finding them.
@lru_cache(maxsize=2048)
def stored_checks(text: str) -> tuple[Check, ...]:
    """The checks in a cell of the column `checks`."""
    return tuple(stored_check(cells) for cells in json.loads(text))
