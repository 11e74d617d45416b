"""The table of figures in docs/diagnosis.md, which the bench writes."""

import re
from collections.abc import Mapping
from pathlib import Path

from aisbench_core.running.diagnosing.cause import Confidence
from tests.failure_corpus import FirstScore, Score

PAGE = Path(__file__).parents[2] / "docs" / "diagnosis.md"
HEAD = (
    "| part of the corpus | cases | precision | recall | wrong causes | *certain*: right | *likely*: right |\n"
    "|---|---|---|---|---|---|---|\n"
)
FIGURES = ("own", "documented messages", "jobs that died in the sandbox", "posted logs", "nothing to find", "unseen")
FIRST = "when first scored"


def put(scores: Mapping[str, Score], first: Mapping[str, FirstScore]) -> None:
    """Write the table anew, and print it."""
    before, found, after = PAGE.read_text("utf-8").partition(HEAD)
    assert found, PAGE
    rows = "".join(_row(name, scores[name]) for name in FIGURES)
    rows += "".join(_first_row(name, found) for name, found in first.items())
    print(f"\n{HEAD}{rows}", end="")
    PAGE.write_text(before + HEAD + rows + re.sub(r"\A(\|.*\n)*", "", after), "utf-8")


def reached_lines(text: str) -> list[list[str]]:
    """The cells of each row of the table."""
    table = re.match(r"(\|.*\n)*", text.partition(HEAD)[2])
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in (table[0] if table else "").splitlines()]


def _row(name: str, found: Score) -> str:
    sure = [f"{found.calibration(each):.2f}" for each in (Confidence.CERTAIN, Confidence.LIKELY)]
    cells = [name, str(found.cases), f"{found.precision:.2f}", f"{found.recall:.2f}", str(len(found.wrong)), *sure]
    return f"| {' | '.join(cells)} |\n"


def _first_row(name: str, found: FirstScore) -> str:
    cells = f"{found.cases} | {found.right / found.named:.2f} | {found.right / found.expected:.2f}"
    return f"| {name.replace('_', ' ')}, {FIRST} | {cells} | {found.named - found.right} | – | – |\n"
