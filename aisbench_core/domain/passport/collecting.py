"""The passports of a job's nodes: fetched from its output, kept with the run, and put together."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from aisbench_core.base.errors import ResultError
from aisbench_core.base.private_files import write_whole
from aisbench_core.cloud.ports import ObjectStore
from aisbench_core.domain.passport.reading import NodePassport, read_node
from aisbench_core.model import NodeDifference, Passport, RunSpec

# The reporter writes some 100 kB, and configuration files; a job may write anything there.
MOST_BYTES = 8 * 1024 * 1024
MOST_DIFFERENCES = 2000
_FEWEST_TO_IGNORE = 3

_FILE = re.compile(r"passport_(\d{1,6})\.json")


def is_passport_file(name: str) -> bool:
    """Whether a node's passport has this name in the job's output."""
    return _FILE.fullmatch(name) is not None


def fetch_passports(
    objects: ObjectStore, output_path: str, node_count: int, folder: Path, mask: Callable[[str], str]
) -> None:
    """Copy the nodes' files of an output directory to `folder`, as <node>.json; `mask` replaces secrets in them."""
    nodes: dict[str, int] = {}
    for stat in objects.list(f"{output_path}passport_"):
        match = _FILE.fullmatch(stat.path.removeprefix(output_path))
        if match and stat.size <= MOST_BYTES and int(match[1]) < node_count:
            nodes[stat.path] = int(match[1])
    if nodes:
        folder.mkdir(parents=True, exist_ok=True)
    for path, content in objects.read_many(nodes).items():
        text = mask(content.decode("utf-8", "replace"))
        write_whole(folder / f"{nodes[path]}.json", text.encode())


def read_passport(folder: Path, spec: RunSpec) -> Passport | None:
    """The passport of a run from its files; None without a readable one."""
    nodes = list(read_nodes(folder, spec))
    return combine_nodes(nodes, spec.node_count) if nodes else None


def read_nodes(folder: Path, spec: RunSpec) -> Iterator[NodePassport]:
    """The nodes whose files can be read, by number."""
    given = {*spec.parameters, *(channel.name for channel in (*spec.inputs, *spec.outputs))}
    for node in range(spec.node_count):
        file = folder / f"{node}.json"
        try:
            if file.is_file():
                yield read_node(file.read_bytes(), node, given)
        except (ResultError, OSError):  # what a job wrote is no reason to lose its result
            continue


def combine_nodes(nodes: Sequence[NodePassport], expected: int) -> Passport:
    """The facts of most nodes, and where others differ. What is different on each node is no difference."""
    facts: dict[str, str] = {}
    differences: list[NodeDifference] = []
    for name in dict.fromkeys(name for node in nodes for name in node.facts):
        values = [node.facts.get(name, "") for node in nodes]
        counts = Counter(values)
        if len(nodes) >= _FEWEST_TO_IGNORE and len(counts) == len(nodes):
            continue
        usual = max(values, key=lambda value: counts[value])  # of equally many, that of the first node
        facts |= {name: usual} if usual else {}
        differences += [
            NodeDifference(node.node, node.host, name, value, usual)
            for node, value in zip(nodes, values, strict=True)
            if value != usual
        ]
    differences.sort(key=lambda one: one.node)
    return Passport(len(nodes), expected, facts, tuple(differences[:MOST_DIFFERENCES]))
