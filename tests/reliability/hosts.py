"""Hosts of a test: network namespaces of this machine, whose cables can be pulled. Needs Linux, root and iproute2."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

BRIDGE, ADDRESS = "aisbench0", "10.77.0.1"
"""What the hosts have in common: the machine on which PostgreSQL and the region are."""


def are_possible() -> bool:
    """Whether this machine lets us make network namespaces."""
    return os.geteuid() == 0 and shutil.which("ip") is not None


class Host:
    """One machine. `name`: of at most 8 letters."""

    def __init__(self, name: str, number: int) -> None:
        self.name, self._cable = name, f"veth-{name}"
        ip("netns", "add", name)
        ip("link", "add", self._cable, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", self._cable, "master", BRIDGE, "up")
        for command in (f"addr add 10.77.0.{number}/24 dev eth0", "link set eth0 up", "link set lo up"):
            ip("-n", name, *command.split())

    def command(self, *words: str) -> Sequence[str]:
        """What runs a program on this host, as the same process."""
        return ["ip", "netns", "exec", self.name, *words]

    def pull_cable(self) -> None:
        """From now on nothing arrives, and nobody learns why."""
        ip("link", "set", self._cable, "down")

    def plug_in(self) -> None:
        """The network is back."""
        ip("link", "set", self._cable, "up")

    def remove(self) -> None:
        """The namespace, and its cable with it."""
        ip("netns", "delete", self.name)


@contextmanager
def network() -> Iterator[None]:
    """The cable that all hosts are connected to."""
    ip("link", "add", BRIDGE, "type", "bridge")
    ip("addr", "add", f"{ADDRESS}/24", "dev", BRIDGE)
    ip("link", "set", BRIDGE, "up")
    try:
        yield
    finally:
        ip("link", "delete", BRIDGE)


def ip(*words: str) -> None:
    """One command of iproute2."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"
