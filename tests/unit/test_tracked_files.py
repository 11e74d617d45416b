"""What no file of the project may hold, and what the changelog must."""

import re

import pytest

from tests.source_tree import HOME, lines_of, path_of, tracked

# The platform's, and those that examples name.
HOMES = "ma-user|ma-user2|work|user|me|ann|bob|bench|code|data|out|[adx]"

NOT_IN_FILES = {
    "a path of somebody's machine": re.compile(rf"(?<![\w.}}>*])/((work|root|Users)/|home/(?!({HOMES})\b)\w)"),
    "a package registry's host": re.compile(r"pypi\.org|pythonhosted\.org|--(extra-)?index-url|npmjs\.|/simple[/]"),
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY|\bAKIA[0-9A-Z]{16}\b|\bgh[ps]_\w{30,}"),
    "a secret key": re.compile(r"""(?i)secret_?(access_?)?key["']?\s*[:=]\s*["']?[A-Za-z0-9/+_-]{32,}\b"""),
}


@pytest.mark.parametrize("what", NOT_IN_FILES)
def test_no_file_holds(what: str) -> None:
    found = {
        f"{path_of(file)}:{number}: {line.strip()[:80]}"
        for file in tracked()
        for number, line in enumerate(lines_of(file), start=1)
        if NOT_IN_FILES[what].search(line)
    }

    assert found == set()


@pytest.mark.parametrize(
    ("line", "is_found"),
    [("/home/" + "jane/results", True), ("cd /home/" + "jane", True), ("/home/ma-user/modelarts", False)],
)
def test_the_path_of_a_home_is_found_by_its_name(line: str, *, is_found: bool) -> None:
    assert bool(NOT_IN_FILES["a path of somebody's machine"].search(line)) is is_found


def test_the_changelog_has_a_section_for_this_version() -> None:
    headings = re.findall(r"^## (.+)$", (HOME / "CHANGELOG.md").read_text("utf-8"), re.M)
    version = re.search(r'^version = "(.+)"$', (HOME / "pyproject.toml").read_text("utf-8"), re.M)

    assert version
    assert headings
    assert any(heading == "Unreleased" or heading.startswith(version[1]) for heading in headings)
