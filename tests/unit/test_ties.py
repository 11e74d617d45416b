"""Ties on the leaderboard: sets of rows in which the intervals of any two overlap."""

from dataclasses import dataclass
from typing import cast

import pytest

from aisbench_core.warehouse.values.boards import BoardRow, find_ties


@dataclass(frozen=True)
class Ranked:
    """What `ties` reads of a row."""

    interval: tuple[float, float] | None
    missed: int = 0


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [
        ([], ()),
        ([(9, 10), (5, 6)], ()),
        ([(9, 10), (8, 9.5), (5, 6)], ((0, 1),)),
        ([(10, 12), (9, 11), (8, 9.5)], ((0, 1), (1, 2))),
        ([(10, 12), (9, 11), (10.5, 10.6)], ((0, 1, 2),)),
        ([(9, 10), (8, 8), (7.5, 8.5)], ((1, 2),)),
        ([(9, 10), None, (9.5, 11)], ((0, 2),)),
        ([(9, 9), (9, 9)], ((0, 1),)),
    ],
)
def test_rows_tie_where_the_intervals_of_any_two_overlap(
    intervals: list[tuple[float, float] | None], expected: tuple[tuple[int, ...], ...]
) -> None:
    rows = cast("list[BoardRow]", [Ranked(interval) for interval in intervals])

    assert find_ties(rows) == expected
