"""Reading a run's result files from its output directory: LIST once, then bounded parallel reads."""

import math

from aisbench_core.cloud.ports import ObjectStore
from aisbench_core.model import CollectedResult, RunSpec, TrainResultInfo
from aisbench_core.results.result_files import MOST_BYTES, Layout, ResultFiles, read_result_files


def collect(objects: ObjectStore, output_path: str, spec: RunSpec, info: TrainResultInfo) -> CollectedResult:
    """What the output directory holds; a file that is missing or holds no usable number is one of its problems.

    `info` brings the times that are known."""
    layout = Layout(spec.mode, spec.node_count, spec.cards_per_node)
    return read_result_files(_read(objects, output_path, layout.names), layout, info)


def _read(objects: ObjectStore, output_path: str, names: set[str]) -> ResultFiles:
    found = {stat.path.removeprefix(output_path): stat.size for stat in objects.list(output_path)}
    small = [name for name in names if found.get(name, math.inf) <= MOST_BYTES]
    contents = objects.read_many(output_path + name for name in small)
    too_large = frozenset(name for name in names if found.get(name, 0) > MOST_BYTES)
    return ResultFiles({path.removeprefix(output_path): content for path, content in contents.items()}, too_large)
