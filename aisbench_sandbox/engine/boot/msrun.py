"""MA_RUN_METHOD=msrun: MindSpore's launcher once per node, which starts the boot file once per card."""

from collections.abc import Mapping
from pathlib import Path

from aisbench_sandbox.engine.boot.launch import (
    NOT_FOUND,
    Launch,
    folder,
    image_has,
    output_file,
    refusal,
)
from aisbench_sandbox.engine.node.layout import Node

_MIN_VERSION = (2, 3)
_DEFAULT_SECONDS = "600"
_STARTER = Path(__file__).with_name("msrun_node.py")


def launches(node: Node, environment: Mapping[str, str]) -> list[Launch]:
    """One msrun; an image without it fails as in the cloud."""
    if not image_has(node, "mindspore", _MIN_VERSION):
        image = node.job.algorithm["engine"].get("engine_version")
        reason = f"msrun: command not found. The image {image} has no MindSpore 2.3.0 or later"
        return [refusal(node, NOT_FOUND, reason)]
    command = [
        *(str(node.python), str(_STARTER)),
        *_options(node, environment),
        str(node.boot_file),
        *node.arguments(),
    ]
    return [Launch("msrun", command, folder(node), output_file(node))]


def _options(node: Node, environment: Mapping[str, str]) -> list[str]:
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
