"""Many tests at once: how sure is each discovery among all of them."""

from collections.abc import Sequence


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p-values, in the order given.

    Calling everything at or below q a discovery makes at most a share q of the discoveries false, on average."""
    ordered = sorted(range(len(p_values)), key=p_values.__getitem__, reverse=True)
    found = [1.0] * len(p_values)
    least = 1.0
    for place, index in enumerate(ordered):
        least = min(least, p_values[index] * len(p_values) / (len(p_values) - place))
        found[index] = least
    return found
