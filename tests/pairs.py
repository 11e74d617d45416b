"""Matrices of tests: `make test` runs a fixed part that covers every pair of values, `make test-all` everything."""

import itertools
from collections.abc import Sequence

import pytest
from _pytest.mark.structures import ParameterSet

Pair = tuple[int, object, int, object]


def every_pair(*axes: Sequence[object]) -> list[ParameterSet]:
    """All combinations of the axes' values; those that the part of `make test` does not need are `exhaustive`.

    The part is chosen greedily and always the same: of the combinations with most pairs that are not covered yet, the
    first. Three axes of 13, 3 and 2 values need 39 of 78 combinations."""
    combinations = list(itertools.product(*axes))
    left = {pair for combination in combinations for pair in _pairs(combination)}
    chosen: set[int] = set()
    while left:
        best = max(range(len(combinations)), key=lambda index: len(left & _pairs(combinations[index])))
        chosen.add(best)
        left -= _pairs(combinations[best])
    return [
        pytest.param(*combination, marks=() if index in chosen else pytest.mark.exhaustive)
        for index, combination in enumerate(combinations)
    ]


def _pairs(combination: Sequence[object]) -> set[Pair]:
    """Which values of which axes stand side by side; of one axis, each value with itself."""
    placed = list(enumerate(combination))
    pairs = itertools.combinations(placed, 2) if len(placed) > 1 else [(placed[0], placed[0])]
    return {(*first, *second) for first, second in pairs}
