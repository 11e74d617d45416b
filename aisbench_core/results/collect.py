"""Reading a run's result files from its output directory: LIST once, then bounded parallel reads."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from aisbench_core.cloud.ports import ObjectStore
from aisbench_core.messages import Message
from aisbench_core.model import CollectedResult, RunSpec, TrainResultInfo
from aisbench_core.results.result_files import MOST_BYTES, MOST_NAMED, Layout, ResultFiles, read_result_files


def collect(objects: ObjectStore, output_path: str, spec: RunSpec, info: TrainResultInfo) -> CollectedResult:
    """The result in an output directory. A missing file, or one without a usable number, is one of its problems.

    `info`: the run's times."""
    layout = Layout(spec.mode, spec.node_count, spec.cards_per_node)
    sizes = {stat.path.removeprefix(output_path): stat.size for stat in objects.list(output_path)}
    result = read_result_files(_read(objects, output_path, layout.names, sizes), layout, info)
    return replace(result, problems=(*result.problems, *_surplus(layout, sizes)))


def _surplus(layout: Layout, names: Iterable[str]) -> Iterator[Message]:
    """Files of ranks that the run does not have: the code counted its cards wrong, so all its numbers are in doubt."""
    surplus = layout.surplus_files(names)
    if surplus:
        named = ", ".join(surplus[:MOST_NAMED]) + (", …" if len(surplus) > MOST_NAMED else "")
        yield Message(
            "the run has {count} cards, and there are files of more ranks: {files}",
            count=layout.card_count,
            files=named,
        )


def _read(objects: ObjectStore, output_path: str, names: set[str], sizes: Mapping[str, int]) -> ResultFiles:
    small = [name for name in names if sizes.get(name, math.inf) <= MOST_BYTES]
    contents = objects.read_many(output_path + name for name in small)
    too_large = frozenset(name for name in names if sizes.get(name, 0) > MOST_BYTES)
    return ResultFiles({path.removeprefix(output_path): content for path, content in contents.items()}, too_large)
