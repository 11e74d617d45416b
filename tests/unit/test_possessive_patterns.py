"""Patterns mean the same on every Python from 3.11.0 on.

Before 3.11.5, `(?:…)*+` and `(?>…)` find no match, or a wrong one, where what they repeat is more than one character;
Debian 12 has 3.11.2. Of one character (`[^"]*+`) they work."""

import re

import pytest

from tests.pattern_attacks import newer_groups
from tests.unit.test_patterns import every_pattern


@pytest.mark.slow  # imports every module
def test_no_pattern_of_the_product_needs_a_newer_python() -> None:
    patterns = every_pattern()

    assert [used.where for used in patterns if newer_groups(used.pattern)] == []


@pytest.mark.parametrize(
    ("pattern", "is_newer"),
    [
        (r"(?: (?!url:)[^ ]*+)*+", True),
        (r"a(?:b|cd)?+", True),
        (r"(x(?>a+)y)", True),
        (r"(?=(?:ab){2,}+)", True),
        (r"[^\"]*+\w++(?:ab)*", False),
        (r"(\d++)(\.\d*+)?", False),
    ],
)
def test_what_only_newer_ones_match_is_seen(pattern: str, is_newer: bool) -> None:
    assert newer_groups(re.compile(pattern)) is is_newer
