"""Decides from a snapshot of one moment which jobs start on which nodes, and which have to make room."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

PUBLIC = ""
"""The pool of all jobs that name none."""

Room = dict[str, int]
"""Free cards by node."""


@dataclass(frozen=True, slots=True)
class Host:
    """A node that may be given jobs, and how many cards it has."""

    name: str
    cards: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job in the queue: it needs `cards` cards on each of `nodes` nodes. A job `ahead` was re-issued."""

    job_id: str
    pool: str
    nodes: int
    cards: int
    created_at: int
    priority: int = 1
    ahead: bool = False

    @property
    def queue_order(self) -> tuple[bool, int, int]:
        """Re-issued jobs come first, then the higher priority, then the older job."""
        return (not self.ahead, -self.priority, self.created_at)


@dataclass(frozen=True, slots=True)
class Occupied:
    """A job that holds `cards` cards on each of its nodes; one that `is_ending` gives them back soon."""

    job_id: str
    pool: str
    hosts: tuple[str, ...]
    cards: int
    started_at: int
    priority: int = 1
    preemptible: bool = False
    is_ending: bool = False


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """One moment: the nodes by pool, who waits, and who holds what."""

    hosts: Mapping[str, Sequence[Host]]
    waiting: Sequence[Waiting]
    occupied: Sequence[Occupied]


@dataclass(frozen=True, slots=True)
class Decision:
    """Which jobs start, with the node of each task, and which are preempted."""

    starts: Mapping[str, tuple[str, ...]]
    preempted: tuple[str, ...]


def decide(snapshot: QueueSnapshot) -> Decision:
    """Each pool has a line of its own, and nobody overtakes in it: who does not fit stops those behind."""
    starts: dict[str, tuple[str, ...]] = {}
    preempted: list[str] = []
    for pool, hosts in snapshot.hosts.items():
        line = sorted((job for job in snapshot.waiting if job.pool == pool), key=lambda job: job.queue_order)
        occupied = [job for job in snapshot.occupied if job.pool == pool]
        room = _room(hosts, occupied)
        for job in line:
            places = assign_hosts(job.nodes, job.cards, room)
            if places is None:
                preempted += _making_room(job, room, occupied)
                break
            _take(room, places, job.cards)
            starts[job.job_id] = places
    return Decision(starts, tuple(preempted))


def assign_hosts(nodes: int, cards: int, room: Mapping[str, int]) -> tuple[str, ...] | None:
    """A node for each task, the fullest that still fits first; None when they do not all fit at once."""
    left = dict(room)
    places = []
    for _ in range(nodes):
        fitting = [host for host, free in left.items() if free >= cards]
        if not fitting:
            return None
        host = min(fitting, key=lambda host: left[host])
        left[host] -= cards
        places.append(host)
    return tuple(places)


def _room(hosts: Sequence[Host], occupied: Iterable[Occupied]) -> Room:
    room = {host.name: host.cards for host in hosts}
    for job in occupied:
        _take(room, job.hosts, job.cards)
    return room


def _take(room: Room, hosts: Iterable[str], cards: int) -> None:
    """Negative `cards` give back. A node that was taken away meanwhile is not missed."""
    for host in hosts:
        if host in room:
            room[host] -= cards


def _making_room(job: Waiting, room: Room, occupied: Sequence[Occupied]) -> list[str]:
    """Whom the job preempts: nobody if it fits as soon as all have ended that are ending, or would not fit at all."""
    coming = dict(room)
    for other in occupied:
        if other.is_ending:
            _take(coming, other.hosts, -other.cards)
    weaker = [other for other in occupied if _gives_way(other, job)]
    victims: list[Occupied] = []
    for other in sorted(weaker, key=lambda other: (other.priority, -other.started_at)):
        if assign_hosts(job.nodes, job.cards, coming) is not None:
            break
        _take(coming, other.hosts, -other.cards)
        victims.append(other)
    if assign_hosts(job.nodes, job.cards, coming) is None:
        return []
    return [victim.job_id for victim in victims if _is_needed(victim, job, coming)]


def _gives_way(other: Occupied, job: Waiting) -> bool:
    return other.preemptible and other.priority < job.priority and not other.is_ending


def _is_needed(victim: Occupied, job: Waiting, coming: Room) -> bool:
    """Whether the job would not fit if this one stayed; if it would, it stays."""
    _take(coming, victim.hosts, victim.cards)
    if assign_hosts(job.nodes, job.cards, coming) is not None:
        return False
    _take(coming, victim.hosts, -victim.cards)
    return True
