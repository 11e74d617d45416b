"""Rank tables, which say on how many nodes and cards of each a job ran, and nothing else of it."""

from collections.abc import Iterator

from aisbench_core.base.messages import Message
from aisbench_core.exchange.upstream.configs.contents import ForeignJob, LineFinding, Literal, make_finding
from aisbench_core.exchange.upstream.jobs.names import CARDS
from aisbench_core.exchange.upstream.jobs.trees import get_child
from aisbench_core.model import Api

# Servers and cards of tables of version 1 and 1.2, of what the platform writes before it is converted, and before 1.
_FORMS = (("server_list", "device"), ("instance_list", "devices"))


def is_rank_table(tree: Literal) -> bool:
    """Whether a document is a rank table of any version."""
    return bool(_list_servers(tree)) or (get_child(tree, "group_list") is not None)


def read_rank_table(tree: Literal, findings: list[LineFinding]) -> ForeignJob:
    """A job of so many nodes and cards per node."""
    counts = _list_servers(tree)
    line = tree.line
    values = {"node_count": Literal(len(counts) or None, line)}
    if len(set(counts)) == 1 and counts[0]:
        values[CARDS] = Literal(counts[0], line)
    else:
        texts = ", ".join(map(str, counts)) or "0"
        message = Message("the nodes have {counts} cards: a spec has the same number on each", counts=texts)
        findings.append(make_finding("job.left-out", "server_list", message, line))
    findings.extend(_iterate_contradictions(tree, counts))
    status = get_child(tree, "status")
    if status is not None and status.value != "completed":
        message = Message("the platform had not completed the table yet: nodes may be missing")
        findings.append(make_finding("job.left-out", "status", message, status.line))
    return ForeignJob("", line, Api.V2, values, {"node_count": "server_list", CARDS: "device"})


def _iterate_contradictions(tree: Literal, counts: list[int]) -> Iterator[LineFinding]:
    """Findings about numbers in the table that are not those of its list."""
    for field, listed in (("server_count", len(counts)), ("device_count", sum(counts))):
        stated = [each for part in (tree, *_list_groups(tree)) if (each := get_child(part, field)) is not None]
        numbers = [int(text) for each in stated if (text := str(each.value)).isdecimal() and len(text) < 10]
        if numbers and sum(numbers) != listed:
            message = Message("says {stated}, but the table lists {listed}", stated=sum(numbers), listed=listed)
            yield make_finding("job.left-out", field, message, stated[0].line)


def _list_groups(tree: Literal) -> tuple[Literal, ...]:
    groups = get_child(tree, "group_list")
    return groups.value if groups is not None and isinstance(groups.value, tuple) else ()


def _list_servers(tree: Literal) -> list[int]:
    """The number of cards of each server. Older tables list each card as an instance of its server."""
    parts = _list_groups(tree) or (tree,)
    counts: dict[str, int] = {}
    for part in parts:
        for servers, devices in _FORMS:
            listed = get_child(part, servers)
            for server in listed.value if listed is not None and isinstance(listed.value, tuple) else ():
                named = (get_child(server, key) for key in ("pod_name", "server_id"))
                name = next((str(each.value) for each in named if each is not None and each.value), str(len(counts)))
                cards = get_child(server, devices)
                count = len(cards.value) if cards is not None and isinstance(cards.value, tuple) else 0
                counts[name] = counts.get(name, 0) + count
    return list(counts.values())
