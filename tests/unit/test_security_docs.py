"""asvs.yaml has every requirement of OWASP ASVS 5.0.0 up to level 2 once, and what shows that it is met.

docs/security.md counts them, and lists what is not met; `make docs` writes all of them to build/asvs.md."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from aisbench_core.config.settings import HOME
from aisbench_core.interfaces.web.front_door import INNER, OPEN_ENDPOINTS
from tests.source_tree import nodes_of
from tests.unit.test_docs import is_there

DOCUMENT = HOME / "docs" / "security.md"
SOURCE = Path(__file__).with_name("asvs.yaml")
LIST = HOME / "build" / "asvs.md"
"""Not kept: `make docs` writes it."""

HEAD = "| requirement | what it asks | status | shown by; what is missing |\n|---|---|---|---|\n"
MISSING = "| requirement | what it asks | what is missing |\n|---|---|---|\n"
COUNTS = "| level | requirements | met | not applicable | not met |\n|---|---|---|---|---|\n"
STATUSES = ("met", "not applicable", "not met")

LEVELS: Mapping[str, str] = {
    "V1.1": "22", "V1.2": "1111122223", "V1.3": "112222222223", "V1.4": "222", "V1.5": "123",
    "V2.1": "122", "V2.2": "112", "V2.3": "12223", "V2.4": "23",
    "V3.1": "3", "V3.2": "113", "V3.3": "12223", "V3.4": "11222233", "V3.5": "11122333", "V3.6": "3", "V3.7": "22333",
    "V4.1": "12233", "V4.2": "23333", "V4.3": "22", "V4.4": "1222",
    "V5.1": "2", "V5.2": "112333", "V5.3": "113", "V5.4": "222",
    "V6.1": "122", "V6.2": "111111112222", "V6.3": "11223333", "V6.4": "112233", "V6.5": "22222333", "V6.6": "2223",
    "V6.7": "33", "V6.8": "2222",
    "V7.1": "222", "V7.2": "1111", "V7.3": "22", "V7.4": "11222", "V7.5": "223", "V7.6": "22",
    "V8.1": "1233", "V8.2": "1123", "V8.3": "133", "V8.4": "23",
    "V9.1": "111", "V9.2": "1222",
    "V10.1": "22", "V10.2": "223", "V10.3": "22223", "V10.4": "1111122222233333", "V10.5": "22222", "V10.6": "22",
    "V10.7": "222",
    "V11.1": "2233", "V11.2": "22233", "V11.3": "11233", "V11.4": "1222", "V11.5": "23", "V11.6": "23", "V11.7": "33",
    "V12.1": "12233", "V12.2": "11", "V12.3": "22223",
    "V13.1": "2333", "V13.2": "222223", "V13.3": "2233", "V13.4": "1222233",
    "V14.1": "22", "V14.2": "12223333", "V14.3": "122",
    "V15.1": "12233", "V15.2": "12233", "V15.3": "1222222", "V15.4": "3333",
    "V16.1": "2", "V16.2": "22222", "V16.3": "2222", "V16.4": "222", "V16.5": "2223",
    "V17.1": "23", "V17.2": "22223333", "V17.3": "22",
}  # fmt: skip
"""Sections of ASVS 5.0.0 with the level of each of their requirements, in order: V1.5.3 has level 3."""


@dataclass(frozen=True)
class Row:
    """Requirements that share a status and its reason."""

    ids: list[str]
    words: str
    status: str
    shown: str

    @property
    def tests(self) -> list[tuple[str, str]]:
        """File and name of each test that it names."""
        return re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", self.shown)

    @property
    def sections(self) -> list[str]:
        """The documents that it links to."""
        return re.findall(r"\]\(([^)]+)\)", self.shown)


@cache
def chapters() -> Mapping[str, list[Row]]:
    """Every chapter with its rows."""
    stored = yaml.safe_load(SOURCE.read_text("utf-8"))
    return {each["chapter"]: [_row_of(entry) for entry in each["requirements"]] for each in stored}


def _row_of(entry: Mapping[str, str]) -> Row:
    [status] = entry.keys() - {"ids", "asks"}
    return Row(entry["ids"].split(", "), entry["asks"], status, entry[status])


def rows() -> list[Row]:
    """The rows of all chapters."""
    return [row for each in chapters().values() for row in each]


def whole_list() -> str:
    """All requirements as Markdown; links are those of docs/security.md."""
    return "# OWASP ASVS 5.0.0\n" + "".join(
        f"\n## {chapter}\n\n{HEAD}"
        + "".join(f"| {', '.join(row.ids)} | {row.words} | {row.status} | {row.shown} |\n" for row in each)
        for chapter, each in chapters().items()
    )


def levels() -> dict[str, int]:
    """The requirements up to level 2, in order, with their levels."""
    numbered = (
        (f"{section}.{number}", int(level)) for section, row in LEVELS.items() for number, level in enumerate(row, 1)
    )
    return {requirement: level for requirement, level in numbered if level <= 2}


def document() -> str:
    """docs/security.md with its counts, and with what is not met."""
    page = DOCUMENT.read_text("utf-8")
    missing = [
        f"| {', '.join(row.ids)} | {row.words} | {_missing(row)} |\n" for row in rows() if row.status == "not met"
    ]
    for head, lines in ((COUNTS, _counts()), (MISSING, missing)):
        before, found, after = page.partition(head)
        assert found, head
        page = before + found + "".join(lines) + re.sub(r"\A(\|.*\n)*", "", after)
    return page


def _missing(row: Row) -> str:
    """Without the tests of the part that is met, which come first."""
    return re.sub(r"\A(`tests/[^`]+`(, |: |; )?)+", "", row.shown)


def _counts() -> Iterator[str]:
    status = {each: row.status for row in rows() for each in row.ids}
    for level in (1, 2):
        of_level = [each for each, number in levels().items() if number == level]
        counted = Counter(status[each] for each in of_level)
        yield f"| {level} | {len(of_level)} | " + " | ".join(str(counted[each]) for each in STATUSES) + " |\n"


def test_the_standard_is_whole() -> None:
    counted = Counter("".join(LEVELS.values()))

    assert counted == {"1": 70, "2": 183, "3": 92}  # as its release says


def test_every_requirement_up_to_level_2_stands_in_one_row() -> None:
    named = Counter(each for row in rows() for each in row.ids)

    assert {each for each, count in named.items() if count > 1} == set()
    assert set(named) == set(levels())


def test_requirements_of_a_row_and_rows_are_in_order_within_their_chapter() -> None:
    found: dict[str, list[tuple[int, ...]]] = {}
    for row in rows():
        numbers = [tuple(map(int, each[1:].split("."))) for each in row.ids]
        assert numbers == sorted(numbers), row.ids
        found.setdefault(row.ids[0].partition(".")[0], []).append(numbers[0])

    assert {name: firsts for name, firsts in found.items() if firsts != sorted(firsts)} == {}
    assert list(found) == [f"V{number}" for number in range(1, 18)]
    assert [chapter.partition(" ")[0] for chapter in chapters()] == list(found)


def test_a_status_is_one_of_three_and_has_its_reason() -> None:
    assert {row.status for row in rows()} <= set(STATUSES)
    assert [row.ids for row in rows() if not row.words or not row.shown] == []


def test_what_is_met_is_shown_by_a_test_or_a_section() -> None:
    unshown = [row.ids for row in rows() if row.status == "met" and not row.tests]

    without_section = [
        row.ids for row in rows() if row.ids in unshown and not any("#" in each for each in row.sections)
    ]
    assert without_section == []


def test_every_section_that_is_named_is_there() -> None:
    assert [each for row in rows() for each in row.sections if not is_there(DOCUMENT, each)] == []


def test_every_test_that_is_named_is_there() -> None:
    named = {test for row in rows() for test in row.tests}

    missing = {f"{file}::{name}" for file, name in named if not (HOME / file).exists() or name not in _functions(file)}
    assert len(named) > 80
    assert missing == set()
    assert {row.shown for row in rows() if row.shown.count("::") != len(row.tests)} == set()


@cache
def _functions(file: str) -> set[str]:
    return {node.name for node in nodes_of(HOME / file, ast.FunctionDef)}


def test_requirements_are_counted() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), "to write it anew: make docs"


def test_every_inner_endpoint_that_is_open_is_listed() -> None:
    listed = re.findall(rf"`{INNER}(\w[\w-]*)", DOCUMENT.read_text("utf-8"))

    assert {re.split(r"[^\w-]", each)[0] for each in OPEN_ENDPOINTS.pattern.split("|")} == set(listed)
