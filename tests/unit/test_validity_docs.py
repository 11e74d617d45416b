"""docs/validity.md says what the rulesets say: every ruleset, every rule, and their levels."""

import json
import re
from collections.abc import Iterator

from aisbench_core.config.settings import HOME
from aisbench_core.domain.rulesets.ruleset import Ruleset, Rulesets, RunRules, SeriesRules, ValidityRule, get_shipped
from aisbench_core.warehouse.validity.run_checks import CHECKS
from aisbench_core.warehouse.validity.series_checks import SERIES_CHECKS as OF_SERIES

DOCUMENT = HOME / "docs" / "validity.md"
RULESETS = "| ruleset | title | edition | rules | inferred |\n|---|---|---|---|---|\n"
RULES = "| id | requirement | closed | open | settings |\n|---|---|---|---|---|\n"


def document() -> str:
    """docs/validity.md with its tables as the rulesets would write them."""
    page = DOCUMENT.read_text("utf-8")
    run, series = (f"## Rules about a {what}\n\n" + RULES for what in ("run", "series"))
    page = _with_rows(page, RULESETS, [_ruleset(get_shipped(name)) for name in Rulesets().ids()])
    page = _with_rows(page, run, _rules(RunRules))
    return _with_rows(page, series, _rules(SeriesRules))


def _with_rows(page: str, head: str, rows: Iterator[str] | list[str]) -> str:
    before, found, after = page.partition(head)
    assert found, head
    return before + head + "".join(rows) + re.sub(r"\A(\|.*\n)*", "", after)


def _ruleset(each: Ruleset) -> str:
    inferred = sum(rule.inferred for rule in each.rules.values())
    return f"| `{each.id}` | {each.title} | {each.edition} | {len(each.rules)} | {inferred} |\n"


def _rules(kind: type[RunRules] | type[SeriesRules]) -> Iterator[str]:
    for rule_id, rule in get_shipped().rules.items():
        if rule_id in kind.model_fields:
            yield f"| {rule_id} | {rule.title} | {rule.closed} | {rule.open} | {_settings(rule)} |\n"


def _settings(rule: ValidityRule) -> str:
    own = rule.model_dump(mode="json", exclude=set(ValidityRule.model_fields))
    return ", ".join(f"`{name}: {json.dumps(value)}`" for name, value in own.items() if value not in ({}, []))


def test_the_page_lists_every_ruleset_and_every_rule() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), "to write it anew: make docs"


def test_every_rule_that_a_ruleset_can_name_is_carried_out() -> None:
    assert CHECKS.keys() == RunRules.model_fields.keys()
    assert OF_SERIES.keys() == SeriesRules.model_fields.keys()


def test_the_page_names_every_rule_that_is_not_checked() -> None:
    known = {*RunRules.model_fields, *SeriesRules.model_fields}
    left_out = {f"V{number:02}" for number in range(1, 31)} - known

    told = set(re.findall(r"V\d\d", DOCUMENT.read_text("utf-8").split("## What is not checked")[1]))
    assert told == left_out
