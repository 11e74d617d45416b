"""The table of docs/reliability.md: each campaign puts its own row there, others stay.

A row says what was done to the product, how often, what came of it, and which file of tests does it again. As a
program it begins the page anew.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"

INTRODUCTION = """# Reliability

`make reliability` runs fault tests for about an hour and writes this page; a part of it, such as
`.venv/bin/python -m pytest -p no:xdist tests/reliability/test_kills.py`, writes its own rows. A campaign that finds
a problem writes none: a row means that nothing was lost, nothing happened twice and nothing leaked in that many
repetitions. [running.md](running.md#crashes-and-faults) describes the guarantees.

* *Killed* means `kill -9`. A follower and a console are killed during a request, in every state
  of a run; other programs at times spread evenly over their duration.
* *Lost*: a launch without a run, a run that does not end, or a result that is not in the warehouse. *Twice*: two
  jobs from one launch, or one result as two runs.
* *Faults* are injected by the sandbox, over HTTP. A run without a job may fail with a message;
  any other completes with one job.
* *Full disk*: the data folder is on its own file system, which is filled completely.
"""
HEAD = "| campaign | repetitions | outcome | date | in `tests/reliability/` |\n|---|---|---|---|---|\n"
ROW = re.compile(r"^\| (?P<campaign>[^|]+?) \|(?:[^|\n]*\|){4}$", re.MULTILINE)


@dataclass
class Campaign:
    """What one campaign did so far; `outcome` is said at its end."""

    repetitions: str = ""
    outcome: str = ""


@contextmanager
def campaign(name: str, file: str) -> Iterator[Campaign]:
    """Measure a campaign, and put its row into the table unless it fails; `file` is the test's `__file__`."""
    current = Campaign()
    yield current
    assert current.repetitions, f"{name} does not say how often"
    assert current.outcome, f"{name} does not say what came of it"
    put(name, current.repetitions, current.outcome, f"{datetime.now(UTC):%Y-%m-%d}", f"`{Path(file).name}`")


def put(name: str, *cells: str) -> None:
    """Put this row into the table, in place of the one that has the same name, and print it."""
    row = f"| {' | '.join((name, *cells))} |"
    assert ROW.fullmatch(row), row
    print(f"\n{row}", end="")
    _write(_rows() | {name: row})


def _rows() -> dict[str, str]:
    text = PAGE.read_text("utf-8") if PAGE.exists() else ""
    return {found["campaign"]: found[0] for found in ROW.finditer(text) if found["campaign"] not in ("campaign", "---")}


def _write(rows: dict[str, str]) -> None:
    PAGE.write_text("\n".join([INTRODUCTION, HEAD + "\n".join(rows.values()), ""]), "utf-8")


if __name__ == "__main__":
    _write({})
