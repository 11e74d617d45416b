"""Plants faults in the product one after another, and says which the tests find: `python -m tests.planted_faults`.

`faults.yaml` lists them. For each, the tests that reach its lines run until one fails; `python -m
tests.planted_faults.reach` finds out which those are. The fault stands in the working tree meanwhile, which must be
clean, and goes whatever happens."""

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.source_tree import HOME

FAULTS = Path(__file__).with_name("faults.yaml")
SELECTED = "not torch and not frameworks and not live"
PART = f"{SELECTED} and not exhaustive"
MOST_TESTS = 400
MOST_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Fault:
    """A piece of a file that stands there once, and what a careless change makes of it."""

    path: str
    before: str
    after: str
    about: str

    @property
    def file(self) -> Path:
        """The file that it is planted in."""
        return HOME / self.path

    @property
    def lines(self) -> set[int]:
        """The lines that it changes, from 1."""
        above, _, _ = self.file.read_text("utf-8").partition(self.before)
        first = above.count("\n") + 1
        return set(range(first, first + self.before.count("\n") + 1))


def faults() -> list[Fault]:
    """All faults, in the order of faults.yaml."""
    return [Fault(**each) for each in yaml.safe_load(FAULTS.read_text("utf-8"))]


def find(fault: Fault, selection: str) -> str:
    """The first test that fails because of a fault; empty if none does."""
    from tests.planted_faults.reach import tests_that_reach  # needs coverage, which only this needs

    tests = tests_that_reach(fault.file, fault.lines)[:MOST_TESTS]
    text = fault.file.read_text("utf-8")
    try:
        fault.file.write_text(text.replace(fault.before, fault.after), "utf-8")
        return _first_failure(tests, selection) if tests else ""
    finally:
        fault.file.write_text(text, "utf-8")


def _first_failure(tests: list[str], selection: str) -> str:
    listed = HOME / ".reach" / "tests"
    listed.write_text("\n".join(tests), "utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", selection, f"@{listed}"]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ended = subprocess.run(
            command, cwd=HOME, env=environment, capture_output=True, text=True, timeout=MOST_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return ""
    failed = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return failed[0].partition(" ")[2].partition(" - ")[0] if failed else ""


def main() -> None:
    """Plant each fault, and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="with the tests of make test-all, not of make test")
    parser.add_argument("--only", default="", help="only faults whose path or description contains this text")
    options = parser.parse_args()
    chosen = [fault for fault in faults() if options.only in f"{fault.path} {fault.about}"]
    if subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=HOME, check=False).returncode:
        sys.exit("The working tree has changes: commit them first, since faults are planted in it.")
    found = 0
    for fault in chosen:
        began = time.monotonic()
        test = find(fault, SELECTED if options.all else PART)
        found += bool(test)
        print(f"{fault.path}: {fault.about}: {test or 'NOT FOUND'} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{found} of {len(chosen)} faults found")


if __name__ == "__main__":
    main()
