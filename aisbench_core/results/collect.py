"""Reading a run's result files from its output directory: LIST once, then bounded parallel reads."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from aisbench_core.cloud.ports import ObjectStore
from aisbench_core.messages import Message
from aisbench_core.model import CollectedResult, RunSpec, TrainResultInfo
from aisbench_core.results.result_files import MOST_BYTES, MOST_NAMED, Layout, ResultFiles, read_result_files


def collect(objects: ObjectStore, output_path: str, spec: RunSpec, info: TrainResultInfo) -> CollectedResult:
    """What the output directory holds; a file that is missing or holds no usable number is one of its problems.

    `info` brings the times that are known."""
    layout = Layout(spec.mode, spec.node_count, spec.cards_per_node)
    sizes = {stat.path.removeprefix(output_path): stat.size for stat in objects.list(output_path)}
    found = read_result_files(_read(objects, output_path, layout.names, sizes), layout, info)
    return replace(found, problems=(*found.problems, *_surplus(layout, sizes)))


def _surplus(layout: Layout, names: Iterable[str]) -> Iterator[Message]:
    """Whatever counted these cards counted others than the run has, so the numbers of its own are in doubt, too."""
    surplus = layout.surplus_files(names)
    if surplus:
        named = ", ".join(surplus[:MOST_NAMED]) + (", …" if len(surplus) > MOST_NAMED else "")
        yield Message(
            "the run has {count} cards, and there are files of more ranks: {files}",
            count=layout.card_count,
            files=named,
        )


def _read(objects: ObjectStore, output_path: str, names: set[str], found: Mapping[str, int]) -> ResultFiles:
    small = [name for name in names if found.get(name, math.inf) <= MOST_BYTES]
    contents = objects.read_many(output_path + name for name in small)
    too_large = frozenset(name for name in names if found.get(name, 0) > MOST_BYTES)
    return ResultFiles({path.removeprefix(output_path): content for path, content in contents.items()}, too_large)
