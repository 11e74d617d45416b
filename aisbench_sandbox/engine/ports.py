"""Free ports of this machine for the programs of jobs, which listen on them a moment later."""

# Below 32768, from where Linux takes the ports of outgoing connections (net.ipv4.ip_local_port_range): one of those
# could take a port between the choice and the program's start.

import random
import socket
from itertools import islice

# Ports of TensorFlow's parameter servers and workers: the range that the manual names.
_ROLES = range(5000, 10001)
_MASTERS = range(10001, 32768)


def role_ports(count: int) -> list[int]:
    """`count` free ports for the roles of a job. Raises RuntimeError when there are too few."""
    # In random order: a port counts as free until its program listens, so two jobs that start together must not try
    # the same ones.
    free = list(islice(filter(_is_free, random.sample(_ROLES, len(_ROLES))), count))
    if len(free) < count:
        raise RuntimeError(f"{count} free ports are needed from {_ROLES[0]} to {_ROLES[-1]}, and {len(free)} are free")
    return free


def master_port(count: int) -> int:
    """The first of `count` consecutive free ports; servers count up from it.

    Raises RuntimeError when there are none."""
    starts = _MASTERS[: len(_MASTERS) - count + 1]
    for start in random.sample(starts, len(starts)):
        if all(_is_free(port) for port in range(start, start + count)):
            return start
    raise RuntimeError(f"no {count} ports in a row are free from {_MASTERS[0]} to {_MASTERS[-1]}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            # On all addresses, because each node has one of its own; without SO_REUSEADDR, so that a port whose last
            # connection is still closing counts as taken.
            probe.bind(("", port))
        except OSError:
            return False
    return True
