"""docs/performance.md is what the bench writes: its form is checked here, its numbers by nobody."""

import re

import pytest

from tests.bench.figures import ABOUT_PAGES, HEAD, INTRODUCTION, PAGE, PAGE_GOALS, ROW, pages_table, reached

TAKEN = re.compile(
    r"Measured with \d+ cores \(.+\), \d+ GB, \w+, Python [\d.]+, duckdb [\d.]+, .+\.\n"
    r"The newest figure is from \d{4}-\d\d-\d\d, at a load of [\d.]+\.\n\n"
)


def test_the_page_is_an_introduction_a_machine_and_figures() -> None:
    text = PAGE.read_text("utf-8")

    assert text.startswith(f"{INTRODUCTION}\n"), "begin it anew: .venv/bin/python -m tests.bench.figures"
    taken = TAKEN.match(text, len(INTRODUCTION) + 1)
    assert taken
    assert text.startswith(HEAD, taken.end())
    rows = text[taken.end() + len(HEAD) :].partition(ABOUT_PAGES)[0].splitlines()
    assert rows
    assert all(ROW.fullmatch(row) for row in rows)


def test_each_figure_says_what_was_measured_and_whether_that_reaches_its_goal() -> None:
    rows = _table_rows(PAGE.read_text("utf-8").partition(ABOUT_PAGES)[0])
    figures = [figure for figure, *_ in rows]

    assert len(set(figures)) == len(figures)
    for figure, measured, goal, told, _beside, ratio in rows:
        assert re.match(r"[\d,.]+ \S", measured), figure
        assert reached(measured, goal, float(ratio) if ratio else None) == told, figure


def test_each_page_has_a_row_in_which_what_misses_its_goal_is_bold() -> None:
    table = PAGE.read_text("utf-8").partition(ABOUT_PAGES)[2]
    pages = {name: dict(zip(PAGE_GOALS, cells, strict=True)) for name, *cells in _table_rows(table)}

    assert table == pages_table(pages)
    for name, cells in pages.items():
        for (column, goal), cell in zip(PAGE_GOALS.items(), cells.values(), strict=True):
            missed = bool(cell) and reached(cell.strip("*"), goal, None) == "**no**"
            assert cell.startswith("**") == missed, (name, column)


def _table_rows(text: str) -> list[list[str]]:
    """The cells of each row, without the head."""
    rows = [[cell.strip() for cell in found[0].strip("|").split("|")] for found in ROW.finditer(text)]
    return [row for row in rows if row[0] not in ("figure", "page", "---")]


@pytest.mark.parametrize(
    ("measured", "goal", "ratio", "told"),
    [
        ("21 ms", "", None, ""),
        ("21 ms", "150 ms", 3.0, "yes"),
        ("150.4 ms", "150 ms", 3.0, "**no**"),
        ("20,001 runs/s", "20,000 runs/s", None, "yes"),
        ("2,254 runs/s", "20,000 runs/s", 31.0, "**no**"),
        ("9.1 ms (13 ms with more)", "12 ×", 12.0, "yes"),
        ("1.2 s", "40 ×; 2 s", 39.9, "**no**"),
        ("2.4 s", "40 ×; 2 s", 60.0, "**no**"),
        ("1.9 s", "40 ×; 2 s", 60.0, "yes"),
    ],
)
def test_a_goal_is_reached_when_all_its_parts_are(measured: str, goal: str, ratio: float | None, told: str) -> None:
    assert reached(measured, goal, ratio) == told


def test_a_goal_in_another_unit_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="another unit"):
        reached("1.2 s", "30 ms", None)
