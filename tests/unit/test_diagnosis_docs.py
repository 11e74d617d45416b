"""docs/diagnosis.md says what the rules say, and its figures are those of a command."""

import re
from collections.abc import Iterator

from aisbench_core.base.documents import read_yaml
from aisbench_core.config.settings import HOME
from aisbench_core.running.diagnosing.rules import SHIPPED, CauseRule, shipped_rules
from tests.bench.diagnosis_figures import FIGURES, FIRST, reached_lines
from tests.failure_corpus import first_scores

DOCUMENT = HOME / "docs" / "diagnosis.md"
RULES = "<!-- rules -->\n\n"
BY_CODE = {"result-missing": "result", "stall": "stall guard"}
CORRECTIONS = {
    "halve": "{names} halved",
    "longer_auto_stop": "`auto_stop_hours` doubled",
    "drop_argument": "the argument removed",
    "earlier_input": "inputs of the newest run that completed",
    "set": "{names}",
}


def document() -> str:
    """docs/diagnosis.md with its list as the rules would write it."""
    before, found, after = DOCUMENT.read_text("utf-8").partition(RULES)
    assert found
    return before + RULES + "".join(_rows()) + re.sub(r"\A(\*.*\n)*", "", after)


def _rows() -> Iterator[str]:
    for rule_id, rule in shipped_rules().items():
        sources = _sources(rule) or BY_CODE[rule_id]
        yield f"* `{rule_id}`: {rule.cause} ({rule.confidence}; {sources}){_correction(rule)}\n"


def _sources(rule: CauseRule) -> str:
    sources = {
        "log": rule.logs, "events": rule.events, "messages": rule.messages, "exit codes": rule.exit_codes,
        "faults": rule.faults,
    }  # fmt: skip
    return ", ".join(name for name, clues in sources.items() if clues)


def _correction(rule: CauseRule) -> str:
    if rule.correction is None:
        return ""
    names = (*rule.correction.parameters, *rule.correction.fields)
    return "; draft: " + CORRECTIONS[rule.correction.kind].format(names=", ".join(f"`{name}`" for name in names))


def test_the_page_lists_every_rule() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), "to write it anew: make docs"


def test_a_rule_stands_in_one_file_only() -> None:
    names = [name for file in sorted(SHIPPED.glob("*.yaml")) for name in read_yaml(file)["rules"]]

    assert sorted(names) == sorted(shipped_rules())


def test_the_page_has_a_row_for_each_part_of_the_corpus() -> None:
    rows = reached_lines(DOCUMENT.read_text("utf-8"))

    assert [row[0] for row in rows if not row[0].endswith(FIRST)] == list(FIGURES)
    assert sum(row[0].endswith(FIRST) for row in rows) == len(first_scores())
    assert all(re.fullmatch(r"\d+", row[1]) for row in rows)
    assert all(re.fullmatch(r"\d\.\d\d|–", cell) for row in rows for cell in (*row[2:4], *row[5:]))
    assert {row[4] for row in rows if row[0] in FIGURES and row[0] != "unseen"} == {"0"}
