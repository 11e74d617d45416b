"""The table of docs/performance.md: each bench puts its own rows there, others stay.

A row is a figure: what was measured, its goal and whether it is reached, a peer or the naive way in the same run, and
how many times as much that takes. Figures of another machine or of other versions do not stand in the same table: they
go when one of this comes. As a program it begins the page anew.
"""

import os
import platform
import re
import sqlite3
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
PACKAGES = ("duckdb", "pandas", "pyarrow", "streamlit", "xlsxwriter")

INTRODUCTION = """# Performance

`make bench` measures and writes this page, whether goals are reached or not; a part of it, such as
`.venv/bin/python -m pytest -s -p no:xdist tests/bench/test_million.py`, writes its own rows. Each figure is taken
beside a peer or the naive way in the same run, and the tests hold ratios, never seconds: a busy machine makes both
slower. The runs are those of `tests/bench/many_runs.py`: 1,920 rows of the leaderboard, 8 cards per run, spec and block
as stored, without samples and events; of a million, 100,000 are imported, the others are copies with ids and times of
their own.

* *Search*: both are asked for the fastest 50 runs of one model, version and flavor with their parameters, numbers and
  tags, have their store open and have answered before; ours counts all that fit, too. MLflow's store is SQLite.
* *Whole leaderboard*: the first 50 of all groups by their median, with best, median, olympic mean and 95 % interval.
  pandas and sqlite3 count the same groups of the same valid runs; pandas holds them in memory, sqlite3 in one table,
  sorted by group in an index; ours reads what it keeps of each group.
* *Bulk import*: the file of another console's warehouse, each run whole with cards, spec and block, and judged by the
  ruleset of here, into a file that holds another run; none twice. Results that are text, such as logs and tables, are
  parsed and judged one by one, which takes longer. *Records of folders*: as a rebuild stores them, without reading
  folders.
* *Database per run*: of the file after `aisbench warehouse compact`; importing a warehouse file leaves one as small.
* *Page*: a whole rerun that a console in a process of its own is asked for over the web socket: after the warehouse's
  file changed, so that everything is asked anew, and beside it when nothing did. Sent is all that the socket carries to
  a visitor whose browser keeps nothing yet; memory is the most that the process held.
"""
HEAD = "| figure | measured | goal | reached | beside | ratio |\n|---|---|---|---|---|---|\n"
ROW = re.compile(r"^\| (?P<figure>[^|]+?) \|(?:[^|\n]*\|){5}$", re.MULTILINE)
_NUMBER = re.compile(r"(?P<number>[\d,.]+) (?P<unit>[^\s;]+)")


def put(figure: str, measured: str, goal: str = "", beside: str = "", ratio: float | None = None) -> None:
    """Put this row into the table, in place of the one that has the same name, and print it.

    `goal`: how much at most (of a rate, at least), in the unit that `measured` begins with, or how many × at least."""
    times = "" if ratio is None else f"{ratio:.1f}"
    row = f"| {figure} | {measured} | {goal} | {reached(measured, goal, ratio)} | {beside} | {times} |"
    print(f"\n{row}", end="")
    _write(_rows() | {figure: row})


def reached(measured: str, goal: str, ratio: float | None) -> str:
    """Whether all parts of a goal are: "yes", "no", or nothing where there is none."""
    parts = [_NUMBER.fullmatch(part.strip()) for part in goal.split(";") if part.strip()]
    if not parts:
        return ""
    return "yes" if all(_is_reached(measured, part, ratio) for part in parts) else "**no**"


def _is_reached(measured: str, goal: re.Match[str] | None, ratio: float | None) -> bool:
    found = _NUMBER.match(measured)
    assert goal, f"no goal for {measured}"
    if goal["unit"] == "×":
        return ratio is not None and ratio >= _value(goal)
    assert found, f"no number: {measured}"
    assert goal["unit"] == found["unit"], f"{measured} is measured in another unit than {goal[0]}"
    return _value(found) >= _value(goal) if goal["unit"].endswith("/s") else _value(found) <= _value(goal)


def _value(found: re.Match[str]) -> float:
    return float(found["number"].replace(",", ""))


def _rows() -> dict[str, str]:
    """The rows so far, by figure; none when they are of another machine."""
    text = PAGE.read_text("utf-8") if PAGE.exists() else ""
    if machine() not in text:
        return {}
    return {found["figure"]: found[0] for found in ROW.finditer(text) if found["figure"] not in ("figure", "---")}


def _write(rows: dict[str, str]) -> None:
    newest = f"The newest figure is of {datetime.now(UTC):%Y-%m-%d}, taken at a load of {os.getloadavg()[0]:.1f}."
    table = HEAD + "".join(f"{row}\n" for row in rows.values())
    PAGE.write_text(f"{INTRODUCTION}\n{machine()}\n{newest}\n\n{table}", "utf-8")


def machine() -> str:
    """What the figures were taken with."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"Taken with {os.cpu_count()} cores ({_processor()}), {memory:.0f} GB, {platform.system()}, "
        f"Python {platform.python_version()}, {packages}, SQLite {sqlite3.sqlite_version}."
    )


def _processor() -> str:
    try:
        told = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        told = ""
    named = re.search(r"^model name\s*: (.+)$", told, re.MULTILINE)
    return " ".join(named[1].split()) if named else platform.machine()


if __name__ == "__main__":
    _write({})
