"""Ports for servers that a test starts: of the range that no outgoing connection is given, so that they stay free."""

import random
import socket

_RANGE = range(10001, 32768)


def free_port(count: int = 1) -> int:
    """The first of `count` ports in a row that nobody listens at."""
    starts = _RANGE[: len(_RANGE) - count + 1]
    return next(
        start
        for start in random.SystemRandom().sample(starts, len(starts))
        if all(_is_free(port) for port in range(start, start + count))
    )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
