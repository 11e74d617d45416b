"""MA_RUN_METHOD=msrun: MindSpore's launcher once per node, which starts the boot file once per card."""

from collections.abc import Mapping
from pathlib import Path

from aisbench_sandbox.engine.boot.launch import (
    Launch,
    find_folder,
    output_file,
    refusal_without,
)
from aisbench_sandbox.engine.node.layout import Node

_MIN_VERSION = (2, 3)
# The manual's default for the networking of the cluster.
_DEFAULT_SECONDS = "600"
_STARTER = Path(__file__).with_name("msrun_node.py")


def build_launches(node: Node, environment: Mapping[str, str]) -> list[Launch]:
    """One msrun; an image without it fails as in the cloud."""
    if refusal := refusal_without(node, "msrun", "MindSpore", _MIN_VERSION):
        return [refusal]
    command = [
        *(str(node.python), str(_STARTER)),
        *_build_options(node, environment),
        str(node.boot_file),
        *node.arguments(),
    ]
    return [Launch("msrun", command, find_folder(node), output_file(node))]


def _build_options(node: Node, environment: Mapping[str, str]) -> list[str]:
    # Any other value than this spelling means dynamic networking (Starting a Preset Image's Boot File).
    by_table = environment.get("MS_RANKTABLE_ENABLE") == "True"
    return [
        f"--worker_num={node.job.card_count}",
        f"--local_worker_num={node.job.flavor.cards}",
        f"--master_addr={node.host(0)}",
        f"--node_rank={node.index}",
        f"--master_port={node.port}",
        f"--log_dir={node.log / 'mindspore' / 'log'}",
        "--join=True",
        f"--cluster_time_out={environment.get('MSRUN_CLUSTER_TIME_OUT') or _DEFAULT_SECONDS}",
        *([f"--rank_table_file={node.rank_table}"] if by_table else []),
    ]
