"""The tables of docs/performance.md: each bench puts its own rows there, others stay.

A row is a figure: what was measured, its goal and whether it is reached, a peer or the naive way in the same run, and
how many times as much that takes; or a page, with a goal for each column. Figures of another machine or of other
versions do not stand in the same table: they go when one of this comes. As a program it begins the page anew.
"""

import os
import platform
import re
import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
PACKAGES = ("duckdb", "pandas", "pyarrow", "streamlit", "xlsxwriter")

INTRODUCTION = """# Performance

`make bench` measures and writes this page; a part of it, such as
`.venv/bin/python -m pytest -s -p no:xdist tests/bench/test_million.py`, writes its own rows. Each figure is measured
beside a peer or a naive implementation in the same run; tests check ratios, not seconds. The runs are those of
`tests/bench/many_runs.py`: 1,920 leaderboard rows, 8 cards per run; of a million, 100,000 are imported.

* *Search*: the fastest 50 runs of one model, version and flavor, on an open store after a first query; ours also counts
  all matches. MLflow's store is SQLite.
* *Whole leaderboard*: the first 50 of all groups by their median, with best, olympic mean and 95 % interval. pandas has
  the runs in memory, sqlite3 in one table, sorted by group in an index; ours reads the stored group statistics.
* *Records of folders*: as a rebuild stores them, without reading folders.
* *Logs*: 512 files of 20 MB in the page cache, the hit in the last. Line by line is `for line in file` in Python,
  extrapolated from 16 files.
* *Viewers*: browsers that keep the page of a running job open, while it prints a step every second; the age is the time
  between two drawings.
* *Follow*: processor time of `aisbench follow` alone, polling every 5 s.
* *Evidence*: processor time, with the report as PDF.
* *Region*: what its page and `aisbench region` ask first, from a sandbox that waits 20 ms before each answer.
"""
HEAD = "| figure | measured | goal | reached | beside | ratio |\n|---|---|---|---|---|---|\n"
ROW = re.compile(r"^\| (?P<figure>[^|]+?) \|(?:[^|\n]*\|){5}$", re.MULTILINE)
ABOUT_PAGES = """
## Pages

*First paint*: from the address to the page's main answer in Chromium (20,000 runs, a returning visitor), the median of
three. *Rerun*: complete, over the web socket, with a million runs, after the warehouse changed and without a change.
*Sent*: everything that a new visitor gets. *Memory*: of the server process. **Bold** misses the goal.

"""
PAGE_GOALS = {"first paint": "2 s", "rerun after a change": "400 ms", "rerun": "", "sent": "150 kB", "memory": "500 MB"}
_NUMBER = re.compile(r"(?P<number>[\d,.]+) (?P<unit>[^\s;]+)")


def put(figure: str, measured: str, goal: str = "", beside: str = "", ratio: float | None = None) -> None:
    """Put this row into the table, in place of the one that has the same name, and print it.

    `goal`: how much at most (of a rate, at least), in the unit that `measured` begins with, or how many × at least."""
    times = "" if ratio is None else f"{ratio:.1f}"
    row = f"| {figure} | {measured} | {goal} | {reached(measured, goal, ratio)} | {beside} | {times} |"
    print(f"\n{row}", end="")
    _write(_rows() | {figure: row}, _pages())


def put_page(page: str, cells: Mapping[str, str]) -> None:
    """Put cells, by the columns of PAGE_GOALS, into the row of a page, and print it."""
    pages = _pages()
    pages[page] = pages.get(page, {}) | {name: _emphasize(text, PAGE_GOALS[name]) for name, text in cells.items()}
    print(f"\n{page}: {pages[page]}", end="")
    _write(_rows(), pages)


def _emphasize(measured: str, goal: str) -> str:
    """Bold, if the goal is missed."""
    return f"**{measured}**" if reached(measured, goal, None) == "**no**" else measured


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
    """The rows of figures so far, by figure."""
    return {found["figure"]: found[0] for found in ROW.finditer(_parts()[0]) if not _is_head(found["figure"])}


def _pages() -> dict[str, dict[str, str]]:
    """The rows of pages so far: by page, the cells by column."""
    rows = [[cell.strip() for cell in found[0].strip("|").split("|")] for found in ROW.finditer(_parts()[1])]
    return {name: dict(zip(PAGE_GOALS, cells, strict=True)) for name, *cells in rows if not _is_head(name)}


def _parts() -> tuple[str, str]:
    """The figures and the pages, as they are written; nothing when they are of another machine."""
    text = PAGE.read_text("utf-8") if PAGE.exists() else ""
    figures, _, pages = text.partition("\n## Pages\n")
    return (figures, pages) if machine() in text else ("", "")


def _is_head(cell: str) -> bool:
    return cell in ("figure", "page", "---")


def _write(rows: Mapping[str, str], pages: Mapping[str, Mapping[str, str]]) -> None:
    newest = f"The newest figure is from {datetime.now(UTC):%Y-%m-%d}, at a load of {os.getloadavg()[0]:.1f}."
    table = HEAD + "".join(f"{row}\n" for row in rows.values())
    PAGE.write_text(f"{INTRODUCTION}\n{machine()}\n{newest}\n\n{table}{ABOUT_PAGES}{pages_table(pages)}", "utf-8")


def pages_table(pages: Mapping[str, Mapping[str, str]]) -> str:
    """A row for each page, with the goals in the head."""
    names = [f"{name}, ≤ {goal}" if goal else name for name, goal in PAGE_GOALS.items()]
    rows = [(page, *(cells.get(name, "") for name in PAGE_GOALS)) for page, cells in pages.items()]
    lines = [("page", *names), ("---",) * (1 + len(names)), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def machine() -> str:
    """What the figures were taken with."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"Measured with {os.cpu_count()} cores ({_processor()}), {memory:.0f} GB, {platform.system()}, "
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
    _write({}, {})
