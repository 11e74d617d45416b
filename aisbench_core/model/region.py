"""What a region offers, and what its object store holds."""

from dataclasses import dataclass

from aisbench_core.model.job import Flavor, Pool


@dataclass(frozen=True, slots=True)
class PricedFlavor:
    """An instance type with the profile's price per node hour; None where the profile has none."""

    flavor: Flavor
    price_per_node_hour: float | None
    """In `currency`; null without a price."""
    currency: str


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """A job in the queue of a dedicated pool. `position` is from 1, 0 if unknown; `waited_s` is in seconds."""

    name: str
    position: int
    """Place in the queue, from 1."""
    waited_s: float | None
    """Seconds since it was submitted."""
    flavor: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True)
class PoolQueue:
    """A dedicated pool and the jobs that wait for its nodes, first in the queue first.

    `waiting` is None if the API cannot list them."""

    pool: Pool
    waiting: tuple[WaitingJob, ...] | None


@dataclass(frozen=True, slots=True)
class Quota:
    """How much of a resource the project may have, and has."""

    resource: str
    limit: int
    """The most that is allowed."""
    used: int | None
    """Jobs, or what the resource counts, that there are."""


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """What is directly inside a directory: an object with its size in bytes, or a directory; its path ends with `/`."""

    path: str
    size: int | None = None

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory, which has no size of its own."""
        return self.size is None

    @property
    def name(self) -> str:
        """The last part of the path, with the `/` of a directory."""
        return self.path[self.path.rstrip("/").rfind("/") + 1 :]


@dataclass(frozen=True, slots=True)
class DirectoryPage:
    """Part of a directory, in key order. `next_after` continues the listing; it is empty on the last page."""

    path: str
    entries: tuple[DirectoryEntry, ...]
    next_after: str = ""


@dataclass(frozen=True, slots=True)
class DirectorySize:
    """Objects and bytes below a directory. If counting was cut short, there are at least so many."""

    objects: int
    size: int
    complete: bool
