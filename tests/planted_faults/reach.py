"""Which test reaches which line of the product: one run of all tests under coverage, its processes included."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from coverage import Coverage, CoverageData

from tests.source_tree import HOME

FOLDER = HOME / ".reach"
DATA = FOLDER / "data"
TEST = "AISBENCH_TESTS_CONTEXT"
"""The variable that names, in each process that a test starts, the test."""

SETTINGS = f"""[run]
source = aisbench_core, aisbench_sandbox, pages
include = app.py
parallel = true
data_file = {DATA}
patch = subprocess
sigterm = true
context = ${{{TEST}-}}
"""


def measure(paths: list[str]) -> None:
    """Run the tests below these paths, as `make test-all` does. It takes half as long again."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("data*"):
        old.unlink()
    (FOLDER / "settings").write_text(SETTINGS, "utf-8")
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={FOLDER / 'settings'}", "-m", "pytest", "-q"]
    plugins = ["-p", "tests.planted_faults.reach", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
    chosen = ["-m", "not torch and not frameworks", "--ignore", "tests/bench", "--ignore", "tests/reliability"]
    subprocess.run([*command, *plugins, *chosen, *paths], cwd=HOME, check=False)
    subprocess.run([sys.executable, "-m", "coverage", "combine", "-q", f"--rcfile={FOLDER / 'settings'}"], check=True)


def tests_that_reach(file: Path, lines: set[int]) -> list[str]:
    """Ids of tests that run one of these lines, quick kinds first, then of those that run other lines of the file."""
    data = CoverageData(str(DATA))
    data.read()
    by_line = data.contexts_by_lineno(str(file))
    nearest = {name.rpartition("|")[2] or name for line in lines for name in by_line.get(line, ())}
    others = {name.rpartition("|")[2] or name for names in by_line.values() for name in names}
    return [*sorted(nearest - {""}, key=_cost), *sorted(others - nearest - {""}, key=_cost)]


ORDER = ("tests/unit", "tests/test_architecture", "tests/console", "tests/stores", "tests/contract", "tests/flow")


def _cost(test: str) -> tuple[int, str]:
    kinds = [index for index, folder in enumerate(ORDER) if test.startswith(folder)]
    return (kinds[0] if kinds else len(ORDER), test)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """What runs from here on runs for this test, in this process and in those that it starts."""
    os.environ[TEST] = item.nodeid
    if measured := Coverage.current():
        measured.switch_context(item.nodeid)
    return (yield)


if __name__ == "__main__":
    measure(sys.argv[1:])
