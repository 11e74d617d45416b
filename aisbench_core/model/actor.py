"""Who makes a change: a person or a program, their roles, and the interface used."""

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """Permissions, from reading to administration."""

    VIEWER = "viewer"
    ENGINEER = "engineer"
    LEAD = "lead"
    ADMIN = "admin"


class WayIn(StrEnum):
    """Interface through which a change is made; the `source` of its events."""

    CONSOLE = "console"
    CLI = "cli"
    FOLLOWER = "follower"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who makes a change. `name` is what runs, events and annotations record."""

    name: str
    roles: frozenset[Role]
    via: WayIn


def local_actor(name: str, via: WayIn) -> Actor:
    """An actor on this machine, with all roles, since whoever can read the data folder can also change it."""
    return Actor(name, frozenset(Role), via)
