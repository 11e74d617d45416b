"""The table of figures in docs/diagnosis.md, which the bench writes."""

import re
from collections.abc import Mapping
from pathlib import Path

from tests.failure_corpus import Score

PAGE = Path(__file__).parents[2] / "docs" / "diagnosis.md"
HEAD = "| part of the corpus | cases | precision | recall | wrong causes |\n|---|---|---|---|---|\n"
FIGURES = ("all", "documented messages", "jobs that died in the sandbox", "posted logs", "nothing to find", "held out")


def put(scores: Mapping[str, Score]) -> None:
    """Write the table anew, and print it."""
    before, found, after = PAGE.read_text("utf-8").partition(HEAD)
    assert found, PAGE
    rows = "".join(_row(name, scores[name]) for name in FIGURES)
    print(f"\n{HEAD}{rows}", end="")
    PAGE.write_text(before + HEAD + rows + re.sub(r"\A(\|.*\n)*", "", after), "utf-8")


def reached_lines(text: str) -> list[list[str]]:
    """The cells of each row of the table."""
    table = re.match(r"(\|.*\n)*", text.partition(HEAD)[2])
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in (table[0] if table else "").splitlines()]


def _row(name: str, found: Score) -> str:
    return f"| {name} | {found.cases} | {found.precision:.2f} | {found.recall:.2f} | {len(found.wrong)} |\n"
