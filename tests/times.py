"""Where the minutes of a test run go: `python -m tests.times FILE` prints the table of CONTRIBUTING for a JUnit file.

Such a file is written by `PYTEST_ADDOPTS=--junitxml=FILE make test`."""

import sys
from collections import Counter
from pathlib import Path

from junitparser import JUnitXml

LONGEST = 3
"""How many files of a folder are named."""


def table(file: Path) -> str:
    """By folder: how many tests, the minutes that they took one after another, and the files that took most of them."""
    minutes: dict[str, Counter[str]] = {}
    tests: Counter[str] = Counter()
    for case in (case for suite in JUnitXml.fromfile(str(file)) for case in suite):
        folder, name = f"{case.classname}..".split(".")[1:3]
        minutes.setdefault(folder, Counter())[name] += case.time / 60
        tests[folder] += 1
    rows = [
        f"| `{folder}` | {tests[folder]:,} | {files.total():.1f} | "
        + ", ".join(f"`{name}` {spent:.1f}" for name, spent in files.most_common(LONGEST))
        + " |\n"
        for folder, files in sorted(minutes.items(), key=lambda each: -each[1].total())
    ]
    return "| folder | tests | minutes | most of them in |\n|---|---|---|---|\n" + "".join(rows)


if __name__ == "__main__":
    print(table(Path(sys.argv[1])), end="")
