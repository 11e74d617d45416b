"""The exact interval of a rate of rare events (Garwood, 1936), from scipy, which is imported on the first call."""


def count_interval(count: int, confidence: float = 0.95) -> tuple[float, float]:
    """The mean numbers of events under which seeing `count` is no surprise; the lower one is 0 for none."""
    from scipy.special import gammaincinv

    tail = (1 - confidence) / 2
    lower = float(gammaincinv(count, tail)) if count else 0.0
    return lower, float(gammaincinv(count + 1, 1 - tail))
