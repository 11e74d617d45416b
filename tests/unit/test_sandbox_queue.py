"""Who runs when: decided from the snapshot of one moment."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from aisbench_sandbox.queue import PUBLIC, Decision, Host, Occupied, QueueSnapshot, Waiting, assign_hosts, decide_next

FOUR = {"pool": tuple(Host(f"node-{number}", 8) for number in range(4))}


def waiting(job_id: str, created_at: int = 0, *, nodes: int = 1, cards: int = 8, **more: object) -> Waiting:
    return Waiting(job_id, "pool", nodes, cards, created_at, **more)  # type: ignore[arg-type]


def occupied(job_id: str, *hosts: str, started_at: int = 0, cards: int = 8, **more: object) -> Occupied:
    return Occupied(job_id, "pool", hosts, cards, started_at, **more)  # type: ignore[arg-type]


def started(*line: Waiting, held: tuple[Occupied, ...] = ()) -> list[str]:
    return list(decide_next(QueueSnapshot(FOUR, line, held)).starts)


def preempted(job: Waiting, *held: Occupied) -> tuple[str, ...]:
    return decide_next(QueueSnapshot(FOUR, [job], held)).preempted


def test_jobs_of_one_priority_start_in_the_order_in_which_they_were_created() -> None:
    line = [waiting(f"job-{number}", number) for number in range(6)]

    assert started(*reversed(line)) == ["job-0", "job-1", "job-2", "job-3"]


def test_a_higher_priority_comes_before_an_older_job() -> None:
    low, high, highest = waiting("low", 1), waiting("high", 2, priority=2), waiting("highest", 3, priority=3)

    assert started(low, high, highest) == ["highest", "high", "low"]


def test_a_job_that_was_issued_again_comes_before_all_others() -> None:
    assert started(waiting("highest", 1, priority=3), waiting("again", 2, ahead=True)) == ["again", "highest"]


def test_nobody_overtakes_a_job_that_does_not_fit_yet() -> None:
    held = (occupied("running", "node-0", "node-1"),)

    assert started(waiting("large", 1, nodes=3), waiting("small", 2), held=held) == []


def test_pools_do_not_wait_for_each_other() -> None:
    hosts = {**FOUR, PUBLIC: (Host("public", 4),)}
    line = [waiting("large", 1, nodes=5), Waiting("public", PUBLIC, 2, 2, 2)]

    assert decide_next(QueueSnapshot(hosts, line, ())).starts == {"public": ("public", "public")}


def test_jobs_that_take_a_part_of_a_node_share_the_fullest_and_leave_whole_nodes_free() -> None:
    line = [waiting("half", 1, cards=4), waiting("quarter", 2, cards=2), waiting("whole", 3, nodes=3)]

    starts = decide_next(QueueSnapshot(FOUR, line, ())).starts

    assert starts["half"] == starts["quarter"] == ("node-0",)
    assert starts["whole"] == ("node-1", "node-2", "node-3")


def test_a_job_in_a_pool_that_is_gone_waits() -> None:
    assert decide_next(QueueSnapshot({}, [waiting("job")], ())).starts == {}


def test_the_node_of_a_running_job_that_was_isolated_is_not_missed() -> None:
    assert started(waiting("job"), held=(occupied("running", "node-9"),)) == ["job"]


def test_a_higher_priority_preempts_the_lowest_and_then_the_youngest_that_agreed_to_it() -> None:
    held = [
        occupied("old", "node-0", started_at=1, preemptible=True),
        occupied("young", "node-1", started_at=2, preemptible=True),
        occupied("two", "node-2", priority=2, started_at=3, preemptible=True),
        occupied("firm", "node-3", started_at=4),
    ]

    assert preempted(waiting("high", 9, priority=3), *held) == ("young",)
    assert preempted(waiting("wide", 9, nodes=2, priority=3), *held) == ("young", "old")
    assert preempted(waiting("wider", 9, nodes=3, priority=3), *held) == ("young", "old", "two")


def test_nobody_is_preempted_in_vain() -> None:
    held = [occupied("firm", "node-0", "node-1", "node-2"), occupied("soft", "node-3", preemptible=True)]

    assert preempted(waiting("wide", priority=3, nodes=2), *held) == ()
    assert preempted(waiting("equal", nodes=1), *held) == ()


def test_only_as_many_are_preempted_as_are_needed() -> None:
    held = [
        occupied("small", "node-0", cards=1, started_at=3, preemptible=True),
        occupied("whole", "node-1", started_at=2, preemptible=True),
        occupied("firm", "node-2", "node-3", "node-0", cards=4),
    ]

    assert preempted(waiting("high", priority=2), *held) == ("whole",)


def test_a_job_waits_for_those_that_end_anyway_before_it_preempts_more() -> None:
    held = [
        occupied("ending", "node-0", preemptible=True, is_ending=True),
        occupied("soft", "node-1", "node-2", "node-3", preemptible=True),
    ]

    assert preempted(waiting("high", priority=2), *held) == ()
    assert preempted(waiting("wide", priority=2, nodes=2), *held) == ("soft",)


def test_fifty_jobs_on_four_nodes_start_by_priority_and_age() -> None:
    line = [waiting(f"job-{number:02}", number, priority=1 + number % 3) for number in range(50)]
    order: list[str] = []

    while line:
        starts = started(*line)
        assert len(starts) == min(4, len(line))
        order += starts
        line = [job for job in line if job.job_id not in starts]

    assert order == sorted(order, key=lambda name: (-(1 + int(name[4:]) % 3), name))


@st.composite
def snapshots(draw: st.DrawFn) -> QueueSnapshot:
    """A pool of up to five nodes with 4 cards, jobs that really fit on it, and a line."""
    hosts = tuple(Host(f"node-{number}", 4) for number in range(draw(st.integers(1, 5))))
    room = {host.name: host.cards for host in hosts}
    held = []
    for number in range(draw(st.integers(0, 6))):
        cards = draw(st.sampled_from([1, 2, 4]))
        places = assign_hosts(draw(st.integers(1, 3)), cards, room)
        if places:
            for host in places:
                room[host] -= cards
            flags = {"preemptible": draw(st.booleans()), "is_ending": draw(st.booleans())}
            held.append(occupied(f"held-{number}", *places, cards=cards, priority=draw(st.integers(1, 3)), **flags))
    line = [
        waiting(
            f"waiting-{number}",
            number,
            nodes=draw(st.integers(1, 4)),
            cards=draw(st.sampled_from([1, 2, 4])),
            priority=draw(st.integers(1, 3)),
            ahead=draw(st.booleans()),
        )
        for number in range(draw(st.integers(0, 6)))
    ]
    return QueueSnapshot({"pool": hosts}, line, held)


def used(snapshot: QueueSnapshot, decision: Decision) -> Counter[str]:
    """Cards by node, if what was decided has happened."""
    cards = {job.job_id: job.cards for job in snapshot.waiting}
    counts: Counter[str] = Counter()
    for job in snapshot.occupied:
        counts.update({host: job.cards * job.hosts.count(host) for host in set(job.hosts)})
    for job_id, hosts in decision.starts.items():
        counts.update({host: cards[job_id] * hosts.count(host) for host in set(hosts)})
    return counts


@given(snapshots())
def test_whatever_waits_and_runs_no_node_gets_more_than_it_has(snapshot: QueueSnapshot) -> None:
    decision = decide_next(snapshot)

    assert all(count <= 4 for count in used(snapshot, decision).values())
    assert all(
        len(decision.starts[job.job_id]) == job.nodes for job in snapshot.waiting if job.job_id in decision.starts
    )


@given(snapshots())
def test_whatever_waits_and_runs_those_that_start_are_the_first_of_the_line(snapshot: QueueSnapshot) -> None:
    starts = decide_next(snapshot).starts

    line = [job.job_id for job in sorted(snapshot.waiting, key=lambda job: job.queue_order)]
    assert list(starts) == line[: len(starts)]


@given(snapshots())
def test_whatever_waits_and_runs_preemption_lets_exactly_the_first_of_the_rest_start(snapshot: QueueSnapshot) -> None:
    decision = decide_next(snapshot)

    rest = [
        job for job in sorted(snapshot.waiting, key=lambda job: job.queue_order) if job.job_id not in decision.starts
    ]
    victims = [job for job in snapshot.occupied if job.job_id in decision.preempted]
    if not victims:
        return
    assert all(victim.preemptible and victim.priority < rest[0].priority for victim in victims)
    gone = {job.job_id for job in snapshot.occupied if job.is_ending} | set(decision.preempted)
    staying = [job for job in snapshot.occupied if job.job_id not in gone]
    room = {f"node-{number}": 4 for number in range(len(snapshot.hosts["pool"]))}
    room_left = {
        host: cards - used(QueueSnapshot({}, snapshot.waiting, staying), decision)[host] for host, cards in room.items()
    }
    assert assign_hosts(rest[0].nodes, rest[0].cards, room_left) is not None
    for victim in victims:  # with any of them kept, it would not fit
        kept = {host: cards - victim.cards * victim.hosts.count(host) for host, cards in room_left.items()}
        assert assign_hosts(rest[0].nodes, rest[0].cards, kept) is None
