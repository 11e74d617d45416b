"""Correction of p-values for multiple tests."""

from collections.abc import Sequence


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Benjamini-Hochberg adjusted p-values, in the same order.

    Of the tests with a value of at most q, on average at most a share q are false discoveries."""
    count = len(p_values)
    adjusted_values = [1.0] * count
    smallest = 1.0
    for position, index in enumerate(sorted(range(count), key=p_values.__getitem__, reverse=True)):
        smallest = min(smallest, p_values[index] * count / (count - position))
        adjusted_values[index] = smallest
    return adjusted_values
