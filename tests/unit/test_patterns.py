"""No text, whoever wrote it, makes a regular expression of ours slow: time grows with the text, not with its square."""

import re
from collections.abc import Callable

import pytest

from aisbench_core.base import strict_yaml
from aisbench_core.config import flavor_names
from aisbench_core.domain.llm import chips
from aisbench_core.running.diagnosing.rules import shipped_rules
from aisbench_core.warehouse.store import lake_refusals
from tests.pattern_attacks import UsedPattern, attacks, grows_too_fast, used_patterns
from tests.source_tree import HOME, product

pytestmark = pytest.mark.slow

KNOWN_WHEN_RUNNING: dict[str, Callable[[], list[UsedPattern]]] = {
    "aisbench_sandbox/faults.py: value": lambda: [],  # what somebody has their own sandbox match
    "aisbench_sandbox/faults.py: self.path": lambda: [],
    "aisbench_core/config/flavor_names.py: each.get('pattern') or each['part']": lambda: [
        UsedPattern("flavor_names", form.pattern, "search" if form.is_part else "fullmatch")
        for form in flavor_names.list_forms()
    ],
    "aisbench_core/base/strict_yaml.py: f'(?:{_pattern})\\\\Z'": lambda: [
        UsedPattern("strict_yaml", re.compile(rf"(?:{pattern})\Z"), "match") for _, pattern, _ in strict_yaml._RESOLVERS
    ],
    "aisbench_core/domain/llm/chips.py: f'{before}{words}(?![A-Za-z0-9])'": lambda: [
        UsedPattern(f"chip {name}", chips._to_pattern(name), "search")
        for chip in chips.read_chips().chips
        for name in chip.printed
    ],
    "aisbench_core/exchange/readers/moments.py: _WEEKDAY + day + "
    "'(?: ?(?:\\\\((?:[a-z]+|[星期周][一-鿿]+)\\\\)|(?:星期|周)[一-鿿]))?' + _CLOCK": (
        lambda: []  # of at most 80 letters
    ),
    "aisbench_core/running/diagnosing/rules.py: value": lambda: [],  # compiled once more where it is used
    "aisbench_core/running/diagnosing/rules.py: self.pattern": lambda: [
        UsedPattern(f"rule {rule_id}", clue.regex, "search")
        for rule_id, rule in shipped_rules().items()
        for clue in (*rule.logs, *rule.events, *rule.messages)
        if clue.pattern
    ],
    "aisbench_core/running/diagnosing/rules.py: self.after": lambda: [
        UsedPattern(f"rule {rule_id}", clue.regex_before, "search")
        for rule_id, rule in shipped_rules().items()
        for clue in rule.logs
        if clue.regex_before
    ],
    "aisbench_core/running/diagnosing/rules.py: re.escape(self.text)": lambda: [],  # a text repeats nothing
    "aisbench_core/warehouse/store/lake_refusals.py: pattern": lambda: [
        UsedPattern("lake_refusals", re.compile(pattern, re.I), "search") for pattern, _ in lake_refusals._ADVICE
    ],
}


def every_pattern() -> list[UsedPattern]:
    found: list[UsedPattern] = []
    for each in used_patterns(HOME, product()):
        found += [each] if isinstance(each, UsedPattern) else KNOWN_WHEN_RUNNING[each]()
    return found


def weakness(used: UsedPattern) -> str:
    for attack in attacks(used.pattern):
        growth = grows_too_fast(lambda size, attack=attack: used.cost(attack.text(size)))  # type: ignore[misc]  # bound
        if growth:
            return f"{used.where} ({used.method}): {attack}: {growth}"
    return ""


def test_the_time_of_every_pattern_of_the_code_base_grows_in_proportion_to_the_text() -> None:
    patterns = every_pattern()

    # What seems weak is measured again: memory that others use at the same time costs this process time, too.
    weak = [found for used in patterns if weakness(used) and (found := weakness(used))]

    assert weak == []
    assert len(patterns) > 140  # they are found


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"(a+)+$", "match"),
        (r"(x[._-][\w-]+)*$", "search"),
        (r"\s+$", "search"),
        (r"inputs:.*job_name:(\S+) ret", "search"),
        (r"[(](.*?)[)]", "search"),
        (r"list:\s*\[([^\]]*)\]\s*average", "search"),
        (r"<[^>]+>", "sub"),
        (r"(\w+)\s*=", "findall"),
    ],
)
def test_what_is_slow_is_seen(pattern: str, method: str) -> None:
    assert weakness(UsedPattern("here", re.compile(pattern), method))
