"""Scheduling: decides from a snapshot which jobs start on which nodes, and which are preempted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

# The pool of jobs that name none.
PUBLIC = ""

Room = dict[str, int]
"""Free cards by node."""


@dataclass(frozen=True, slots=True)
class Host:
    """A schedulable node and its number of cards."""

    name: str
    cards: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued job: it needs `cards` cards on each of `nodes` nodes. A job `ahead` was requeued after a fault."""

    job_id: str
    pool: str
    nodes: int
    cards: int
    created_at: int
    priority: int = 1
    ahead: bool = False

    @property
    def queue_order(self) -> tuple[bool, int, int]:
        """Sort key: requeued jobs first, then the higher priority, then the older job."""
        # Training guide 5.2.1: a re-issued job queues "with first priority"; 5.5: then priorities, 3 before 1. The
        # documents do not say whether a smaller job may overtake.
        return (not self.ahead, -self.priority, self.created_at)


@dataclass(frozen=True, slots=True)
class Occupied:
    """A job that holds `cards` cards on each of its nodes; one that `is_ending` releases them soon."""

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
    """The nodes by pool, the queued jobs, and the running jobs with what they hold."""

    hosts: Mapping[str, Sequence[Host]]
    waiting: Sequence[Waiting]
    occupied: Sequence[Occupied]


@dataclass(frozen=True, slots=True)
class Decision:
    """Which jobs start, with the node of each task, and which are preempted."""

    starts: Mapping[str, tuple[str, ...]]
    preempted: tuple[str, ...]


def decide_next(snapshot: QueueSnapshot) -> Decision:
    """Each pool has its own queue, strictly in order: a job that does not fit blocks those behind it."""
    starts: dict[str, tuple[str, ...]] = {}
    preempted: list[str] = []
    for pool, hosts in snapshot.hosts.items():
        line = sorted((job for job in snapshot.waiting if job.pool == pool), key=lambda job: job.queue_order)
        occupied = [job for job in snapshot.occupied if job.pool == pool]
        room = _count_room(hosts, occupied)
        for job in line:
            hosts_of_tasks = assign_hosts(job.nodes, job.cards, room)
            if hosts_of_tasks is None:
                preempted += _making_room(job, room, occupied)
                break
            _take_cards(room, hosts_of_tasks, job.cards)
            starts[job.job_id] = hosts_of_tasks
    return Decision(starts, tuple(preempted))


def assign_hosts(nodes: int, cards: int, room: Mapping[str, int]) -> tuple[str, ...] | None:
    """A node for each task, the fullest that still fits first; None when they do not all fit at once."""
    left = dict(room)
    hosts_of_tasks = []
    for _ in range(nodes):
        fitting = [host for host, free in left.items() if free >= cards]
        if not fitting:
            return None
        # The fullest node, so that whole nodes stay free for jobs that need all of their cards.
        host = min(fitting, key=lambda host: left[host])
        left[host] -= cards
        hosts_of_tasks.append(host)
    return tuple(hosts_of_tasks)


def free_hosts(hosts: Sequence[Host], occupied: Iterable[Occupied], cards: int) -> int:
    """How many of these nodes have so many cards free."""
    return sum(free >= cards for free in _count_room(hosts, occupied).values())


def _count_room(hosts: Sequence[Host], occupied: Iterable[Occupied]) -> Room:
    room = {host.name: host.cards for host in hosts}
    for job in occupied:
        _take_cards(room, job.hosts, job.cards)
    return room


def _take_cards(room: Room, hosts: Iterable[str], cards: int) -> None:
    """Negative `cards` release them. A node that was removed meanwhile is skipped."""
    for host in hosts:
        # A new capacity plan may take away nodes on which jobs still run.
        if host in room:
            room[host] -= cards


def _making_room(job: Waiting, room: Room, occupied: Sequence[Occupied]) -> list[str]:
    """The jobs to preempt: none if the job fits once all ending jobs have ended, or would not fit at all."""
    coming = dict(room)
    for other in occupied:
        if other.is_ending:
            _take_cards(coming, other.hosts, -other.cards)
    weaker = [other for other in occupied if _gives_way(other, job)]
    victims: list[Occupied] = []
    # The lowest priority first, then the youngest, which loses the least work.
    for other in sorted(weaker, key=lambda other: (other.priority, -other.started_at)):
        if assign_hosts(job.nodes, job.cards, coming) is not None:
            break
        _take_cards(coming, other.hosts, -other.cards)
        victims.append(other)
    if assign_hosts(job.nodes, job.cards, coming) is None:
        return []
    # A victim chosen later may hold enough by itself, so each one is tried again without the others.
    return [victim.job_id for victim in victims if _is_needed(victim, job, coming)]


def _gives_way(other: Occupied, job: Waiting) -> bool:
    return other.preemptible and other.priority < job.priority and not other.is_ending


def _is_needed(victim: Occupied, job: Waiting, coming: Room) -> bool:
    """Whether the job does not fit without this victim; if it does, the victim keeps its cards."""
    _take_cards(coming, victim.hosts, victim.cards)
    if assign_hosts(job.nodes, job.cards, coming) is not None:
        return False
    _take_cards(coming, victim.hosts, -victim.cards)
    return True
