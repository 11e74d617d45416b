"""docs/sandbox.md names everything that the sandbox answers, and nothing else."""

import re
from pathlib import Path

from aisbench_core.sandbox.__main__ import main
from aisbench_core.sandbox.modelarts_routes import ROUTES
from aisbench_core.sandbox.obs_routes import OPERATIONS

PAGE = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text("utf-8")
METHODS = "GET|PUT|POST|HEAD|DELETE"


def _section(title: str) -> str:
    return PAGE.partition(f"\n## {title}")[2].partition("\n## ")[0]


def _requests(section: str) -> set[str]:
    return set(re.findall(rf"`((?:{METHODS}) [^`]+)`", section))


def test_the_page_lists_the_training_services_requests() -> None:
    assert _requests(_section("What it answers: training service")) == {
        f"{method} {path}" for method, path, _ in ROUTES
    }


def test_the_page_lists_the_obs_requests() -> None:
    assert _requests(_section("What it answers: OBS")) == {str(operation) for operation in OPERATIONS}


def test_the_page_names_every_option() -> None:
    usage = PAGE.partition("```text")[2].partition("```")[0]

    assert set(re.findall(r"--[a-z-]+", usage)) == {option for each in main.params for option in each.opts}
