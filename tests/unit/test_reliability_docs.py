"""docs/reliability.md is what the campaigns write: its form is checked here, its numbers by nobody."""

import re

from tests.reliability.outcomes import HEAD, INTRODUCTION, PAGE, ROW


def rows() -> list[list[str]]:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if ROW.fullmatch(line)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("|---")][1:]


def test_the_page_is_an_introduction_and_campaigns() -> None:
    text = PAGE.read_text("utf-8")

    assert text.startswith(f"{INTRODUCTION}\n{HEAD}"), "begin it anew: .venv/bin/python -m tests.reliability.outcomes"
    assert rows()
    assert text == f"{INTRODUCTION}\n{HEAD}" + "".join(f"| {' | '.join(row)} |\n" for row in rows())


def test_each_campaign_names_a_file_that_is_there() -> None:
    names = [name for name, *_ in rows()]

    assert len(set(names)) == len(names)
    for _name, repetitions, outcome, date, file in rows():
        assert re.search(r"\d", repetitions)
        assert outcome
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", date)
        named = re.fullmatch(r"`(test_\w+\.py)`", file)
        assert named
        assert (PAGE.parents[1] / "tests" / "reliability" / named[1]).exists()
