"""The table of docs/performance.md: each bench puts its own rows there, others stay.

A row is a figure: what was measured, its goal, a peer or the naive way in the same run, and how many times as much that
takes. Figures of another machine or of other versions do not stand in the same table: they go when one of this comes.
"""

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
PACKAGES = ("duckdb", "pandas", "pyarrow", "streamlit")

_INTRODUCTION = """# Performance

`make bench` measures and writes this page; a part of it, such as `.venv/bin/python -m pytest -s -p no:xdist
tests/bench/test_million.py`, writes its own rows. Each figure is taken beside a peer or the naive way in the same
run, and the tests hold ratios, never seconds. The runs are those of `tests/bench/many_runs.py`: 1,920 rows of the
leaderboard, 8 cards per run, spec and block as stored, without samples and events; of a million, 100,000 are
imported, the others are copies with ids and times of their own. *Page* is a whole rerun that a console in a process of
its own is asked for over the web socket: after the warehouse's file changed, so that everything is asked anew, and
beside it when nothing did. Sent is all that the socket carries to a visitor whose browser keeps nothing yet; memory is
the most that the process held.
"""
_HEAD = "| figure | measured | goal | beside | ratio |\n|---|---|---|---|---|\n"
_ROW = re.compile(r"^\| (?P<figure>[^|]+?) \|.*\|$", re.MULTILINE)


def put(figure: str, measured: str, goal: str, beside: str = "", ratio: float | None = None) -> None:
    """Put this row into the table, in place of the one that has the same name, and print it."""
    row = f"| {figure} | {measured} | {goal} | {beside} | {'' if ratio is None else f'{ratio:.1f}'} |"
    print(f"\n{row}", end="")
    rows = _rows() | {figure: row}
    PAGE.write_text(f"{_INTRODUCTION}\n{_machine()}\n\n{_HEAD}" + "\n".join(rows.values()) + "\n", "utf-8")


def _rows() -> dict[str, str]:
    """The rows so far, by figure; none when they are of another machine."""
    text = PAGE.read_text("utf-8") if PAGE.exists() else ""
    if _machine() not in text:
        return {}
    return {found["figure"]: found[0] for found in _ROW.finditer(text) if found["figure"] not in ("figure", "---")}


def _machine() -> str:
    """What the figures were taken with."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"Taken with {os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GB, {platform.system()}, "
        f"Python {platform.python_version()}, {packages}."
    )
