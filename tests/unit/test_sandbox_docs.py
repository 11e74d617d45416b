"""docs/sandbox.md names everything that the sandbox answers, and nothing else."""

import re
from pathlib import Path

from aisbench_sandbox.__main__ import main
from aisbench_sandbox.obs.routes import OPERATIONS
from aisbench_sandbox.service.routes import GALLERY_ROUTES, LEGACY_ROUTES, REGISTRY_ROUTES, ROUTES

PAGE = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text("utf-8")
SERVICE = Path(__file__).parents[2] / "aisbench_sandbox" / "service"
METHODS = "GET|PUT|POST|HEAD|DELETE"


def _section(title: str) -> str:
    return PAGE.partition(f"\n## {title}")[2].partition("\n## ")[0]


def _requests(section: str) -> set[str]:
    return set(re.findall(rf"`((?:{METHODS}) [^`]+)`", section))


def test_the_page_lists_the_training_services_requests() -> None:
    assert _requests(_section("Requests: training service")) == {f"{method} {path}" for method, path, _ in ROUTES}


def test_the_page_lists_the_older_training_apis_requests() -> None:
    assert _requests(_section("Requests: older training API")) == {
        f"{method} {path}" for method, path, _ in LEGACY_ROUTES
    }


def test_the_page_lists_the_registrys_requests() -> None:
    assert _requests(_section("Requests: image registry")) == {
        f"{method} {path}" for method, path, _ in REGISTRY_ROUTES
    }


def test_the_page_lists_ai_gallerys_requests() -> None:
    assert _requests(_section("Requests: AI Gallery")) == {f"{method} {path}" for method, path, _ in GALLERY_ROUTES}


def test_the_page_lists_the_obs_requests() -> None:
    assert _requests(_section("Requests: OBS")) == {str(operation) for operation in OPERATIONS}


def test_the_page_names_every_option() -> None:
    usage = PAGE.partition("```text")[2].partition("```")[0]

    assert set(re.findall(r"--[a-z-]+", usage)) == {option for each in main.params for option in each.opts}


def test_the_page_names_every_code_that_a_create_request_is_refused_with() -> None:
    organizing = ("experiments", "quotas")
    modules = ("creation", "algorithms", "limits", "parameters", "training_jobs", *organizing)
    code = "".join((SERVICE / "state" / f"{name}.py").read_text("utf-8") for name in modules)
    told = set(re.findall(r"\b2\d{3}\b", _section("Requests: training service")))

    assert set(re.findall(r"ModelArts\.(\d{4})", code)) - told == {"2764", "2818", "2822"}  # of other requests


def test_the_page_lists_the_addresses_of_the_admin_side() -> None:
    code = (SERVICE.parent / "admin.py").read_text("utf-8")
    told = re.findall(r"/_sandbox(/[^` ]+)`", PAGE)

    assert set(re.findall(r'Address\("([^"]+)"', code)) == set(told)
