"""`make check` fails when any of its parts does, whichever ends first."""

import subprocess
from pathlib import Path

import pytest

from tests.source_tree import HOME


def program(path: Path, code: int, said: str) -> None:
    path.write_text(f"#!/bin/sh\necho {said}\nexit {code}\n", "utf-8")
    path.chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("style", "types", "tests"), [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 2, 0), (0, 0, 1), (0, 1, 1)]
)
def test_a_check_passes_when_style_types_and_tests_do(tmp_path: Path, style: int, types: int, tests: int) -> None:
    for name, code in (("ruff", style), ("mypy", types), ("python", tests)):
        program(tmp_path / name, code, f"{name} ended")
    ready = tmp_path / "ready"
    ready.touch()
    given = [f"BIN={tmp_path}", f"INSTALLED={ready}", f"INSTALLED_TEST={ready}"]

    run = subprocess.run(["make", "-C", str(HOME), "check", *given], capture_output=True, text=True, check=False)

    assert (run.returncode == 0) == (style == types == tests == 0), run.stderr
    assert ("mypy ended" in run.stdout) == (style == 0)
